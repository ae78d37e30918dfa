import { connectPool, type Pool, type PoolOptions } from '@corral/database';
import type { AdminContext } from './admin-context.js';

export interface OwnerPoolOptions extends Pick<PoolOptions, 'connectionsMax' | 'idleInTransactionMs'> {
  /** Shown in `pg_stat_activity`, behind `corral-admin`. */
  readonly purpose: string;
  readonly statementTimeoutMs: number;
}

/** Runs `work` with connections for statements that Prisma cannot express, and closes them. */
export async function withOwnerPool<T>(
  { settings }: Pick<AdminContext, 'settings'>,
  { purpose, ...options }: OwnerPoolOptions,
  work: (pool: Pool) => Promise<T>,
): Promise<T> {
  const pool = connectPool({
    ...options,
    databaseUrl: settings.databaseUrl,
    applicationName: `corral-admin-${purpose}`,
    connectTimeoutMs: 10_000,
    onIdleError: () => undefined,
  });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}
