import {
  asClusterId,
  type ClusterId,
  type ClusterPhase,
  type ClusterSpec,
  type Condition,
  type HibernationSchedule,
  type MigrationPhase,
  type NodePoolSpec,
  type ObservedCluster,
  type PoolSource,
} from '@corral/contracts';
import { type Columns, jsonOf } from './columns.js';

/** The declaration of a team. */
export interface DeclaredRow {
  readonly id: string;
  readonly name: string;
  readonly shootName: string;
  /** The specification with defaults, without node pools, which have their own rows. */
  readonly spec: unknown;
  readonly desiredHash: string;
  readonly generation: number;
  /** The generation that passes leave alone, after a restore. */
  readonly keptGeneration: number | null;
  readonly pinnedVersion: string | null;
  readonly deletionRequestedAt: Date | null;
}

/** Observations of the last pass. */
export interface ObservedRow {
  readonly observedGeneration: number;
  readonly phase: string;
  readonly conditions: unknown;
  readonly seedName: string | null;
  readonly migrationPhase: string | null;
  readonly observed: unknown;
}

/** Further columns for answers and entity tags. */
export interface ShownRow {
  readonly revision: number;
  readonly nodeCounts: unknown;
  readonly startedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Progress of passes. */
export interface AppliedRow {
  readonly shootUid: string | null;
  readonly appliedGeneration: number;
  readonly appliedShootGeneration: number | null;
  readonly appliedAt: Date | null;
  readonly appliedTokenVersion: number;
  readonly retriedGeneration: number;
  readonly failures: number;
  readonly waiting: unknown;
}

export const clusterColumns = {
  declared: {
    id: 'id',
    name: 'name',
    shootName: 'shoot_name',
    spec: 'spec',
    desiredHash: 'desired_hash',
    generation: 'generation',
    keptGeneration: 'kept_generation',
    pinnedVersion: 'pinned_version',
    deletionRequestedAt: 'deletion_requested_at',
  } satisfies Columns<DeclaredRow>,
  observed: {
    observedGeneration: 'observed_generation',
    phase: 'phase',
    conditions: 'conditions',
    seedName: 'seed_name',
    migrationPhase: 'migration_phase',
    observed: 'observed',
  } satisfies Columns<ObservedRow>,
  shown: {
    revision: 'revision',
    nodeCounts: 'node_counts',
    startedAt: 'started_at',
    createdAt: 'created_at',
    updatedAt: 'updated_at',
  } satisfies Columns<ShownRow>,
  applied: {
    shootUid: 'shoot_uid',
    appliedGeneration: 'applied_generation',
    appliedShootGeneration: 'applied_shoot_generation',
    appliedAt: 'applied_at',
    appliedTokenVersion: 'applied_token_version',
    retriedGeneration: 'retried_generation',
    failures: 'failures',
    waiting: 'waiting',
  } satisfies Columns<AppliedRow>,
} as const;

/** A specification as stored in its column. */
export type StoredSpec = Omit<ClusterSpec, 'nodePools'>;

export interface ClusterDeclaration {
  readonly id: ClusterId;
  readonly name: string;
  readonly desiredHash: string;
  /** Number of accepted changes. */
  readonly generation: number;
  /** The full version that `spec.kubernetesVersion` was resolved to; null until the first pass. */
  readonly pinnedVersion: string | null;
}

export const declaredOf = (row: DeclaredRow): ClusterDeclaration => ({
  id: asClusterId(row.id),
  name: row.name,
  desiredHash: row.desiredHash,
  generation: row.generation,
  pinnedVersion: row.pinnedVersion,
});

/** `jsonb` does not keep the order of members; this restores the order of the documentation. */
export function storedSpecOf({ spec }: DeclaredRow): StoredSpec {
  const { connectionRef, region, kubernetesVersion, hibernated, controlPlaneHA, plan, network } = spec as StoredSpec;
  const { deletionProtection = false, hibernationSchedule } = spec as Partial<StoredSpec>;
  const { nodeCIDR, podCIDR, serviceCIDR, ...more } = network;
  return {
    connectionRef,
    region,
    kubernetesVersion,
    hibernated,
    ...(hibernationSchedule && { hibernationSchedule: orderedSchedule(hibernationSchedule) }),
    controlPlaneHA,
    plan,
    deletionProtection,
    network: { nodeCIDR, podCIDR, serviceCIDR, ...more },
  };
}

const orderedSchedule = ({ timeZone, awake, exceptions }: HibernationSchedule): HibernationSchedule => ({
  timeZone,
  awake: awake.map(({ weekdays, from, until }) => ({ weekdays, from, until })),
  exceptions: exceptions.map(({ date, ...hours }) => ({ date, ...hours })),
});

export interface SeenCluster {
  /** The generation that the last finished pass acted on. */
  readonly observedGeneration: number;
  readonly phase: ClusterPhase;
  readonly conditions: readonly Condition[];
  readonly seedName: string | null;
  readonly migrationPhase: MigrationPhase | null;
  /** Further observations of the last pass; null before the first one. */
  readonly observed: ObservedCluster | null;
}

export const seenOf = (row: ObservedRow): SeenCluster => ({
  observedGeneration: row.observedGeneration,
  phase: row.phase as ClusterPhase,
  conditions: row.conditions as Condition[],
  seedName: row.seedName,
  migrationPhase: row.migrationPhase as MigrationPhase | null,
  observed: row.observed as ObservedCluster | null,
});

/** Nodes by pool name. */
export type NodeCounts = Readonly<Record<string, { readonly ready: number; readonly total: number }>>;

export interface NodePoolRow {
  readonly name: string;
  readonly source: string;
  readonly machineType: string;
  readonly image: unknown;
  readonly minimum: number;
  readonly maximum: number;
  readonly publicIp: boolean;
  /** Name of the worker pool on the garden. */
  readonly workerName: string;
  /** Pools with higher values grow first. */
  readonly autoscalerPriority: number;
}

const nodePoolColumns = {
  name: 'name',
  source: 'source',
  machineType: 'machine_type',
  image: 'image',
  minimum: 'minimum',
  maximum: 'maximum',
  publicIp: 'public_ip',
  workerName: 'worker_name',
  autoscalerPriority: 'autoscaler_priority',
} as const satisfies Columns<NodePoolRow>;

/** A pool with the number of its servers that are ready nodes. */
export interface BackedPoolRow extends NodePoolRow {
  readonly backingReady: number;
}

/** SQL expression beside a row of `cluster`: its pools as JSON, an ordered list of `NodePoolRow`. */
export const poolsOfCluster = poolsAs(jsonOf('pool', nodePoolColumns));

/** The same for `BackedPoolRow`. */
export const backedPoolsOfCluster = poolsAs(
  jsonOf('pool', nodePoolColumns, {
    backingReady: `(SELECT count(*) FROM adopted_server AS server
                    WHERE server.node_pool_id = pool.id AND server.node_ready)`,
  }),
);

function poolsAs(json: string): string {
  return `
    (SELECT coalesce(json_agg(${json} ORDER BY pool.position, pool.name), '[]')
     FROM node_pool AS pool WHERE pool.cluster_id = cluster.id)`;
}

export function poolSpecOf(row: NodePoolRow): NodePoolSpec {
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
