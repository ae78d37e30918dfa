import { cancelOperations } from '@corral/cluster-data';
import { asClusterId, type ClusterId, type TeamId } from '@corral/contracts';
import { recordAudit } from '../audit/record-audit.js';
import type { Caller } from '../changes/caller.js';
import type { Transaction } from '../changes/team-changes.js';
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

/** Writes an accepted change, its operation and the audit entry, and ends superseded operations. */
export async function acceptChange(
  tx: Transaction,
  locked: LockedCluster,
  accepted: AcceptedChange,
): ReturnType<ClusterTransaction['accept']> {
  const { caller, name, current, now } = locked;
  const teamId = caller.team.id;
  const { effect, claims } = accepted;
  const clusterId = await writeCluster(tx, locked, accepted);
  if (effect.kind === 'declare') await writePools(tx, { teamId, clusterId, now }, effect, claims);
  else await releaseServers(tx, { teamId, now }, claims.released);
  const {
    operationId: id,
    operation: kind,
    generation,
    desiredHash,
    isDraft: isDone,
    action,
    changes,
    detail,
  } = accepted;
  const operation = await beginOperation(
    tx,
    caller,
    { id, kind, generation, desiredHash, isDone, now, supersedes: current !== null },
    { action, target: { kind: 'Cluster', id: clusterId, name }, changes, detail },
  );
  const cluster = (await findCluster(tx, teamId, name)) as ClusterRecord;
  return { cluster, operation };
}

/** `dueAt` is the outbox: the sweep finds the cluster by it even when the wake-up is lost. */
async function writeCluster(
  tx: Transaction,
  { caller, name, current, now }: LockedCluster,
  { generation, desiredHash, isDraft, effect, shown }: AcceptedChange,
): Promise<ClusterId> {
  const teamId = caller.team.id;
  const { phase, conditions } = shown;
  const change = {
    generation,
    desiredHash,
    dueAt: isDraft ? null : now,
    updatedAt: now,
    phase,
    conditions: conditions.map((condition) => ({ ...condition })),
    ...columnsOf(effect, now),
  };
  if (current !== null) {
    const revision = { increment: 1 };
    await tx.cluster.update({ where: { id: current.id, teamId }, data: { ...change, revision }, select: { id: true } });
    return current.id;
  }
  if (effect.kind !== 'declare') throw new Error(`A cluster that does not exist cannot be changed: ${effect.kind}`);
  const { connectionId } = effect;
  const created = { ...change, ...declaredColumns(effect), teamId, name, connectionId, createdAt: now };
  return asClusterId((await tx.cluster.create({ data: created, select: { id: true } })).id);
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
 * A remaining pool keeps its row and with it its name on the garden. The same statement assigns claimed servers
 * and frees released ones, because only it sees the pools that it inserts.
 */
async function writePools(
  tx: Transaction,
  { teamId, clusterId, now }: { teamId: TeamId; clusterId: ClusterId; now: Date },
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
