import type { Transaction } from '@corral/database';

/**
 * Locks actions until the transaction ends, in an order that all who lock several follow.
 *
 * @returns the ids of those that run, in order
 */
export async function lockRunning(tx: Pick<Transaction, '$queryRaw'>, ids: readonly number[]): Promise<number[]> {
  const rows = await tx.$queryRaw<{ id: bigint }[]>`
    SELECT id FROM dns_action WHERE id = ANY(${ids}::bigint[]) AND status = 'running' ORDER BY id FOR UPDATE`;
  return rows.map(({ id }) => Number(id));
}
