import { databaseUrl, onConnection } from './connection.js';

export interface DatabaseDoor {
  /**
   * Simulates an outage of Postgres: connections break, and new ones are refused. Resolves when all have ended.
   *
   * @param spared process ids of connections that stay, so that locks they hold outlive the others
   */
  shut(spared?: readonly number[]): Promise<void>;
  open(): Promise<void>;
}

/** Blocks clients of one database while the server and its other databases keep running. */
export function databaseDoor(url: string): DatabaseDoor {
  const name = new URL(url).pathname.slice(1);
  const onServer = async (statement: string): Promise<void> => {
    await onConnection(databaseUrl(url, 'postgres'), (client) => client.query(statement));
  };
  return {
    async shut(spared = []) {
      await onServer(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`);
      await onServer(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
        WHERE datname = '${name}' AND NOT pid = ANY ('{${spared.join()}}')`);
    },
    open: () => onServer(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS true`),
  };
}
