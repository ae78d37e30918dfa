import type { ConnectionPhase } from '@corral/contracts';
import { isUniqueViolation, type Prisma } from '@corral/database';
import type { Caller } from '../domain/caller.js';
import type { ClusterRecord } from '../domain/cluster-record.js';
import type { ClusterChanges, ClusterTransaction, UsableConnection } from '../domain/cluster-transaction.js';
import {
  type ClusterRow,
  clusterOf,
  findCluster,
  listClusters,
  operationOf,
  type PricesRow,
  pricesOf,
  pricesOfConnection,
  wholeClusters,
} from './cluster-rows.js';
import { acceptChange, removeDraft } from './cluster-writes.js';
import { claimKey } from './idempotency-keys.js';
import { lockServers } from './server-claims.js';
import type { ChangeTeam, Transaction } from './team-changes.js';

export type ClusterStore = ReturnType<typeof clusterStore>;

/** Generated names collide once in millions. */
const ATTEMPTS_MAX = 3;

/** Clusters with their pools. Whatever is written is written by a change, and with its operation. */
export const clusterStore = (prisma: Prisma, changeTeam: ChangeTeam) => ({
  ...clusterChanges(changeTeam),
  find: (teamId: string, name: string): Promise<ClusterRecord | null> => findCluster(prisma, teamId, name),
  list: (teamId: string, page: { limit: number; after: string | null }): Promise<ClusterRecord[]> =>
    listClusters(prisma, teamId, page),
});

const clusterChanges = (changeTeam: ChangeTeam): ClusterChanges => ({
  async change(caller, name, work) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await changeTeam(caller, async (tx, now) => work(await transactionOf(tx, caller, { name, now })));
      } catch (error) {
        // While the team's changes are held nobody else takes a name, so only generated ones can collide: the next ones
        // will not.
        if (attempt === ATTEMPTS_MAX || !isUniqueViolation(error)) throw error;
      }
    }
  },
});

async function transactionOf(
  tx: Transaction,
  caller: Caller,
  { name, now }: { name: string; now: Date },
): Promise<ClusterTransaction> {
  const teamId = caller.team.id;
  // No stronger than that: a pass that holds a server may wait to refer to its cluster, and a change waits for servers.
  await tx.$queryRaw`SELECT id FROM cluster WHERE team_id = ${teamId}::uuid AND name = ${name} FOR NO KEY UPDATE`;
  // Read once the locks are held: what a locking statement itself returns may be older than its lock.
  const { current, ...standing } = await readStanding(tx, teamId, name);
  return {
    ...{ current, now, ...standing },
    findConnection: (ref) => findConnection(tx, teamId, ref),
    async findOperation(id) {
      const row = await tx.operation.findUnique({ where: { id, teamId } });
      return row === null ? null : operationOf(row);
    },
    claimKey: (request, operationId) => claimKey(tx, caller, request, operationId),
    findServers: (connectionRef) => lockServers(tx, teamId, connectionRef),
    accept: (accepted) => acceptChange(tx, { caller, name, current, now }, accepted),
    async removeDraft(claims) {
      if (current !== null) await removeDraft(tx, { caller, current, now }, claims);
    },
  };
}

type Standing = Pick<ClusterTransaction, 'current' | 'quotaOverrides' | 'clustersOfTeam' | 'hasActiveSubscription'>;

type StandingRow = { readonly [C in keyof ClusterRow]: ClusterRow[C] | null } & {
  readonly clustersMax: number | null;
  readonly poolsMax: number | null;
  readonly nodesMax: number | null;
  readonly clusters: number;
  readonly subscribed: boolean;
};

/** What every change of a cluster looks at, in one statement. */
async function readStanding(tx: Transaction, teamId: string, name: string): Promise<Standing> {
  const [row] = await tx.$queryRaw<StandingRow[]>`
    SELECT team.clusters_max AS "clustersMax", team.pools_per_cluster_max AS "poolsMax",
           team.nodes_per_cluster_max AS "nodesMax",
           (SELECT count(*)::int FROM cluster WHERE team_id = team.id) AS clusters,
           EXISTS (SELECT FROM subscription WHERE team_id = team.id AND is_active) AS subscribed, found.*
    FROM team
    LEFT JOIN (${wholeClusters} WHERE cluster.team_id = ${teamId}::uuid AND cluster.name = ${name}) AS found ON true
    WHERE team.id = ${teamId}::uuid`;
  if (row === undefined) throw new Error('The team is gone');
  return {
    current: row.id === null ? null : clusterOf(row as ClusterRow),
    quotaOverrides: {
      clustersPerTeam: row.clustersMax,
      poolsPerCluster: row.poolsMax,
      nodesPerCluster: row.nodesMax,
    },
    clustersOfTeam: row.clusters,
    hasActiveSubscription: row.subscribed,
  };
}

/** What a cluster is declared on stays until the cluster is written; what is about to go is waited for, and is gone. */
async function findConnection(tx: Transaction, teamId: string, ref: string): Promise<UsableConnection | null> {
  const [row] = await tx.$queryRaw<(PricesRow & { id: string; phase: ConnectionPhase })[]>`
    SELECT connection.id, connection.phase::text AS phase, ${pricesOfConnection}
    FROM connection LEFT JOIN price_list ON price_list.connection_id = connection.id
    WHERE connection.team_id = ${teamId}::uuid AND connection.ref = ${ref} FOR KEY SHARE OF connection`;
  return row === undefined ? null : { id: row.id, phase: row.phase, prices: pricesOf(row) };
}
