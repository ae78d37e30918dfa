import {
  asClusterId,
  asNodePoolId,
  asServerId,
  type ServerArchitecture,
  type ServerKind,
  type ServerPhase,
} from '@corral/contracts';
import { type Prisma, readClock, type Transaction } from '@corral/database';
import type { Caller } from '../changes/caller.js';
import { findOnGarden } from '../kubeconfigs/store.js';
import type { JoiningMachine, JoiningServer } from './rules.js';

/**
 * Restarts the wait for the machine and marks it as due.
 *
 * @returns false when the machine should no longer join this pool under this node name
 */
export async function expectMachine(
  prisma: Prisma,
  { team }: Caller,
  { id, nodePoolId, clusterId, nodeName }: JoiningMachine,
): Promise<boolean> {
  // The new generation invalidates a pass that has just deleted the tokens. It reads again and finds the new one.
  const where = { teamId: team.id, id, phase: 'Joining', nodePoolId, memberOfId: clusterId, nodeName };
  const now = await readClock(prisma);
  const { count } = await prisma.adoptedServer.updateMany({
    where: { ...where, deregisterRequestedAt: null },
    data: { generation: { increment: 1 }, begunAt: now, updatedAt: now, dueAt: now },
  });
  return count === 1;
}

/** Finds an adopted server with the pool that claims it, its cluster and the address of the Shoot. */
export async function findJoiningServer(
  tx: Transaction,
  caller: Caller,
  ref: string,
  serverId: number,
): Promise<JoiningServer | null> {
  const where = { teamId: caller.team.id, connection: { ref }, serverId };
  const row = await tx.adoptedServer.findFirst({
    where,
    include: { nodePool: { select: { id: true, cluster: { select: { name: true } } } } },
  });
  if (row === null) return null;
  const { message, memberOfId, nodeName, nodePool } = row;
  const claimOf = async (pool: NonNullable<typeof nodePool>): Promise<JoiningServer['claim']> => {
    const { cluster, shoot } = await findOnGarden(tx, caller, pool.cluster.name);
    return cluster && { nodePoolId: asNodePoolId(pool.id), cluster, shoot };
  };
  return {
    id: asServerId(row.id),
    serverId,
    message,
    nodeOfClusterId: memberOfId === null ? null : asClusterId(memberOfId),
    nodeName,
    kind: row.serverKind as ServerKind,
    architecture: row.architecture as ServerArchitecture,
    phase: row.phase as ServerPhase,
    claim: nodePool && (await claimOf(nodePool)),
  };
}
