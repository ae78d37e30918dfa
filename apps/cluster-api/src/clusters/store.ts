import {
  type BackedPoolRow,
  backedPoolsOfCluster,
  type ClusterDeclaration,
  clusterColumns,
  creatorOfOperation,
  type DeclaredRow,
  declaredOf,
  isManaged,
  jsonOf,
  type KnownPrices,
  keepConnectionOf,
  type NodeCounts,
  type ObservedRow,
  type OperationJson,
  type OperationRecord,
  operationColumns,
  operationOfJson,
  type PricesRow,
  poolSpecOf,
  priceColumns,
  pricesOf,
  prismaSelect,
  type SeenCluster,
  type ShownRow,
  seenOf,
  selectOf,
  storedSpecOf,
  teamColumns,
} from '@corral/cluster-data';
import {
  asConnectionId,
  type ClusterPhase,
  type ClusterSpec,
  type ConnectionId,
  type ConnectionPhase,
  coversCluster,
  isOpenOperation,
  type TeamId,
} from '@corral/contracts';
import { readClock, type Sql, sql, sqlText, type Transaction } from '@corral/database';
import type { QuotaOverrides } from '../app-config.js';
import { type Caller, clustersOf } from '../changes/caller.js';
import type { PoolServer } from '../node-pools/claim-servers.js';
import { readServers } from '../node-pools/store.js';

/** A stored cluster: its desired state and what was last observed. */
export interface ClusterRecord extends ClusterDeclaration, SeenCluster {
  /** Complete, with its node pools in order. */
  readonly spec: ClusterSpec;
  /** Autoscaler priorities of its node pools, by name. Higher priorities grow first. */
  readonly priorities: ReadonlyMap<string, number>;
  /** Number of ready nodes of each pool on adopted servers, by pool name. */
  readonly backingReady: ReadonlyMap<string, number>;
  /** Its name on the garden. */
  readonly shootName: string;
  /** The price list as the connection's project sees it. Null until first read. */
  readonly prices: KnownPrices | null;
  /** Increases with every change that clients can see. */
  readonly revision: number;
  /** Nodes per pool, as last counted. Null when counting was not possible. */
  readonly nodeCounts: NodeCounts | null;
  /** The newest operation on the cluster. Null when there was none. */
  readonly lastOperation: OperationRecord | null;
  /** The time when the first pass began. Null while the garden does not know the cluster. */
  readonly startedAt: Date | null;
  /** The generation that passes leave alone after a restore, until the team declares again. */
  readonly keptGeneration: number | null;
  readonly deletionRequestedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The newest operation if it has not ended. */
export function openOperationOf({ lastOperation }: ClusterRecord): OperationRecord | null {
  return lastOperation !== null && isOpenOperation(lastOperation) ? lastOperation : null;
}

/** The operation of the current generation. */
export function presentOperationOf({ lastOperation, generation }: ClusterRecord): OperationRecord | null {
  return lastOperation?.generation === generation ? lastOperation : null;
}

/** The operation of the current generation if it has failed: the same specification may then be tried again. */
export function failedOperationOf(cluster: ClusterRecord): OperationRecord | null {
  const operation = presentOperationOf(cluster);
  return operation?.state === 'failed' ? operation : null;
}

/** The price columns of a connection, named as in `PricesRow`. */
const pricesOfConnection = sqlText(selectOf('price_list', priceColumns));

const { declared, observed, shown } = clusterColumns;

/** Each row is a consistent snapshot of a cluster, with its pools in order and the prices of its connection. */
const wholeClusters = sql`
  SELECT ${sqlText(selectOf('cluster', { ...declared, ...observed, ...shown }))}, ${pricesOfConnection},
         ${sqlText(backedPoolsOfCluster)} AS pools,
         (SELECT ${sqlText(jsonOf('operation', operationColumns, { creator: creatorOfOperation }))}
          FROM operation WHERE target_id = cluster.id ORDER BY generation DESC, created_at DESC LIMIT 1) AS "lastOperation"
  FROM cluster LEFT JOIN price_list ON price_list.connection_id = cluster.connection_id`;

interface ClusterRow extends DeclaredRow, ObservedRow, ShownRow, PricesRow {
  readonly lastOperation: OperationJson | null;
  readonly pools: readonly BackedPoolRow[];
}

interface ClusterQuery {
  readonly limit: number;
  /** The name after which the page begins. */
  readonly after: string | null;
  /** Any of them; none: all. */
  readonly phases: readonly ClusterPhase[];
  /** Reference of the connection. */
  readonly connection: string | null;
  /** Patterns of the names; null for all clusters. */
  readonly within: readonly string[] | null;
}

/** Patterns contain letters, digits, hyphens and `*` only, so nothing needs to be escaped. */
const likeOf = (pattern: string): string => pattern.replaceAll('*', '%');

/** @param condition and what follows it, about columns of `cluster` */
async function readClusters(db: Transaction, teamId: TeamId, condition: Sql): Promise<ClusterRecord[]> {
  const rows = await db.$queryRaw<ClusterRow[]>`
    ${wholeClusters} WHERE cluster.team_id = ${teamId}::uuid AND ${condition}`;
  return rows.map(clusterOf);
}

/** Lists clusters of a team in the order of their names. */
export function listClusters(
  db: Transaction,
  teamId: TeamId,
  { limit, after, phases, connection, within }: ClusterQuery,
): Promise<ClusterRecord[]> {
  const condition = sql`
    (${after}::text IS NULL OR cluster.name > ${after})
    AND (${phases.length === 0} OR cluster.phase = ANY (${[...phases]}::text[]))
    AND (${connection}::text IS NULL OR cluster.connection_id = (
      SELECT id FROM connection WHERE connection.team_id = ${teamId}::uuid AND connection.ref = ${connection}))
    AND (${within === null} OR cluster.name LIKE ANY (${(within ?? []).map(likeOf)}::text[]))
    ORDER BY cluster.name LIMIT ${limit}`;
  return readClusters(db, teamId, condition);
}

export async function findCluster(db: Transaction, teamId: TeamId, name: string): Promise<ClusterRecord | null> {
  const [cluster = null] = await readClusters(db, teamId, sql`cluster.name = ${name}`);
  return cluster;
}

export const findClusters = (db: Transaction, teamId: TeamId, ids: readonly string[]): Promise<ClusterRecord[]> =>
  readClusters(db, teamId, sql`cluster.id = ANY (${[...ids]}::uuid[])`);

function clusterOf(row: ClusterRow): ClusterRecord {
  const pools = row.pools.map((pool) => ({ ...pool, spec: poolSpecOf(pool) }));
  return {
    ...declaredOf(row),
    ...seenOf(row),
    spec: { ...storedSpecOf(row), nodePools: pools.map(({ spec }) => spec) },
    priorities: new Map(pools.map(({ name, autoscalerPriority }) => [name, autoscalerPriority])),
    backingReady: new Map(
      pools.flatMap(({ name, spec, backingReady }) => (isManaged(spec) ? [] : [[name, backingReady]])),
    ),
    shootName: row.shootName,
    prices: pricesOf(row),
    revision: row.revision,
    nodeCounts: row.nodeCounts as NodeCounts | null,
    lastOperation: row.lastOperation && operationOfJson(row.lastOperation),
    startedAt: row.startedAt,
    keptGeneration: row.keptGeneration,
    deletionRequestedAt: row.deletionRequestedAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

/** What decides about a change of a cluster. */
export interface ClusterView {
  readonly db: Transaction;
  readonly caller: Caller;
  readonly name: string;
  /** Null when the team has no cluster with that name. */
  readonly current: ClusterRecord | null;
  /** The database's clock. */
  readonly now: Date;
  readonly quotaOverrides: QuotaOverrides;
  readonly clustersOfTeam: number;
  readonly hasActiveSubscription: boolean;
  /** Whether the cluster, and what is read for it, stays as it is until the transaction ends. */
  readonly isLocked: boolean;
}

const quotasOfTeam = {
  ...prismaSelect(teamColumns.quotas),
  subscription: { select: { isActive: true } },
  _count: { select: { clusters: true } },
} as const;

/** Reads what a change would find. It waits for no change of the team, and none waits for it. */
export async function viewCluster(db: Transaction, caller: Caller, name: string): Promise<ClusterView> {
  const teamId = caller.team.id;
  const team = await db.team.findUniqueOrThrow({ where: { id: teamId }, select: quotasOfTeam });
  return {
    db,
    caller,
    name,
    current: await findCluster(db, teamId, name),
    now: await readClock(db),
    quotaOverrides: team,
    clustersOfTeam: team._count.clusters,
    hasActiveSubscription: team.subscription?.isActive === true,
    isLocked: false,
  };
}

/** The fields of a connection that decide about clusters on it. */
export interface UsableConnection {
  readonly id: ConnectionId;
  readonly phase: ConnectionPhase;
  /** Null until first read. */
  readonly prices: KnownPrices | null;
}

const usableConnection = { id: true, phase: true, priceList: { select: prismaSelect(priceColumns) } } as const;

/** A locked one stays until the cluster is written. That waits for a concurrent deletion, and then finds nothing. */
export async function findConnection(
  { db, caller: { team }, isLocked }: ClusterView,
  ref: string,
): Promise<UsableConnection | null> {
  if (isLocked) await keepConnectionOf(db, team.id, ref);
  const found = await db.connection.findUnique({
    where: { teamId_ref: { teamId: team.id, ref } },
    select: usableConnection,
  });
  if (found === null) return null;
  const { id, phase, priceList } = found;
  return { id: asConnectionId(id), phase, prices: priceList && pricesOf(priceList) };
}

/** All servers that the team adopted over a connection. An account that is narrowed to clusters does not learn the names of others. */
export async function findServers({ db, caller, isLocked }: ClusterView, connectionRef: string): Promise<PoolServer[]> {
  const servers = await readServers(db, caller.team.id, connectionRef, isLocked);
  const clusters = clustersOf(caller);
  if (clusters === null) return servers;
  return servers.map((server) =>
    server.claimedBy === null || coversCluster(clusters, server.claimedBy.cluster)
      ? server
      : { ...server, claimedBy: { ...server.claimedBy, isHidden: true } },
  );
}
