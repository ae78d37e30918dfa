import { lockServersOf, prismaSelect, serverColumns, serverSpecOf, serverStateOf } from '@corral/cluster-data';
import { asClusterId, asConnectionId, type TeamId } from '@corral/contracts';
import type { Transaction } from '@corral/database';
import type { PoolServer } from './claim-servers.js';

/**
 * Reads the servers that the team adopted over a connection, in the order of their numbers.
 *
 * @param isLocked until the transaction ends, because passes write them too. Lock order: team, cluster, then servers by id
 */
export async function readServers(
  db: Transaction,
  teamId: TeamId,
  connectionRef: string,
  isLocked: boolean,
): Promise<PoolServer[]> {
  const where = { teamId_ref: { teamId, ref: connectionRef } };
  const connection = await db.connection.findUnique({ where, select: { id: true } });
  if (connection === null) return [];
  const connectionId = asConnectionId(connection.id);
  if (isLocked) await lockServersOf(db, teamId, connectionId);
  const rows = await db.adoptedServer.findMany({
    where: { teamId, connectionId },
    orderBy: { serverId: 'asc' },
    select: {
      ...prismaSelect({ ...serverColumns.spec, ...serverColumns.state }),
      nodePool: { select: { name: true, cluster: { select: { id: true, name: true } } } },
    },
  });
  return rows.map(({ nodePool: pool, ...row }) => {
    const { serverID: serverId, serverKind: kind, serverType } = serverSpecOf(row);
    const { id, phase, nodeName, deregisterRequestedAt } = serverStateOf(row);
    const claimedBy = pool && {
      clusterId: asClusterId(pool.cluster.id),
      cluster: pool.cluster.name,
      nodePool: pool.name,
    };
    const isDeregistering = deregisterRequestedAt !== null;
    return { id, serverId, kind, serverType, phase, claimedBy, mayBeNode: nodeName !== null, isDeregistering };
  });
}

/** Must run before the pools are deleted: servers refer to them (ON DELETE RESTRICT). */
export async function releaseServers(
  tx: Transaction,
  { teamId, now }: { readonly teamId: TeamId; readonly now: Date },
  servers: readonly PoolServer[],
): Promise<void> {
  if (servers.length === 0) return;
  await tx.adoptedServer.updateMany({
    where: { teamId, id: { in: servers.map(({ id }) => id) } },
    data: { nodePoolId: null, dueAt: now, updatedAt: now },
  });
}
