import { connectPool, connectPrisma, type Pool, type PoolOptions, type Prisma } from '@corral/database';

export interface ServiceDatabase {
  /** For what is read, and for single short statements such as the look-up of a session. */
  readonly pool: Pool;
  readonly prisma: Prisma;
  readonly changes: { readonly pool: Pool; readonly prisma: Prisma; readonly connections: number };
  close(): Promise<void>;
}

/**
 * Half of the connections, rounded down, are for changes, which hold one for a whole transaction; the rest is kept for what is
 * short. No flood of changes takes a read its connection.
 *
 * @param connections at least 2
 * @param lockTimeoutMs for changes: how long one waits for what another process holds
 */
export function connectDatabase({
  connections,
  lockTimeoutMs,
  ...options
}: PoolOptions & { connections: number }): ServiceDatabase {
  const forChanges = Math.floor(connections / 2);
  const pool = connectPool({ ...options, connectionsMax: connections - forChanges });
  const changePool = connectPool({
    ...options,
    ...(lockTimeoutMs !== undefined && { lockTimeoutMs }),
    connectionsMax: forChanges,
    applicationName: `${options.applicationName} changes`,
  });
  const [prisma, changePrisma] = [connectPrisma(pool), connectPrisma(changePool)];
  return {
    pool,
    prisma,
    changes: { pool: changePool, prisma: changePrisma, connections: forChanges },
    async close() {
      await Promise.all([prisma.$disconnect(), changePrisma.$disconnect()]);
      await Promise.all([pool.end(), changePool.end()]);
    },
  };
}
