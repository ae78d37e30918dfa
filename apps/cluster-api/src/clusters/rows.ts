import {
  type BackedPoolRow,
  backedPoolsOfCluster,
  type ClusterDeclaration,
  clusterColumns,
  creatorOfOperation,
  type DeclaredRow,
  declaredOf,
  isManaged,
  isOpen,
  jsonOf,
  type KnownPrices,
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
  type SeenCluster,
  type ShownRow,
  seenOf,
  selectOf,
  storedSpecOf,
} from '@corral/cluster-data';
import type { ClusterPhase, ClusterSpec, TeamId } from '@corral/contracts';
import { sql, sqlText, type Transaction } from '@corral/database';

/** A stored cluster: its desired state and what was last observed. */
export interface ClusterRecord extends ClusterDeclaration, SeenCluster {
  /** Complete, with its node pools in order. */
  readonly spec: ClusterSpec;
  /** Autoscaler priorities of its node pools, by name. Higher priorities grow first. */
  readonly priorities: ReadonlyMap<string, number>;
  /** Number of ready nodes of each pool on adopted servers, by pool name. */
  readonly backingReady: ReadonlyMap<string, number>;
  /** The price list as the connection's project sees it. Null until first read. */
  readonly prices: KnownPrices | null;
  /** Increases with every change that clients can see. */
  readonly revision: number;
  /** Nodes per pool, as last counted. Null when counting was not possible. */
  readonly nodeCounts: NodeCounts | null;
  /** The newest operation on the cluster. Null when there was none. */
  readonly lastOperation: OperationRecord | null;
  /** When the first pass began. Null while the garden does not know the cluster. */
  readonly startedAt: Date | null;
  /** The generation that passes leave alone after a restore, until the team declares again. */
  readonly keptGeneration: number | null;
  readonly deletionRequestedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The newest operation if it has not ended. */
export function openOperationOf({ lastOperation }: Pick<ClusterRecord, 'lastOperation'>): OperationRecord | null {
  return lastOperation !== null && isOpen(lastOperation) ? lastOperation : null;
}

/** The operation of the current generation. */
export function presentOperationOf(
  cluster: Pick<ClusterRecord, 'lastOperation' | 'generation'>,
): OperationRecord | null {
  return cluster.lastOperation?.generation === cluster.generation ? cluster.lastOperation : null;
}

type Db = Pick<Transaction, '$queryRaw'>;

/** The price columns of a connection, named as in `PricesRow`. */
export const pricesOfConnection = sqlText(selectOf('price_list', priceColumns));

const { declared, observed, shown } = clusterColumns;

/** Each row is a consistent snapshot of a cluster, with its pools in order and the prices of its connection. */
export const wholeClusters = sql`
  SELECT ${sqlText(selectOf('cluster', { ...declared, ...observed, ...shown }))}, ${pricesOfConnection},
         ${sqlText(backedPoolsOfCluster)} AS pools,
         (SELECT ${sqlText(jsonOf('operation', operationColumns, { creator: creatorOfOperation }))}
          FROM operation WHERE target_id = cluster.id ORDER BY generation DESC, created_at DESC LIMIT 1) AS "lastOperation"
  FROM cluster LEFT JOIN price_list ON price_list.connection_id = cluster.connection_id`;

export interface ClusterRow extends DeclaredRow, ObservedRow, ShownRow, PricesRow {
  readonly lastOperation: OperationJson | null;
  readonly pools: readonly BackedPoolRow[];
}

export interface ClusterQuery {
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

/** Lists clusters of a team in the order of their names. */
export async function listClusters(
  db: Db,
  teamId: TeamId,
  { limit, after, phases, connection, within }: ClusterQuery,
): Promise<ClusterRecord[]> {
  const filters = [
    ...(after === null ? [] : [sql`AND cluster.name > ${after}`]),
    ...(phases.length === 0 ? [] : [sql`AND cluster.phase = ANY (${[...phases]}::text[])`]),
    ...(connection === null
      ? []
      : [
          sql`AND cluster.connection_id = (
            SELECT id FROM connection WHERE connection.team_id = ${teamId}::uuid AND connection.ref = ${connection})`,
        ]),
    ...(within === null ? [] : [sql`AND cluster.name LIKE ANY (${within.map(likeOf)}::text[])`]),
  ];
  const all = filters.reduce((left, right) => sql`${left} ${right}`, sql``);
  const rows = await db.$queryRaw<ClusterRow[]>`
    ${wholeClusters} WHERE cluster.team_id = ${teamId}::uuid ${all} ORDER BY cluster.name LIMIT ${limit}`;
  return rows.map(clusterOf);
}

export async function findCluster(db: Db, teamId: TeamId, name: string): Promise<ClusterRecord | null> {
  const [row] = await db.$queryRaw<ClusterRow[]>`
    ${wholeClusters} WHERE cluster.team_id = ${teamId}::uuid AND cluster.name = ${name}`;
  return row === undefined ? null : clusterOf(row);
}

export function clusterOf(row: ClusterRow): ClusterRecord {
  const pools = row.pools.map((pool) => ({ ...pool, spec: poolSpecOf(pool) }));
  return {
    ...declaredOf(row),
    ...seenOf(row),
    spec: { ...storedSpecOf(row), nodePools: pools.map(({ spec }) => spec) },
    priorities: new Map(pools.map(({ name, autoscalerPriority }) => [name, autoscalerPriority])),
    backingReady: new Map(
      pools.flatMap(({ name, spec, backingReady }) => (isManaged(spec) ? [] : [[name, backingReady]])),
    ),
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
