import { waitFor } from '@corral/testing';
import type { ClusterRow, ClusterRows, OperationRow } from './cluster-rows.js';

const FINAL = ['succeeded', 'failed', 'superseded', 'cancelled'];

/** Waits until an operation has ended. The error shows its state. */
export const untilEnded = (at: ClusterRows, operationId: string): Promise<OperationRow> =>
  waitFor('the operation to end', async () => {
    const operation = await at.operation(operationId);
    if (!FINAL.includes(operation.state)) throw new Error(JSON.stringify(operation));
    return operation;
  });

/** Waits until a cluster's row meets the expectation. */
export const untilRow = (
  at: ClusterRows,
  clusterId: string,
  expected: (row: ClusterRow) => boolean,
): Promise<ClusterRow> =>
  waitFor('the expected cluster row', async () => {
    const row = await at.row(clusterId);
    if (!expected(row)) throw new Error(JSON.stringify(row));
    return row;
  });

/** Waits until a statement waits for a lock. */
export async function untilBlocked({ pool }: Pick<ClusterRows, 'pool'>): Promise<'blocked'> {
  await waitFor('a statement to wait for a lock', async () => {
    const { rowCount } = await pool.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rowCount !== 0;
  });
  return 'blocked';
}
