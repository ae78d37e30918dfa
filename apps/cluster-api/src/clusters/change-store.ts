import { randomUUID } from 'node:crypto';
import { cancelOperations } from '@corral/cluster-data';
import { asClusterId, type ClusterId, type TeamId } from '@corral/contracts';
import { type Sql, sql, type Transaction } from '@corral/database';
import { recordAudit } from '../audit/record-audit.js';
import type { Caller } from '../changes/caller.js';
import { type Claims, claimsDetail } from '../node-pools/claim-servers.js';
import { releaseServers } from '../node-pools/server-claims-store.js';
import { beginOperation } from '../operations/store.js';
import type { ClusterRecord } from './record.js';
import { findCluster } from './rows.js';
import { deletionOf } from './spec/spec-difference.js';
import type { AcceptedChange, ClusterTransaction, Effect } from './transaction.js';

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
