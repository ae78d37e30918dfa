import { operationValues } from '@corral/cluster-data';
import { type Hold, type HoldFinding, readClock, rebuiltSinceBackup, type Transaction } from '@corral/database';
import { makeAllDue } from './make-all-due.js';

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
export async function endHold(tx: Transaction, hold: Hold): Promise<Ended> {
  const isRestored = hold.reason === 'restored';
  const keptClusters = isRestored ? await keepClusters(tx, hold) : 0;
  const failedServers = isRestored ? await failServers(tx, hold) : 0;
  const unreadServers = isRestored ? await markUnreadServers(tx, hold) : 0;
  const now = await readClock(tx);
  await tx.installationHold.update({ where: { id: hold.id }, data: { endedAt: now } });
  await makeAllDue(tx, now);
  return { keptClusters, failedServers, unreadServers };
}

/** SQL: what was found about a thing during the hold `$1`. */
const foundOf = (kind: 'Cluster' | 'AdoptedServer', idColumn: string): string => `coalesce(
  (SELECT finding FROM hold_finding
   WHERE hold_id = $1::uuid AND target_kind = '${kind}' AND target_id = ${idColumn}::text), 'unread')`;

const keepClusters = (tx: Transaction, { id }: Hold): Promise<number> =>
  tx.$executeRawUnsafe(
    `UPDATE cluster SET kept_generation = generation
     WHERE started_at IS NOT NULL AND ${foundOf('Cluster', 'cluster.id')} = ANY ($2)`,
    id,
    clustersToKeep,
  );

const findingOfServer = foundOf('AdoptedServer', 'adopted_server.id');

/** A server of another kind than `cloud` is never rebuilt by Corral. */
const markUnreadServers = (tx: Transaction, { id }: Hold): Promise<number> =>
  tx.$executeRawUnsafe(
    `UPDATE adopted_server SET unread_hold_id = $1::uuid WHERE server_kind = 'cloud' AND ${findingOfServer} = 'unread'`,
    id,
  );

/** Ends the servers that were rebuilt after the backup as failed. */
async function failServers(tx: Transaction, { id }: Hold): Promise<number> {
  const [state, , error] = operationValues({ to: 'failed', code: 'server_changed', message: rebuiltSinceBackup });
  const failed = await tx.$queryRawUnsafe<unknown[]>(
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
     SELECT operation_id FROM failed`,
    id,
    rebuiltSinceBackup,
    state,
    error,
  );
  return failed.length;
}
