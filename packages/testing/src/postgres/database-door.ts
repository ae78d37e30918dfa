import { databaseUrl, onConnection } from './connection.js';

export interface DatabaseDoor {
  /** Simulates an outage of Postgres: connections break, and new ones are refused. */
  shut(): Promise<void>;
  open(): Promise<void>;
}

/** Blocks clients of one database while the server and its other databases keep running. */
export function databaseDoor(url: string): DatabaseDoor {
  const name = new URL(url).pathname.slice(1);
  const onServer = async (statement: string): Promise<void> => {
    await onConnection(databaseUrl(url, 'postgres'), (client) => client.query(statement));
  };
  return {
    async shut() {
      await onServer(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`);
      await onServer(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
    },
    open: () => onServer(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS true`),
  };
}
