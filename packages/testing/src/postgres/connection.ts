import pg from 'pg';

/** The address of another database of the same server. */
export function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.toString();
}

/** Does `work` on a connection of its own, and closes that whatever happens. */
export async function onConnection<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined); // the query that meets the broken connection reports it
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
