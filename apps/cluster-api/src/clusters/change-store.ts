import { randomUUID } from 'node:crypto';
import { cancelOperations, lockCluster, type OperationRecord } from '@corral/cluster-data';
import {
  type AuditAction,
  asClusterId,
  type ClusterId,
  type ClusterSpec,
  type ConnectionId,
  type FieldChange,
  type OperationId,
} from '@corral/contracts';
import { isUniqueViolation, type Sql, sql } from '@corral/database';
import { recordAudit } from '../audit/record-audit.js';
import type { Caller } from '../changes/caller.js';
import { type Claims, claimsDetail } from '../node-pools/claim-servers.js';
import { releaseServers } from '../node-pools/store.js';
import { beginOperation } from '../operations/store.js';
import type { Services } from '../services.js';
import type { AcceptedDeclaration, AcceptedStatus } from './rules/declaration.js';
import { deletionOf } from './rules/specification.js';
import { type ClusterRecord, type ClusterView, findCluster, viewCluster } from './store.js';

/** Attempts before a collision of generated names is reported. One collision is already unlikely. */
const ATTEMPTS_MAX = 3;

/**
 * Runs `work` in one transaction that locks the team's changes, then the cluster. Changes of one team are serialized,
 * so quotas and unique names hold. An error rolls everything back. `work` may run again after a collision of
 * generated names, so it must not make outside calls.
 */
export async function changeCluster<T>(
  { changeTeam }: Services,
  caller: Caller,
  name: string,
  work: (locked: ClusterView) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await changeTeam(caller, async (tx, now) => {
        await lockCluster(tx, caller.team.id, name);
        return work({ ...(await viewCluster(tx, caller, name)), now, isLocked: true });
      });
    } catch (error) {
      // The team's lock excludes other changes of its names, so only generated names can collide. A retry generates
      // new ones.
      if (attempt === ATTEMPTS_MAX || !isUniqueViolation(error)) throw error;
    }
  }
}

export interface AcceptedChange {
  readonly operationId: OperationId;
  /** Its operation, generation and hash. */
  readonly declaration: Omit<AcceptedDeclaration, 'kind'>;
  readonly effect: Effect;
  /** The status shown until a pass observes the cluster. */
  readonly shown: AcceptedStatus;
  /** The adopted servers that the change claims and releases. */
  readonly claims: Claims;
  /** Dotted, for the audit log. */
  readonly action: AuditAction;
  /** What the change does to the declaration, for the audit log. */
  readonly changes: readonly FieldChange[] | null;
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

type Declared = Extract<Effect, { kind: 'declare' }>;

/** A cluster after an accepted change, and the operation that carries it out. */
export interface Accepted {
  readonly cluster: ClusterRecord;
  readonly operation: OperationRecord;
}

/** Writes an accepted change, its operation and the audit entry, and ends superseded operations. */
export async function acceptChange(locked: ClusterView, accepted: AcceptedChange): Promise<Accepted> {
  const { db, caller, name, current, now } = locked;
  const { operationId: id, declaration, effect, claims, action, changes } = accepted;
  if (current === null && effect.kind !== 'declare') {
    throw new Error(`A cluster that does not exist cannot be changed: ${effect.kind}`);
  }
  const clusterId = current?.id ?? asClusterId(randomUUID());
  const row = clusterRow(locked, clusterId, accepted);
  if (effect.kind === 'declare') {
    await writeDeclaration(locked, clusterId, row, effect, claims);
  } else {
    await db.$executeRaw(row);
    await releaseServers(db, { teamId: caller.team.id, now }, claims.released);
  }
  const { operation: kind, generation, desiredHash, isDraft: isDone } = declaration;
  const operation = await beginOperation(
    db,
    caller,
    { id, kind, generation, desiredHash, isDone, now, supersedes: current !== null },
    { action, target: { kind: 'Cluster', id: clusterId, name }, changes, detail: claimsDetail(claims) },
  );
  const cluster = await findCluster(db, caller.team.id, name);
  return { cluster: cluster as ClusterRecord, operation };
}

/**
 * The statement that writes the row of the cluster and returns its id. `due_at` is the outbox: the sweep finds the cluster by
 * it even when the wake-up is lost.
 */
function clusterRow(
  { caller: { team }, name, current, now }: ClusterView,
  clusterId: ClusterId,
  { declaration, effect, shown: { phase, conditions } }: AcceptedChange,
): Sql {
  const { generation, desiredHash, isDraft } = declaration;
  const dueAt = isDraft ? null : now;
  const { spec = null, connectionId = null } = effect.kind === 'declare' ? effect : {};
  const stored = spec === null ? null : JSON.stringify({ ...spec, nodePools: undefined });
  if (current === null) {
    return sql`
      INSERT INTO cluster (id, team_id, name, connection_id, spec, generation, desired_hash, phase, conditions, due_at,
                           created_at, updated_at)
      VALUES (${clusterId}::uuid, ${team.id}::uuid, ${name}, ${connectionId}::uuid, ${stored}::jsonb, ${generation}::int,
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
    WHERE id = ${clusterId}::uuid AND team_id = ${team.id}::uuid
    RETURNING id`;
}

/**
 * Writes the cluster with its pools. A remaining pool keeps its row and with it its name on the garden. The same statement
 * assigns claimed servers and frees released ones, because only it sees the pools that it inserts.
 */
async function writeDeclaration(
  { db, caller, now }: ClusterView,
  clusterId: ClusterId,
  row: Sql,
  { spec: { nodePools }, priorities }: Declared,
  claims: Claims,
): Promise<void> {
  const teamId = caller.team.id;
  const holders = new Map<string, string | null>([
    ...claims.released.map(({ id }) => [id, null] as const),
    ...claims.claimed.map(({ server, nodePool }) => [server.id, nodePool] as const),
  ]);
  const pools = nodePools.map((pool, position) => ({ ...pool, position, priority: priorities.get(pool.name) ?? 0 }));
  await db.$executeRaw`
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
  { db, caller, now }: ClusterView,
  draft: ClusterRecord,
  claims: Claims,
): Promise<void> {
  const { id: clusterId, name } = draft;
  const teamId = caller.team.id;
  await cancelOperations(db, { teamId, targetId: clusterId, now });
  await releaseServers(db, { teamId, now }, claims.released);
  await db.cluster.delete({ where: { id: clusterId, teamId }, select: { id: true } });
  await recordAudit(db, caller, {
    action: 'cluster.delete',
    target: { kind: 'Cluster', id: clusterId, name },
    changes: deletionOf(draft),
    detail: { draft: true, ...claimsDetail(claims) },
  });
}
