import { databaseUrl, onConnection } from './connection.js';

export interface DatabaseDoor {
  /** As when Postgres goes away: connections break, and no new one is taken. */
  shut(): Promise<void>;
  open(): Promise<void>;
}

/** Keeps clients out of one database, while the server and its other databases go on. */
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
