import { connectPool, inTransaction, type Pool, type PoolOptions, type Queryable } from '@corral/database';
import type { AdminContext } from './admin-context.js';
import { type Act, recordAct } from './operators/record-acts.js';

export interface OwnerPoolOptions extends Pick<PoolOptions, 'connectionsMax' | 'idleInTransactionMs'> {
  /** Shown in `pg_stat_activity`, behind `corral-admin`. */
  readonly purpose: string;
  readonly statementTimeoutMs: number;
}

/** Runs `work` with connections that cannot change anything, for statements that Prisma cannot express. */
export const readByPool = <T>(
  context: Pick<AdminContext, 'settings'>,
  options: OwnerPoolOptions,
  work: (pool: Pool) => Promise<T>,
): Promise<T> => withPool(context, { ...options, isReadOnly: true }, work);

/** Runs `work` in one transaction together with the entry of the operator's act. */
export const changeByPool = <T>(
  context: Pick<AdminContext, 'settings' | 'operator'>,
  options: OwnerPoolOptions,
  actOf: (result: T) => Act,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> =>
  withPool(context, options, (pool) =>
    inTransaction(pool, async (tx) => {
      const result = await work(tx);
      await recordAct((text, values) => tx.query(text, [...values]), context.operator, actOf(result));
      return result;
    }),
  );

/** Runs `work` with connections and closes them. For work in several transactions, which notes its own act. */
export async function withPool<T>(
  { settings }: Pick<AdminContext, 'settings'>,
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
