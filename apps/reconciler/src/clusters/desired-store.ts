import type {
  ClusterPhase,
  ClusterSpec,
  Condition,
  ConnectionPhase,
  MigrationPhase,
  ObservedCluster,
  OperationKind,
  OperationWaiting,
  PoolSource,
} from '@corral/contracts';
import type { Pool } from '@corral/database';
import type { Lease } from '../loop/lease-store.js';
import type { SealedToken } from '../loop/provider-token.js';
import type { Desired, DesiredPool, OpenOperation } from './model.js';

/** Which of a connection's tokens it is. */
export interface VersionedToken extends SealedToken {
  readonly version: number;
}

/** What a pass reads. Every query carries the lease, and with it the team. */
export const desiredStore = (pool: Pool) => ({
  /**
   * @returns also the database's clock, by which all is judged; null when a later turn was given out: the pass must stop
   */
  async readDesired({ teamId, id, fence }: Lease): Promise<{ wanted: Desired; now: Date } | null> {
    const { rows } = await pool.query<DesiredRow>(
      `SELECT cluster.*, clock_timestamp() AS now, team.slug, team.project_name, team.project_namespace,
              connection.ref, connection.garden_name, connection.phase AS connection_phase,
              coalesce(connection.project->>'readOnly' = 'true', false) AS connection_read_only,
              connection.token_version, connection.garden_token_version,
              (SELECT coalesce(json_agg(p ORDER BY p.position, p.name), '[]') FROM node_pool p
               WHERE p.cluster_id = cluster.id) AS pools,
              (SELECT max(o.created_at) FROM operation o
               WHERE o.target_id = cluster.id AND o.team_id = $1 AND o.generation = cluster.generation) AS declared_at,
              (SELECT max(o.created_at) FROM operation o
               WHERE o.target_id = cluster.id AND o.team_id = $1
                 AND o.kind IN ('cluster.create', 'cluster.update')) AS pools_declared_at,
              (SELECT json_build_object('id', o.id, 'kind', o.kind, 'generation', o.generation, 'state', o.state,
                                        'progress', o.progress, 'acceptedAt', o.created_at)
               FROM operation o
               WHERE o.target_id = cluster.id AND o.team_id = $1 AND o.state IN ('queued', 'running')
               ORDER BY o.generation DESC LIMIT 1) AS operation
       FROM cluster
       JOIN team ON team.id = cluster.team_id
       JOIN connection ON connection.id = cluster.connection_id AND connection.team_id = cluster.team_id
       WHERE cluster.team_id = $1 AND cluster.id = $2 AND cluster.lease_fence = $3 AND cluster.lease_until IS NOT NULL`,
      [teamId, id, fence],
    );
    return rows[0] === undefined ? null : { wanted: desiredOf(rows[0]), now: rows[0].now };
  },

  /** The newest token of a connection of the team; null when the connection is gone. */
  async readToken({ teamId }: Lease, connectionId: string): Promise<VersionedToken | null> {
    const { rows } = await pool.query<{ sealed_token: Buffer; token_key_id: string; token_version: number }>(
      'SELECT sealed_token, token_key_id, token_version FROM connection WHERE team_id = $1 AND id = $2',
      [teamId, connectionId],
    );
    const [row] = rows;
    if (row === undefined) return null;
    return { connectionId, version: row.token_version, keyId: row.token_key_id, sealed: row.sealed_token };
  },
});
export type DesiredStore = ReturnType<typeof desiredStore>;

interface DesiredRow {
  now: Date;
  id: string;
  team_id: string;
  name: string;
  slug: string;
  project_name: string;
  project_namespace: string | null;
  shoot_name: string;
  generation: number;
  desired_hash: string;
  declared_at: Date | null;
  pools_declared_at: Date | null;
  spec: Omit<ClusterSpec, 'nodePools'>;
  pools: PoolRow[];
  pinned_version: string | null;
  deletion_requested_at: Date | null;
  connection_id: string;
  ref: string;
  garden_name: string;
  connection_phase: ConnectionPhase;
  connection_read_only: boolean;
  token_version: number;
  garden_token_version: number;
  shoot_uid: string | null;
  applied_generation: number;
  applied_shoot_generation: number | null;
  applied_at: Date | null;
  applied_token_version: number;
  retried_generation: number;
  observed_generation: number;
  phase: ClusterPhase;
  conditions: Condition[];
  seed_name: string | null;
  migration_phase: MigrationPhase | null;
  observed: ObservedCluster | null;
  failures: number;
  waiting: OperationWaiting | null;
  operation: (Omit<OpenOperation, 'kind' | 'acceptedAt'> & { kind: OperationKind; acceptedAt: string }) | null;
}

interface PoolRow {
  name: string;
  worker_name: string;
  source: PoolSource;
  machine_type: string;
  image: DesiredPool['image'];
  minimum: number;
  maximum: number;
  public_ip: boolean;
  autoscaler_priority: number;
}

function desiredOf(row: DesiredRow): Desired {
  return {
    id: row.id,
    name: row.name,
    team: { id: row.team_id, slug: row.slug, projectName: row.project_name },
    namespace: row.project_namespace,
    shootName: row.shoot_name,
    generation: row.generation,
    desiredHash: row.desired_hash,
    declaredAt: row.declared_at,
    poolsDeclaredAt: row.pools_declared_at,
    spec: row.spec,
    pools: row.pools.map(poolOf),
    pinnedVersion: row.pinned_version,
    isDeleting: row.deletion_requested_at !== null,
    connection: {
      id: row.connection_id,
      ref: row.ref,
      gardenName: row.garden_name,
      phase: row.connection_phase,
      isReadOnly: row.connection_read_only,
      tokenVersion: row.token_version,
      gardenTokenVersion: row.garden_token_version,
    },
    known: knownOf(row),
    operation: row.operation && { ...row.operation, acceptedAt: new Date(row.operation.acceptedAt) },
  };
}

function poolOf(row: PoolRow): DesiredPool {
  return {
    name: row.name,
    source: row.source,
    machineType: row.machine_type,
    image: row.image,
    minimum: row.minimum,
    maximum: row.maximum,
    publicIP: row.public_ip,
    workerName: row.worker_name,
    autoscalerPriority: row.autoscaler_priority,
  };
}

function knownOf(row: DesiredRow): Desired['known'] {
  return {
    shootUid: row.shoot_uid,
    appliedGeneration: row.applied_generation,
    appliedShootGeneration: row.applied_shoot_generation,
    appliedAt: row.applied_at,
    appliedTokenVersion: row.applied_token_version,
    retriedGeneration: row.retried_generation,
    observedGeneration: row.observed_generation,
    phase: row.phase,
    conditions: row.conditions,
    seedName: row.seed_name,
    migrationPhase: row.migration_phase,
    observed: row.observed,
    failures: row.failures,
    waiting: row.waiting,
  };
}
