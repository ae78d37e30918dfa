import {
  includeCreator,
  lockCluster,
  operationOf,
  type PricesRow,
  pricesOf,
  selectOf,
  type TeamQuotasRow,
  teamColumns,
} from '@corral/cluster-data';
import { asConnectionId, type ConnectionPhase, coversCluster, type TeamId } from '@corral/contracts';
import { isUniqueViolation, type Prisma, sqlText, type Transaction } from '@corral/database';
import { type Caller, clustersOf } from '../changes/caller.js';
import { registerKey } from '../changes/idempotency-keys.js';
import type { ChangeTeam } from '../changes/team-changes.js';
import type { PoolServer } from '../node-pools/claim-servers.js';
import { lockServers, readServers } from '../node-pools/server-claims-store.js';
import type { ClusterStore, ClusterTransaction, ClusterView, UsableConnection } from './change-store.js';
import { acceptChange, removeDraft } from './change-store.js';
import { type ClusterRow, clusterOf, findCluster, listClusters, pricesOfConnection, wholeClusters } from './rows.js';

/** Attempts before a collision of generated names is reported. One collision is already unlikely. */
const ATTEMPTS_MAX = 3;

/** Clusters with their pools. All writes go through `change`, together with their operation. */
export const clusterStore = (db: Prisma, changeTeam: ChangeTeam): ClusterStore => ({
  find: (teamId, name) => findCluster(db, teamId, name),

  list: (teamId, query) => listClusters(db, teamId, query),

  async change(caller, name, work) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await changeTeam(caller, async (tx, now) => work(await transactionOf(tx, caller, name, now)));
      } catch (error) {
        // The team's lock excludes other changes of its names, so only generated names can collide. A retry generates
        // new ones.
        if (attempt === ATTEMPTS_MAX || !isUniqueViolation(error)) throw error;
      }
    }
  },

  async preview(caller, name, work) {
    const teamId = caller.team.id;
    return work({
      ...(await readDecisionBasis(db, teamId, name)),
      findConnection: (ref) => findConnection(db, teamId, ref, 'read'),
      findServers: async (ref) => seenBy(caller, await readServers(db, teamId, ref)),
    });
  },
});

/** An account that is narrowed to clusters does not learn the names of others. */
function seenBy(caller: Caller, servers: PoolServer[]): PoolServer[] {
  const clusters = clustersOf(caller);
  if (clusters === null) return servers;
  return servers.map((server) =>
    server.claimedBy === null || coversCluster({ clusters }, server.claimedBy.cluster)
      ? server
      : { ...server, claimedBy: { ...server.claimedBy, isHidden: true } },
  );
}

async function transactionOf(tx: Transaction, caller: Caller, name: string, now: Date): Promise<ClusterTransaction> {
  const teamId = caller.team.id;
  await lockCluster(tx, teamId, name);
  const { current, ...basis } = await readDecisionBasis(tx, teamId, name);
  return {
    ...basis,
    current,
    now,
    findConnection: (ref) => findConnection(tx, teamId, ref, 'lock'),
    async findOperation(id) {
      const row = await tx.operation.findUnique({ where: { id, teamId }, include: includeCreator });
      return row && operationOf(row);
    },
    registerKey: (request, operationId) => registerKey(tx, caller, request, operationId),
    findServers: async (ref) => seenBy(caller, await lockServers(tx, teamId, ref)),
    accept: (accepted) => acceptChange(tx, { caller, name, current, now }, accepted),
    async removeDraft(claims) {
      if (current !== null) await removeDraft(tx, { caller, current, now }, claims);
    },
  };
}

type DecisionBasis = Pick<
  ClusterView,
  'now' | 'current' | 'quotaOverrides' | 'clustersOfTeam' | 'hasActiveSubscription'
>;

type DecisionBasisRow = { readonly [C in keyof ClusterRow]: ClusterRow[C] | null } & TeamQuotasRow & {
    readonly now: Date;
    readonly clusters: number;
    readonly subscribed: boolean;
  };

/** Reads what every change of a cluster needs, in one statement. */
async function readDecisionBasis(tx: Transaction, teamId: TeamId, name: string): Promise<DecisionBasis> {
  const [row] = await tx.$queryRaw<DecisionBasisRow[]>`
    SELECT ${sqlText(selectOf('team', teamColumns.quotas))}, clock_timestamp() AS now,
           (SELECT count(*)::int FROM cluster WHERE team_id = team.id) AS clusters,
           EXISTS (SELECT FROM subscription WHERE team_id = team.id AND is_active) AS subscribed,
           found.*
    FROM team
    LEFT JOIN (${wholeClusters} WHERE cluster.team_id = ${teamId}::uuid AND cluster.name = ${name}) AS found ON true
    WHERE team.id = ${teamId}::uuid`;
  if (row === undefined) throw new Error('The team is gone');
  return {
    now: row.now,
    current: row.id === null ? null : clusterOf(row as ClusterRow),
    quotaOverrides: {
      clustersPerTeam: row.clustersMax,
      poolsPerCluster: row.poolsPerClusterMax,
      nodesPerCluster: row.nodesPerClusterMax,
    },
    clustersOfTeam: row.clusters,
    hasActiveSubscription: row.subscribed,
  };
}

/** @param how `lock`: until the cluster is written. Waits for a concurrent deletion and then finds nothing */
async function findConnection(
  tx: Transaction,
  teamId: TeamId,
  ref: string,
  how: 'lock' | 'read',
): Promise<UsableConnection | null> {
  const [row] = await tx.$queryRaw<(PricesRow & { id: string; phase: ConnectionPhase })[]>`
    SELECT connection.id, connection.phase::text AS phase, ${pricesOfConnection}
    FROM connection LEFT JOIN price_list ON price_list.connection_id = connection.id
    WHERE connection.team_id = ${teamId}::uuid AND connection.ref = ${ref}
    ${sqlText(how === 'lock' ? 'FOR KEY SHARE OF connection' : '')}`;
  return row === undefined ? null : { id: asConnectionId(row.id), phase: row.phase, prices: pricesOf(row) };
}
