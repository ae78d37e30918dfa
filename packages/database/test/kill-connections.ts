import pg from 'pg';

/** Terminates all connections to the database with this application name. @returns how many */
export async function killConnections(databaseUrl: string, applicationName: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rowCount } = await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = $1 AND datname = current_database() AND pid <> pg_backend_pid()`,
    [applicationName],
  );
  await client.end();
  return rowCount ?? 0;
}
