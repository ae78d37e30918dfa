import type {
  ClusterPhase,
  ClusterSpec,
  Condition,
  MigrationPhase,
  NodePoolSpec,
  ObservedCluster,
  OperationError,
  OperationKind,
  OperationWaiting,
  PoolSource,
} from '@corral/contracts';
import { sql } from '@corral/database';
import type { NodePrices } from '@corral/hcloud';
import { type ClusterRecord, isOpen, type OperationRecord } from '../domain/cluster-record.js';
import { isManaged } from '../domain/complete-spec.js';
import type { NodePoolRecord } from '../domain/node-pool-body.js';
import type { KnownPrices } from '../domain/prices.js';
import type { Transaction } from './team-changes.js';

/** With the number of its servers that are ready nodes. */
export const withBacking = { _count: { select: { claimedServers: { where: { nodeReady: true } } } } } as const;

type Db = Pick<Transaction, '$queryRaw'>;

/** The prices of a connection, by the names of `PricesRow`. */
export const pricesOfConnection = sql`
  price_list.currency, price_list.prices, price_list.priced_at AS "pricedAt"`;

/** Each row is a whole cluster of one moment, with its pools in order and the prices of its connection. */
export const wholeClusters = sql`
  SELECT cluster.id, cluster.name, cluster.shoot_name AS "shootName", cluster.spec, cluster.desired_hash AS "desiredHash",
         cluster.generation, cluster.observed_generation AS "observedGeneration", cluster.revision, cluster.phase,
         cluster.conditions, cluster.seed_name AS "seedName", cluster.migration_phase AS "migrationPhase",
         cluster.observed, cluster.node_counts AS "nodeCounts",
         cluster.pinned_version AS "pinnedVersion", cluster.started_at AS "startedAt",
         cluster.deletion_requested_at AS "deletionRequestedAt", cluster.created_at AS "createdAt",
         cluster.updated_at AS "updatedAt", ${pricesOfConnection},
         (SELECT coalesce(json_agg(json_build_object(
                   'name', pool.name, 'source', pool.source, 'machineType', pool.machine_type, 'image', pool.image,
                   'minimum', pool.minimum, 'maximum', pool.maximum, 'publicIp', pool.public_ip,
                   'autoscalerPriority', pool.autoscaler_priority,
                   'backingReady', (SELECT count(*) FROM adopted_server AS server
                                    WHERE server.node_pool_id = pool.id AND server.node_ready)
                 ) ORDER BY pool.position), '[]')
          FROM node_pool AS pool WHERE pool.cluster_id = cluster.id) AS pools,
         (SELECT json_build_object(
                   'id', id, 'kind', kind, 'targetKind', target_kind, 'targetId', target_id, 'targetName', target_name,
                   'generation', generation, 'state', state, 'progress', progress, 'error', error, 'waiting', waiting,
                   'desiredHash', desired_hash, 'createdAt', created_at, 'updatedAt', updated_at)
          FROM operation WHERE target_id = cluster.id ORDER BY generation DESC, created_at DESC LIMIT 1) AS "lastOperation"
  FROM cluster LEFT JOIN price_list ON price_list.connection_id = cluster.connection_id`;

export interface ClusterRow extends PricesRow {
  readonly id: string;
  readonly name: string;
  readonly shootName: string;
  readonly spec: unknown;
  readonly desiredHash: string;
  readonly generation: number;
  readonly observedGeneration: number;
  readonly revision: number;
  readonly phase: string;
  readonly conditions: unknown;
  readonly seedName: string | null;
  readonly migrationPhase: string | null;
  readonly observed: unknown;
  readonly nodeCounts: unknown;
  readonly pinnedVersion: string | null;
  readonly lastOperation: OperationJson | null;
  readonly startedAt: Date | null;
  readonly deletionRequestedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly pools: readonly (PoolColumns & { readonly backingReady: number })[];
}

/** As part of another row, in which times are texts. */
type OperationJson = Omit<OperationRow, 'createdAt' | 'updatedAt'> & {
  readonly createdAt: string;
  readonly updatedAt: string;
};

interface PoolColumns {
  readonly name: string;
  readonly source: string;
  readonly machineType: string;
  readonly image: unknown;
  readonly minimum: number;
  readonly maximum: number;
  readonly publicIp: boolean;
  readonly autoscalerPriority: number;
}

type PoolRow = PoolColumns & { readonly _count: { readonly claimedServers: number } };
type StoredOperation = NonNullable<Awaited<ReturnType<Transaction['operation']['findUnique']>>>;
export type OperationRow = Pick<
  StoredOperation,
  | ('id' | 'kind' | 'targetKind' | 'targetId' | 'targetName' | 'generation' | 'state' | 'progress')
  | ('error' | 'waiting' | 'desiredHash' | 'createdAt' | 'updatedAt')
>;

/** Clusters of a team by name, from behind `after` on. */
export async function listClusters(
  db: Db,
  teamId: string,
  { limit, after }: { limit: number; after: string | null },
): Promise<ClusterRecord[]> {
  const rows = await db.$queryRaw<ClusterRow[]>`
    ${wholeClusters}
    WHERE cluster.team_id = ${teamId}::uuid AND (${after}::text IS NULL OR cluster.name > ${after}::text)
    ORDER BY cluster.name LIMIT ${limit}`;
  return rows.map(clusterOf);
}

export async function findCluster(db: Db, teamId: string, name: string): Promise<ClusterRecord | null> {
  const [row] = await db.$queryRaw<ClusterRow[]>`
    ${wholeClusters} WHERE cluster.team_id = ${teamId}::uuid AND cluster.name = ${name}`;
  return row === undefined ? null : clusterOf(row);
}

export function clusterOf(row: ClusterRow): ClusterRecord {
  return {
    id: row.id,
    name: row.name,
    spec: specOf(row),
    desiredHash: row.desiredHash,
    priorities: new Map(row.pools.map(({ name, autoscalerPriority }) => [name, autoscalerPriority])),
    backingReady: new Map(
      row.pools.flatMap((pool) => (isManaged(poolOf(pool)) ? [] : [[pool.name, pool.backingReady]])),
    ),
    prices: pricesOf(row),
    generation: row.generation,
    observedGeneration: row.observedGeneration,
    revision: row.revision,
    phase: row.phase as ClusterPhase,
    conditions: row.conditions as Condition[],
    seedName: row.seedName,
    migrationPhase: row.migrationPhase as MigrationPhase | null,
    observed: row.observed as ObservedCluster | null,
    nodeCounts: row.nodeCounts as ClusterRecord['nodeCounts'],
    pinnedVersion: row.pinnedVersion,
    lastOperation: row.lastOperation && operationOf(datedOf(row.lastOperation)),
    startedAt: row.startedAt,
    deletionRequestedAt: row.deletionRequestedAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

/** Null until they were read once. */
export function pricesOf({ currency, prices, pricedAt }: PricesRow): KnownPrices | null {
  return currency === null || pricedAt === null ? null : { currency, prices: prices as NodePrices, pricedAt };
}

export interface PricesRow {
  readonly currency: string | null;
  readonly prices: unknown;
  readonly pricedAt: Date | null;
}

/** `jsonb` forgets the order of members: they are answered in the order of the documentation. */
function specOf({ spec, pools }: ClusterRow): ClusterSpec {
  const stored = spec as Omit<ClusterSpec, 'nodePools'>;
  const { connectionRef, region, kubernetesVersion, hibernated, controlPlaneHA, plan } = stored;
  const { nodeCIDR, podCIDR, serviceCIDR, ...more } = stored.network;
  return {
    ...{ connectionRef, region, kubernetesVersion, hibernated, controlPlaneHA, plan },
    network: { nodeCIDR, podCIDR, serviceCIDR, ...more },
    nodePools: pools.map(poolOf),
  };
}

export function poolRecordOf(row: PoolRow): NodePoolRecord {
  const pool = poolOf(row);
  const backingReady = isManaged(pool) ? null : row._count.claimedServers;
  return { ...pool, autoscalerPriority: row.autoscalerPriority, backingReady };
}

function poolOf(row: PoolColumns): NodePoolSpec {
  return {
    name: row.name,
    source: row.source as PoolSource,
    machineType: row.machineType,
    image: row.image as NodePoolSpec['image'],
    minimum: row.minimum,
    maximum: row.maximum,
    publicIP: row.publicIp,
  };
}

const datedOf = ({ createdAt, updatedAt, ...row }: OperationJson): OperationRow => ({
  ...row,
  ...{ createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) },
});

export function operationOf(row: OperationRow): OperationRecord {
  const { id, state, progress, generation, desiredHash, createdAt, updatedAt } = row;
  return {
    ...{ id, state, progress, generation, desiredHash, createdAt, updatedAt },
    kind: row.kind as OperationKind,
    target: { kind: row.targetKind, id: row.targetId, name: row.targetName },
    error: row.error as OperationError,
    waiting: isOpen(row) ? (row.waiting as OperationWaiting | null) : null,
  };
}
