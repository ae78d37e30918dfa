import type { ServerKind, ServerPhase } from '@corral/contracts';
import type { Claim, PoolServer } from '../domain/claim-servers.js';
import type { Transaction } from './team-changes.js';

/**
 * The servers that the team has adopted over a connection. They are held until the transaction ends, as passes write them
 * too; they come after team and cluster, in the order of their ids.
 */
export async function lockServers(tx: Transaction, teamId: string, connectionRef: string): Promise<PoolServer[]> {
  await tx.$queryRaw`
    SELECT FROM adopted_server
    WHERE team_id = ${teamId}::uuid
      AND connection_id = (SELECT id FROM connection WHERE team_id = ${teamId}::uuid AND ref = ${connectionRef})
    ORDER BY id FOR UPDATE`;
  // Read once the locks are held: what a locking statement itself returns may be older than its lock.
  const rows = await tx.adoptedServer.findMany({
    where: { teamId, connection: { ref: connectionRef } },
    select: claimable,
    orderBy: { serverId: 'asc' },
  });
  return rows.map(poolServerOf);
}

const claimable = {
  ...{ id: true, serverId: true, serverKind: true, serverType: true, phase: true, nodeName: true },
  deregisterRequestedAt: true,
  nodePool: { select: { name: true, cluster: { select: { id: true, name: true } } } },
} as const;

type Row = Awaited<ReturnType<typeof readRow>>;
const readRow = (tx: Transaction, id: string) =>
  tx.adoptedServer.findUniqueOrThrow({ where: { id }, select: claimable });

function poolServerOf({ id, serverId, serverKind, serverType, phase, nodeName, ...row }: Row): PoolServer {
  const { nodePool, deregisterRequestedAt } = row;
  return {
    ...{ id, serverId: Number(serverId), kind: serverKind as ServerKind, serverType, phase: phase as ServerPhase },
    claimedBy: nodePool && {
      clusterId: nodePool.cluster.id,
      cluster: nodePool.cluster.name,
      nodePool: nodePool.name,
    },
    isMember: nodeName !== null,
    isDeregistering: deregisterRequestedAt !== null,
  };
}

/** Comes before their pools go, which wait for nobody's claims. */
export async function releaseServers(
  tx: Transaction,
  { teamId, now }: { readonly teamId: string; readonly now: Date },
  servers: readonly PoolServer[],
): Promise<void> {
  if (servers.length === 0) return;
  await tx.adoptedServer.updateMany({
    where: { teamId, id: { in: servers.map(({ id }) => id) } },
    data: { nodePoolId: null, dueAt: now, updatedAt: now },
  });
}

/** Comes once their pools are there. */
export async function claimServers(
  tx: Transaction,
  { teamId, clusterId, now }: { readonly teamId: string; readonly clusterId: string; readonly now: Date },
  claims: readonly Claim[],
): Promise<void> {
  for (const name of new Set(claims.map(({ nodePool }) => nodePool))) {
    const pool = await tx.nodePool.findUniqueOrThrow({
      where: { clusterId_name: { clusterId, name }, teamId },
      select: { id: true },
    });
    const ids = claims.filter(({ nodePool }) => nodePool === name).map(({ server }) => server.id);
    await tx.adoptedServer.updateMany({
      where: { teamId, id: { in: ids } },
      data: { nodePoolId: pool.id, dueAt: now, updatedAt: now },
    });
  }
}
