import { connectPool, connectPrisma, type Pool, type PoolOptions, type Prisma } from '@corral/database';

export interface ServiceDatabase {
  /** The pool serves reads, and single short statements such as the lookup of a session. */
  readonly pool: Pool;
  readonly prisma: Prisma;
  /** Size of `pool`. */
  readonly connections: number;
  /** Connections of their own. `prisma` is on `pool`. */
  readonly changes: { readonly pool: Pool; readonly prisma: Prisma; readonly connections: number };
  close(): Promise<void>;
}

/**
 * Connects to the database with two pools. Half of the connections, rounded down, are for changes, which occupy one for a
 * whole transaction. The rest is for reads, so many changes cannot block them.
 *
 * @param connections at least 2
 * @param lockTimeoutMs for changes: maximum wait for a lock of another process
 */
export function connectDatabase({
  connections,
  lockTimeoutMs,
  ...options
}: PoolOptions & { connections: number }): ServiceDatabase {
  const forChanges = Math.floor(connections / 2);
  const forReads = connections - forChanges;
  const pool = connectPool({ ...options, connectionsMax: forReads });
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
    connections: forReads,
    changes: { pool: changePool, prisma: changePrisma, connections: forChanges },
    async close() {
      await Promise.all([prisma.$disconnect(), changePrisma.$disconnect()]);
      await Promise.all([pool.end(), changePool.end()]);
    },
  };
}
