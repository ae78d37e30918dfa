import type { Caller } from '../domain/caller.js';
import { type Claims, claimsDetail } from '../domain/claim-servers.js';
import type { ClusterRecord } from '../domain/cluster-record.js';
import type { Acceptance, ClusterTransaction, Effect } from '../domain/cluster-transaction.js';
import { recordAudit } from './audit.js';
import { beginOperation } from './begin-operation.js';
import { findCluster } from './cluster-rows.js';
import { releaseServers } from './server-claims.js';
import type { Transaction } from './team-changes.js';

/** A cluster that is held, and who changes it. */
export interface HeldCluster {
  readonly caller: Caller;
  readonly name: string;
  readonly current: ClusterRecord | null;
  readonly now: Date;
}

type Declared = Extract<Effect, { kind: 'declare' }>;

/** Writes an accepted change, its operation, the end of operations that it overtakes, and the audit entry. */
export async function acceptChange(
  tx: Transaction,
  held: HeldCluster,
  accepted: Acceptance,
): ReturnType<ClusterTransaction['accept']> {
  const { caller, name, current, now } = held;
  const teamId = caller.team.id;
  const { effect, claims } = accepted;
  const clusterId = await writeCluster(tx, held, accepted);
  if (effect.kind === 'declare') await writePools(tx, { teamId, clusterId, now }, effect, claims);
  else await releaseServers(tx, { teamId, now }, claims.released);
  const { operationId: id, operation: kind, generation, desiredHash, isDraft: isDone, action, detail } = accepted;
  const operation = await beginOperation(
    tx,
    caller,
    { id, kind, generation, desiredHash, isDone, now, supersedes: current !== null },
    { action, target: { kind: 'Cluster', id: clusterId, name }, detail },
  );
  const cluster = (await findCluster(tx, teamId, name)) as ClusterRecord;
  return { cluster, operation };
}

/** `dueAt` is the outbox: whoever looks for work finds the cluster by it, even when no wake-up arrives. */
async function writeCluster(
  tx: Transaction,
  { caller, name, current, now }: HeldCluster,
  { generation, desiredHash, isDraft, effect, shown }: Acceptance,
): Promise<string> {
  const teamId = caller.team.id;
  const { phase, conditions } = shown;
  const change = {
    ...{ generation, desiredHash, dueAt: isDraft ? null : now, updatedAt: now, phase },
    conditions: conditions.map((condition) => ({ ...condition })),
    ...columnsOf(effect, now),
  };
  if (current !== null) {
    const revision = { increment: 1 };
    await tx.cluster.update({ where: { id: current.id, teamId }, data: { ...change, revision }, select: { id: true } });
    return current.id;
  }
  if (effect.kind !== 'declare') throw new Error(`A cluster that is not there cannot be changed: ${effect.kind}`);
  const { connectionId } = effect;
  const created = { ...change, ...declaredColumns(effect), teamId, name, connectionId, createdAt: now };
  return (await tx.cluster.create({ data: created, select: { id: true } })).id;
}

function columnsOf(effect: Effect, now: Date) {
  switch (effect.kind) {
    case 'declare':
      return declaredColumns(effect);
    case 'retry':
      return {};
    case 'delete':
      return { deletionRequestedAt: now };
  }
}

function declaredColumns({ spec: { nodePools: _, ...spec } }: Declared) {
  return { spec: { ...spec, network: { ...spec.network } } };
}

/**
 * A pool that stays keeps its row, and with it the name that it has on the garden. Servers go to the pools that claim them, and
 * free of those that let them go, in the same statement: it sees the pools that it makes.
 */
async function writePools(
  tx: Transaction,
  { teamId, clusterId, now }: { teamId: string; clusterId: string; now: Date },
  { spec: { nodePools }, priorities }: Declared,
  claims: Claims,
): Promise<void> {
  const holders = new Map<string, string | null>([
    ...claims.released.map(({ id }) => [id, null] as const),
    ...claims.claimed.map(({ server, nodePool }) => [server.id, nodePool] as const),
  ]);
  const pools = nodePools.map((pool, position) => ({ ...pool, position, priority: priorities.get(pool.name) ?? 0 }));
  await tx.$executeRaw`
    WITH desired AS (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(pools)}::jsonb)
        AS pool(name text, source text, "machineType" text, image jsonb, minimum int, maximum int, "publicIP" boolean,
                position int, priority int)
    ), gone AS (
      DELETE FROM node_pool
      WHERE team_id = ${teamId}::uuid AND cluster_id = ${clusterId}::uuid AND name NOT IN (SELECT name FROM desired)
    ), kept AS (
      INSERT INTO node_pool (team_id, cluster_id, name, source, machine_type, image, minimum, maximum, public_ip, position,
                             autoscaler_priority, created_at, updated_at)
      SELECT ${teamId}::uuid, ${clusterId}::uuid, name, source, "machineType", image, minimum, maximum, "publicIP", position,
             priority, ${now}::timestamptz, ${now}::timestamptz
      FROM desired ORDER BY position
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

/** Deletes a cluster that the garden has not heard of, and cancels its operations. */
export async function removeDraft(
  tx: Transaction,
  { caller, current, now }: { caller: Caller; current: ClusterRecord; now: Date },
  claims: Claims,
): Promise<void> {
  const { id: clusterId, name } = current;
  const teamId = caller.team.id;
  await tx.operation.updateMany({
    where: { teamId, targetId: clusterId, state: { in: ['queued', 'running'] } },
    data: { state: 'cancelled', updatedAt: now, finishedAt: now },
  });
  await releaseServers(tx, { teamId, now }, claims.released);
  await tx.cluster.delete({ where: { id: clusterId, teamId }, select: { id: true } });
  const target = { kind: 'Cluster', id: clusterId, name };
  await recordAudit(tx, caller, { action: 'cluster.delete', target, detail: { draft: true, ...claimsDetail(claims) } });
}
