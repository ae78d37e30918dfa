import { operationValues } from '@corral/cluster-data';
import { type Hold, type HoldFinding, makeAllDue, type Queryable, rebuiltSinceBackup } from '@corral/database';

export interface Ended {
  readonly keptClusters: number;
  readonly failedServers: number;
  /** Passes only read them, until it is known whether they were rebuilt since the backup. */
  readonly unreadServers: number;
}

/** Findings after which a pass may undo what happened since the backup. Something unread may be one of them. */
const clustersToKeep: readonly HoldFinding[] = ['shoot_ahead', 'to_be_created', 'unread'];

/**
 * Ends the hold. After a restore, clusters whose Shoot is ahead, or that would be created, stay as they are until their team
 * declares again, servers that were rebuilt since fail, and those that were not read are only read. So nothing is created, rolled back or rebuilt silently.
 */
export async function endHold(tx: Queryable, hold: Hold): Promise<Ended> {
  const isRestored = hold.reason === 'restored';
  const keptClusters = isRestored ? await keepClusters(tx, hold) : 0;
  const failedServers = isRestored ? await failServers(tx, hold) : 0;
  const unreadServers = isRestored ? await markUnreadServers(tx, hold) : 0;
  await tx.query('UPDATE installation_hold SET ended_at = clock_timestamp() WHERE id = $1', [hold.id]);
  await makeAllDue(tx);
  return { keptClusters, failedServers, unreadServers };
}

async function keepClusters(tx: Queryable, { id }: Hold): Promise<number> {
  const { rowCount } = await tx.query(
    `UPDATE cluster SET kept_generation = generation
     WHERE started_at IS NOT NULL AND coalesce(
       (SELECT finding FROM hold_finding
        WHERE hold_id = $1 AND target_kind = 'Cluster' AND target_id = cluster.id::text), 'unread') = ANY ($2)`,
    [id, clustersToKeep],
  );
  return rowCount ?? 0;
}

const findingOfServer = `coalesce(
  (SELECT finding FROM hold_finding
   WHERE hold_id = $1 AND target_kind = 'AdoptedServer' AND target_id = adopted_server.id::text), 'unread')`;

/** A server of another kind than `cloud` is never rebuilt by Corral. */
async function markUnreadServers(tx: Queryable, { id }: Hold): Promise<number> {
  const { rowCount } = await tx.query(
    `UPDATE adopted_server SET unread_hold_id = $1 WHERE server_kind = 'cloud' AND ${findingOfServer} = 'unread'`,
    [id],
  );
  return rowCount ?? 0;
}

/** As above, for those that were rebuilt. */
async function failServers(tx: Queryable, { id }: Hold): Promise<number> {
  const [state, , error] = operationValues({ to: 'failed', code: 'server_changed', message: rebuiltSinceBackup });
  const { rowCount } = await tx.query(
    `WITH failed AS (
       UPDATE adopted_server
       SET phase = 'Failed', message = $2, node_name = NULL, node_ready = false, member_of_id = NULL,
           updated_at = clock_timestamp()
       WHERE server_kind = 'cloud' AND deregister_requested_at IS NULL AND ${findingOfServer} = 'rebuilt_since'
       RETURNING operation_id
     ), ended AS (
       UPDATE operation SET state = $3::operation_state, error = $4::jsonb, waiting = NULL,
                            updated_at = clock_timestamp(), finished_at = clock_timestamp()
       WHERE id IN (SELECT operation_id FROM failed) AND state IN ('queued', 'running')
     )
     SELECT FROM failed`,
    [id, rebuiltSinceBackup, state, error],
  );
  return rowCount ?? 0;
}
