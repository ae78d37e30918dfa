import { connectPool, type Pool, type PoolOptions } from '@corral/database';
import type { AdminContext } from './admin-context.js';

export interface OwnerPoolOptions extends Pick<PoolOptions, 'connectionsMax' | 'idleInTransactionMs'> {
  /** Shown in `pg_stat_activity`, behind `corral-admin`. */
  readonly purpose: string;
  readonly statementTimeoutMs: number;
}

/** Runs `work` with connections that cannot change anything, and statements that end in time. */
export const readByPool = <T>(
  context: AdminContext,
  options: OwnerPoolOptions,
  work: (pool: Pool) => Promise<T>,
): Promise<T> => withPool(context, { ...options, isReadOnly: true }, work);

/** Runs `work` with connections and closes them. For work in several transactions, which notes its own act. */
export async function withPool<T>(
  { settings }: AdminContext,
  { purpose, ...options }: OwnerPoolOptions & { readonly isReadOnly?: boolean },
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
