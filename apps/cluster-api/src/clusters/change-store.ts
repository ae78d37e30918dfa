import { randomUUID } from 'node:crypto';
import { cancelOperations, type KnownPrices, type OperationRecord } from '@corral/cluster-data';
import {
  type AuditAction,
  asClusterId,
  type ClusterId,
  type ClusterSpec,
  type ConnectionId,
  type ConnectionPhase,
  type FieldChange,
  type OperationId,
  type TeamId,
} from '@corral/contracts';
import { type Sql, sql, type Transaction } from '@corral/database';
import { recordAudit } from '../audit/record-audit.js';
import type { Caller, KeyedRequest } from '../changes/caller.js';
import { type Claims, claimsDetail, type PoolServer } from '../node-pools/claim-servers.js';
import { releaseServers } from '../node-pools/server-claims-store.js';
import { beginOperation } from '../operations/store.js';
import type { AcceptedStatus } from './accepted-status.js';
import { type ClusterQuery, type ClusterRecord, findCluster } from './rows.js';
import type { AcceptedDeclaration } from './spec/decide-declaration.js';
import type { QuotaOverrides } from './spec/quotas.js';
import { deletionOf } from './spec/spec-difference.js';

/** What decides about a change of a cluster. */
export interface ClusterView {
  /** Null when the team has no cluster with that name. */
  readonly current: ClusterRecord | null;
  /** The database's clock. */
  readonly now: Date;
  readonly quotaOverrides: QuotaOverrides;
  readonly clustersOfTeam: number;
  readonly hasActiveSubscription: boolean;
  findConnection(ref: string): Promise<UsableConnection | null>;
  /** All servers that the team adopted over the connection. */
  findServers(connectionRef: string): Promise<PoolServer[]>;
}

/** What a change of a cluster needs from the store. The team's changes, the cluster and found servers are locked meanwhile. */
export interface ClusterTransaction extends ClusterView {
  findOperation(id: OperationId): Promise<OperationRecord | null>;
  /**
   * Stores that the request creates the operation with this id.
   *
   * @returns null when the request is new, else the operation id of the first request with this key
   */
  registerKey(request: KeyedRequest, operationId: OperationId): Promise<OperationId | null>;
  /** Writes the change, its operation and the audit entry, and ends superseded operations. */
  accept(accepted: AcceptedChange): Promise<{ cluster: ClusterRecord; operation: OperationRecord }>;
  /** Deletes a cluster that the garden does not know, and cancels its operations. */
  removeDraft(claims: Claims): Promise<void>;
}

/** The fields of a connection that decide about clusters on it. */
export interface UsableConnection {
  readonly id: ConnectionId;
  readonly phase: ConnectionPhase;
  /** Null until first read. */
  readonly prices: KnownPrices | null;
}

export interface AcceptedChange
  extends Pick<AcceptedDeclaration, 'operation' | 'generation' | 'desiredHash' | 'isDraft'> {
  readonly operationId: OperationId;
  readonly effect: Effect;
  /** The status shown until a pass observes the cluster. */
  readonly shown: AcceptedStatus;
  /** The adopted servers that the change claims and releases. */
  readonly claims: Claims;
  /** Dotted, for the audit log. */
  readonly action: AuditAction;
  /** What the change does to the declaration, for the audit log. */
  readonly changes: readonly FieldChange[] | null;
  /** For the audit log. Contains no secrets. */
  readonly detail: Readonly<Record<string, string | number>>;
}

export type Effect =
  | {
      readonly kind: 'declare';
      readonly spec: ClusterSpec;
      /** Autoscaler priorities of the node pools, by name. */
      readonly priorities: ReadonlyMap<string, number>;
      readonly connectionId: ConnectionId;
    }
  /** Tries the unchanged specification again. */
  | { readonly kind: 'retry' }
  | { readonly kind: 'delete' };

export interface ClusterStore {
  find(teamId: TeamId, name: string): Promise<ClusterRecord | null>;
  /** In the order of their names, starting after the name `after`. */
  list(teamId: TeamId, query: ClusterQuery): Promise<ClusterRecord[]>;
  /**
   * Runs `work` in one transaction that locks the team's changes, then the cluster. Changes of one team are serialized,
   * so quotas and unique names hold. An error rolls everything back. `work` may run again after a collision of
   * generated names, so it must not make outside calls.
   */
  change<T>(caller: Caller, name: string, work: (tx: ClusterTransaction) => Promise<T>): Promise<T>;
  /** Runs `work` on what a change would find. It waits for no change of the team, and none waits for it. */
  preview<T>(caller: Caller, name: string, work: (view: ClusterView) => Promise<T>): Promise<T>;
}

/** A locked cluster and the caller who changes it. */
export interface LockedCluster {
  readonly caller: Caller;
  readonly name: string;
  readonly current: ClusterRecord | null;
  readonly now: Date;
}

type Declared = Extract<Effect, { kind: 'declare' }>;

/**
 * Writes an accepted change, its operation and the audit entry, and ends superseded operations.
 */
export async function acceptChange(
  tx: Transaction,
  locked: LockedCluster,
  accepted: AcceptedChange,
): ReturnType<ClusterTransaction['accept']> {
  const { caller, name, current, now } = locked;
  const teamId = caller.team.id;
  const { operationId: id, operation: kind, isDraft: isDone, effect, claims, action, changes, detail } = accepted;
  if (current === null && effect.kind !== 'declare') {
    throw new Error(`A cluster that does not exist cannot be changed: ${effect.kind}`);
  }
  const clusterId = current?.id ?? asClusterId(randomUUID());
  const written = { teamId, clusterId, now };
  const row = clusterRow(locked, written, accepted);
  const { generation, desiredHash } = accepted;
  if (effect.kind === 'declare') {
    await writeDeclaration(tx, row, written, effect, claims);
  } else {
    await tx.$executeRaw(row);
    await releaseServers(tx, written, claims.released);
  }
  const operation = await beginOperation(
    tx,
    caller,
    { id, kind, generation, desiredHash, isDone, now, supersedes: current !== null },
    { action, target: { kind: 'Cluster', id: clusterId, name }, changes, detail },
  );
  const cluster = await findCluster(tx, teamId, name);
  return { cluster: cluster as ClusterRecord, operation };
}

interface Written {
  readonly teamId: TeamId;
  readonly clusterId: ClusterId;
  readonly now: Date;
}

/**
 * The statement that writes the row of the cluster and returns its id. `due_at` is the outbox: the sweep finds the cluster by
 * it even when the wake-up is lost.
 */
function clusterRow(
  { name, current }: LockedCluster,
  { teamId, clusterId, now }: Written,
  { generation, desiredHash, isDraft, effect, shown: { phase, conditions } }: AcceptedChange,
): Sql {
  const dueAt = isDraft ? null : now;
  const { spec = null, connectionId = null } = effect.kind === 'declare' ? effect : {};
  const stored = spec === null ? null : JSON.stringify({ ...spec, nodePools: undefined });
  if (current === null) {
    return sql`
      INSERT INTO cluster (id, team_id, name, connection_id, spec, generation, desired_hash, phase, conditions, due_at,
                           created_at, updated_at)
      VALUES (${clusterId}::uuid, ${teamId}::uuid, ${name}, ${connectionId}::uuid, ${stored}::jsonb, ${generation}::int,
              ${desiredHash}, ${phase}, ${JSON.stringify(conditions)}::jsonb, ${dueAt}::timestamptz, ${now}::timestamptz,
              ${now}::timestamptz)
      RETURNING id`;
  }
  return sql`
    UPDATE cluster
    SET spec = COALESCE(${stored}::jsonb, spec), generation = ${generation}::int, desired_hash = ${desiredHash},
        phase = ${phase}, conditions = ${JSON.stringify(conditions)}::jsonb, due_at = ${dueAt}::timestamptz,
        deletion_requested_at = COALESCE(${effect.kind === 'delete' ? now : null}::timestamptz, deletion_requested_at),
        revision = revision + 1, updated_at = ${now}::timestamptz
    WHERE id = ${clusterId}::uuid AND team_id = ${teamId}::uuid
    RETURNING id`;
}

/**
 * Writes the cluster with its pools. A remaining pool keeps its row and with it its name on the garden. The same statement
 * assigns claimed servers and frees released ones, because only it sees the pools that it inserts.
 */
async function writeDeclaration(
  tx: Transaction,
  row: Sql,
  { teamId, clusterId, now }: Written,
  { spec: { nodePools }, priorities }: Declared,
  claims: Claims,
): Promise<void> {
  const holders = new Map<string, string | null>([
    ...claims.released.map(({ id }) => [id, null] as const),
    ...claims.claimed.map(({ server, nodePool }) => [server.id, nodePool] as const),
  ]);
  const pools = nodePools.map((pool, position) => ({ ...pool, position, priority: priorities.get(pool.name) ?? 0 }));
  await tx.$executeRaw`
    WITH written AS (${row}),
    desired AS (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(pools)}::jsonb)
        AS pool(name text, source text, "machineType" text, image jsonb, minimum int, maximum int, "publicIP" boolean,
                position int, priority int)
    ), gone AS (
      DELETE FROM node_pool
      WHERE team_id = ${teamId}::uuid AND cluster_id = ${clusterId}::uuid AND name NOT IN (SELECT name FROM desired)
    ), kept AS (
      INSERT INTO node_pool (team_id, cluster_id, name, source, machine_type, image, minimum, maximum, public_ip, position,
                             autoscaler_priority, created_at, updated_at)
      SELECT ${teamId}::uuid, written.id, name, source, "machineType", image, minimum, maximum, "publicIP", position,
             priority, ${now}::timestamptz, ${now}::timestamptz
      FROM desired, written ORDER BY position
      ON CONFLICT (cluster_id, name) DO UPDATE
      SET source = excluded.source, machine_type = excluded.machine_type, image = excluded.image,
          minimum = excluded.minimum, maximum = excluded.maximum, public_ip = excluded.public_ip,
          position = excluded.position, autoscaler_priority = excluded.autoscaler_priority,
          updated_at = excluded.updated_at
      RETURNING id, name
    )
    UPDATE adopted_server AS server
    SET node_pool_id = kept.id, due_at = ${now}::timestamptz, updated_at = ${now}::timestamptz
    FROM unnest(${[...holders.keys()]}::uuid[], ${[...holders.values()]}::text[]) AS holder (server_id, pool)
      LEFT JOIN kept ON kept.name = holder.pool
    WHERE server.id = holder.server_id AND server.team_id = ${teamId}::uuid`;
}

/** Deletes a cluster that the garden does not know, and cancels its operations. */
export async function removeDraft(
  tx: Transaction,
  { caller, current, now }: { caller: Caller; current: ClusterRecord; now: Date },
  claims: Claims,
): Promise<void> {
  const { id: clusterId, name } = current;
  const teamId = caller.team.id;
  await cancelOperations(tx, { teamId, targetId: clusterId, now });
  await releaseServers(tx, { teamId, now }, claims.released);
  await tx.cluster.delete({ where: { id: clusterId, teamId }, select: { id: true } });
  const target = { kind: 'Cluster', id: clusterId, name };
  await recordAudit(tx, caller, {
    action: 'cluster.delete',
    target,
    changes: deletionOf(current),
    detail: { draft: true, ...claimsDetail(claims) },
  });
}
