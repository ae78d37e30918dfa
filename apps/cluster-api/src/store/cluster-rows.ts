import type {
  ClusterPhase,
  ClusterSpec,
  Condition,
  MigrationPhase,
  NodePoolSpec,
  OperationError,
  OperationKind,
  PoolSource,
} from '@corral/contracts';
import type { NodePrices } from '@corral/hcloud';
import type { ClusterRecord, OperationRecord } from '../domain/cluster-record.js';
import { isManaged } from '../domain/complete-spec.js';
import type { NodePoolRecord } from '../domain/node-pool-body.js';
import type { KnownPrices } from '../domain/prices.js';
import type { Transaction } from './transaction.js';

export const priced = { priceList: { select: { currency: true, prices: true, pricedAt: true } } } as const;
/** With the number of its servers that are ready nodes. */
export const withBacking = { _count: { select: { claimedServers: { where: { nodeReady: true } } } } } as const;
export const withPools = {
  nodePools: { orderBy: { position: 'asc' }, include: withBacking },
  connection: { select: priced },
} as const;

type ClusterRow = Awaited<ReturnType<typeof listRows>>[number];
type OperationRow = NonNullable<Awaited<ReturnType<Transaction['operation']['findUnique']>>>;
type PoolRow = ClusterRow['nodePools'][number];

/** Clusters of a team by name, from behind `after` on. */
export async function listClusters(
  db: Transaction,
  teamId: string,
  { limit, after }: { limit: number; after: string | null },
): Promise<ClusterRecord[]> {
  return (await listRows(db, teamId, limit, after)).map(clusterOf);
}

const listRows = (db: Transaction, teamId: string, limit: number, after: string | null) =>
  db.cluster.findMany({
    where: { teamId, ...(after === null ? {} : { name: { gt: after } }) },
    orderBy: { name: 'asc' },
    take: limit,
    include: withPools,
  });

export async function findCluster(db: Transaction, teamId: string, name: string): Promise<ClusterRecord | null> {
  const row = await db.cluster.findUnique({ where: { teamId_name: { teamId, name } }, include: withPools });
  return row === null ? null : clusterOf(row);
}

export function clusterOf(row: ClusterRow): ClusterRecord {
  return {
    id: row.id,
    name: row.name,
    spec: specOf(row),
    desiredHash: row.desiredHash,
    priorities: new Map(row.nodePools.map(({ name, autoscalerPriority }) => [name, autoscalerPriority])),
    backingReady: new Map(
      row.nodePools.flatMap((pool) => (isManaged(poolOf(pool)) ? [] : [[pool.name, pool._count.claimedServers]])),
    ),
    prices: pricesOf(row.connection),
    generation: row.generation,
    observedGeneration: row.observedGeneration,
    revision: row.revision,
    phase: row.phase as ClusterPhase,
    conditions: row.conditions as unknown as Condition[],
    seedName: row.seedName,
    migrationPhase: row.migrationPhase as MigrationPhase | null,
    pinnedVersion: row.pinnedVersion,
    startedAt: row.startedAt,
    deletionRequestedAt: row.deletionRequestedAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

/** Null until they were read once. */
export function pricesOf({ priceList }: PricedConnection): KnownPrices | null {
  const { currency = null, prices, pricedAt = null } = priceList ?? {};
  return currency === null || pricedAt === null ? null : { currency, prices: prices as NodePrices, pricedAt };
}

interface PricedConnection {
  readonly priceList: {
    readonly currency: string | null;
    readonly prices: unknown;
    readonly pricedAt: Date | null;
  } | null;
}

/** `jsonb` forgets the order of members: they are answered in the order of the documentation. */
function specOf({ spec, nodePools }: ClusterRow): ClusterSpec {
  const stored = spec as unknown as Omit<ClusterSpec, 'nodePools'>;
  const { connectionRef, region, kubernetesVersion, hibernated, controlPlaneHA, plan } = stored;
  const { nodeCIDR, podCIDR, serviceCIDR, ...more } = stored.network;
  return {
    ...{ connectionRef, region, kubernetesVersion, hibernated, controlPlaneHA, plan },
    network: { nodeCIDR, podCIDR, serviceCIDR, ...more },
    nodePools: nodePools.map(poolOf),
  };
}

export function poolRecordOf(row: PoolRow): NodePoolRecord {
  const pool = poolOf(row);
  const backingReady = isManaged(pool) ? null : row._count.claimedServers;
  return { ...pool, autoscalerPriority: row.autoscalerPriority, backingReady };
}

function poolOf(row: PoolRow): NodePoolSpec {
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

export function operationOf(row: OperationRow): OperationRecord {
  const { id, state, progress, generation, desiredHash, createdAt, updatedAt } = row;
  return {
    ...{ id, state, progress, generation, desiredHash, createdAt, updatedAt },
    kind: row.kind as OperationKind,
    target: { kind: row.targetKind, id: row.targetId, name: row.targetName },
    error: row.error as OperationError,
  };
}
