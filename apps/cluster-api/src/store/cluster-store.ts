import type { NodePoolSpec } from '@corral/contracts';
import { isUniqueViolation, type Prisma } from '@corral/database';
import type { Caller } from '../domain/caller.js';
import { type Claims, claimsDetail } from '../domain/claim-servers.js';
import type { ClusterRecord } from '../domain/cluster-record.js';
import type { Acceptance, ClusterChanges, ClusterTransaction, Effect } from '../domain/cluster-transaction.js';
import type { QuotaOverrides } from '../domain/quotas.js';
import { recordAudit } from './audit.js';
import { findCluster, listClusters, operationOf, priced, pricesOf } from './cluster-rows.js';
import { claimKey } from './idempotency-keys.js';
import { claimServers, lockServers, releaseServers } from './server-claims.js';
import { patience, type Transaction } from './transaction.js';

export type ClusterStore = ReturnType<typeof clusterStore>;

/** Generated names collide once in millions. */
const ATTEMPTS_MAX = 3;

/** Clusters with their pools. Whatever is written is written by a change, and with its operation. */
export const clusterStore = (prisma: Prisma) => {
  /** Cluster and pools come by two statements, and have to be of one moment. */
  const inSnapshot = <T>(read: (tx: Transaction) => Promise<T>): Promise<T> =>
    prisma.$transaction(read, { ...patience, isolationLevel: 'RepeatableRead' });
  return {
    ...clusterChanges(prisma),
    find: (teamId: string, name: string): Promise<ClusterRecord | null> =>
      inSnapshot((tx) => findCluster(tx, teamId, name)),
    list: (teamId: string, page: { limit: number; after: string | null }): Promise<ClusterRecord[]> =>
      inSnapshot((tx) => listClusters(tx, teamId, page)),
  };
};

function clusterChanges(prisma: Prisma): ClusterChanges {
  return {
    async change(caller, name, work) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await prisma.$transaction(async (tx) => work(await lock(tx, caller, name)), patience);
        } catch (error) {
          // Under the locks nobody else takes a name, so only generated ones can collide: the next ones will not.
          if (attempt === ATTEMPTS_MAX || !isUniqueViolation(error)) throw error;
        }
      }
    },
  };
}

/** Team before cluster, everywhere: two changes never wait for each other in a circle. */
async function lock(tx: Transaction, caller: Caller, name: string): Promise<ClusterTransaction> {
  const teamId = caller.team.id;
  const quotaOverrides = await lockTeam(tx, teamId);
  // No stronger than that: a pass that holds a server may wait to refer to its cluster, and a change waits for servers.
  await tx.$queryRaw`SELECT id FROM cluster WHERE team_id = ${teamId}::uuid AND name = ${name} FOR NO KEY UPDATE`;
  // Read once the locks are held: what a locking statement itself returns may be older than its lock.
  const current = await findCluster(tx, teamId, name);
  const [clock] = await tx.$queryRaw<{ now: Date }[]>`SELECT clock_timestamp() AS now`;
  const now = (clock as { now: Date }).now;
  return {
    ...{ current, now, quotaOverrides },
    countClusters: () => tx.cluster.count({ where: { teamId } }),
    hasActiveSubscription: async () => (await tx.subscription.count({ where: { teamId, isActive: true } })) > 0,
    async findConnection(ref) {
      // What a cluster is declared on stays until the cluster is written; what is about to go is waited for, and is gone.
      await tx.$queryRaw`SELECT FROM connection WHERE team_id = ${teamId}::uuid AND ref = ${ref} FOR KEY SHARE`;
      const row = await tx.connection.findUnique({
        where: { teamId_ref: { teamId, ref } },
        select: { id: true, phase: true, ...priced },
      });
      return row && { id: row.id, phase: row.phase, prices: pricesOf(row) };
    },
    async findOperation(id) {
      const row = await tx.operation.findUnique({ where: { id, teamId } });
      return row === null ? null : operationOf(row);
    },
    async findNewestOperation() {
      if (current === null) return null;
      const { id: targetId, generation } = current;
      const row = await tx.operation.findFirst({
        where: { teamId, targetId, generation },
        orderBy: { createdAt: 'desc' },
      });
      return row === null ? null : operationOf(row);
    },
    claimKey: (request, operationId) => claimKey(tx, caller, request, operationId),
    findServers: (connectionRef) => lockServers(tx, teamId, connectionRef),
    accept: (accepted) => accept(tx, { caller, name, current, now }, accepted),
    async removeDraft(claims) {
      if (current !== null) await removeDraft(tx, { caller, current, now }, claims);
    },
  };
}

async function lockTeam(tx: Transaction, teamId: string): Promise<QuotaOverrides> {
  await tx.$queryRaw`SELECT id FROM team WHERE id = ${teamId}::uuid FOR NO KEY UPDATE`;
  const team = await tx.team.findUniqueOrThrow({ where: { id: teamId } });
  return {
    clustersPerTeam: team.clustersMax,
    poolsPerCluster: team.poolsPerClusterMax,
    nodesPerCluster: team.nodesPerClusterMax,
  };
}

interface Locked {
  readonly caller: Caller;
  readonly name: string;
  readonly current: ClusterRecord | null;
  readonly now: Date;
}

async function accept(tx: Transaction, locked: Locked, accepted: Acceptance): ReturnType<ClusterTransaction['accept']> {
  const { caller, name, current, now } = locked;
  const teamId = caller.team.id;
  const { released, claimed } = accepted.claims;
  const clusterId = await writeCluster(tx, locked, accepted);
  await releaseServers(tx, { teamId, now }, released);
  if (accepted.effect.kind === 'declare') {
    await writePools(tx, { teamId, clusterId, now }, current?.spec.nodePools ?? [], accepted.effect);
  }
  await claimServers(tx, { teamId, clusterId, now }, claimed);
  await endOpenOperations(tx, { teamId, clusterId, now }, 'superseded');
  const { operationId, operation: kind, generation, desiredHash, isDraft, action, detail } = accepted;
  const operation = await tx.operation.create({
    data: {
      ...{ id: operationId, teamId, kind, targetKind: 'Cluster', targetId: clusterId, targetName: name, generation },
      ...{ desiredHash, createdAt: now, updatedAt: now },
      ...(isDraft ? { state: 'succeeded', progress: 100, finishedAt: now } : { state: 'queued' }),
    },
  });
  const target = { kind: 'Cluster', id: clusterId, name };
  await recordAudit(tx, caller, { action, target, detail: { ...detail, operationId, generation } });
  const cluster = (await findCluster(tx, teamId, name)) as ClusterRecord;
  return { cluster, operation: operationOf(operation) };
}

/** `dueAt` is the outbox: whoever looks for work finds the cluster by it, even when no wake-up arrives. */
async function writeCluster(
  tx: Transaction,
  { caller, name, current, now }: Locked,
  { generation, desiredHash, isDraft, effect }: Acceptance,
): Promise<string> {
  const teamId = caller.team.id;
  const change = { generation, desiredHash, dueAt: isDraft ? null : now, updatedAt: now, ...columnsOf(effect, now) };
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
      return { deletionRequestedAt: now, phase: 'Deleting' };
  }
}

function declaredColumns({ spec: { nodePools: _, ...spec }, shown }: Extract<Effect, { kind: 'declare' }>) {
  const { phase, conditions } = shown ?? {};
  return {
    spec: { ...spec, network: { ...spec.network } },
    ...(phase === undefined ? {} : { phase }),
    ...(conditions === undefined ? {} : { conditions: conditions.map((condition) => ({ ...condition })) }),
  };
}

/** A pool that stays keeps its row, and with it the name that it has on the garden. */
async function writePools(
  tx: Transaction,
  { teamId, clusterId, now }: { teamId: string; clusterId: string; now: Date },
  present: readonly NodePoolSpec[],
  { spec: { nodePools: desired }, priorities }: Extract<Effect, { kind: 'declare' }>,
): Promise<void> {
  const kept = new Set(desired.map(({ name }) => name));
  const gone = present.filter(({ name }) => !kept.has(name)).map(({ name }) => name);
  if (gone.length > 0) await tx.nodePool.deleteMany({ where: { teamId, clusterId, name: { in: gone } } });
  for (const [position, { name, publicIP, image, ...pool }] of desired.entries()) {
    const columns = {
      ...pool,
      image: { ...image } as Record<string, string>,
      publicIp: publicIP,
      autoscalerPriority: priorities.get(name) ?? 0,
      position,
      updatedAt: now,
    };
    await tx.nodePool.upsert({
      where: { clusterId_name: { clusterId, name } },
      create: { ...columns, teamId, clusterId, name, createdAt: now },
      update: columns,
      select: { id: true },
    });
  }
}

async function endOpenOperations(
  tx: Transaction,
  { teamId, clusterId, now }: { teamId: string; clusterId: string; now: Date },
  state: 'superseded' | 'cancelled',
): Promise<void> {
  await tx.operation.updateMany({
    where: { teamId, targetId: clusterId, state: { in: ['queued', 'running'] } },
    data: { state, updatedAt: now, finishedAt: now },
  });
}

async function removeDraft(
  tx: Transaction,
  { caller, current, now }: { caller: Caller; current: ClusterRecord; now: Date },
  claims: Claims,
): Promise<void> {
  const { id: clusterId, name } = current;
  const teamId = caller.team.id;
  await endOpenOperations(tx, { teamId, clusterId, now }, 'cancelled');
  await releaseServers(tx, { teamId, now }, claims.released);
  await tx.cluster.delete({ where: { id: clusterId, teamId }, select: { id: true } });
  const target = { kind: 'Cluster', id: clusterId, name };
  await recordAudit(tx, caller, { action: 'cluster.delete', target, detail: { draft: true, ...claimsDetail(claims) } });
}
