import type { ServerKind, ServerPhase } from '@corral/contracts';
import type { PoolServer } from '../domain/claim-servers.js';
import type { Transaction } from './team-changes.js';

/**
 * The servers that the team has adopted over a connection. They are held until the transaction ends, as passes write them
 * too; they come after team and cluster, in the order of their ids. Which pool holds them only changes of the team write,
 * so what is joined here cannot be older than the locks.
 */
export async function lockServers(tx: Transaction, teamId: string, connectionRef: string): Promise<PoolServer[]> {
  const rows = await tx.$queryRaw<Row[]>`
    SELECT server.id, server.server_id AS "serverId", server.server_kind AS "serverKind",
           server.server_type AS "serverType", server.phase, server.node_name AS "nodeName",
           server.deregister_requested_at AS "deregisterRequestedAt",
           cluster.id AS "clusterId", cluster.name AS cluster, pool.name AS "nodePool"
    FROM adopted_server AS server
      LEFT JOIN node_pool AS pool ON pool.id = server.node_pool_id
      LEFT JOIN cluster ON cluster.id = pool.cluster_id
    WHERE server.team_id = ${teamId}::uuid
      AND server.connection_id = (SELECT id FROM connection WHERE team_id = ${teamId}::uuid AND ref = ${connectionRef})
    ORDER BY server.id FOR UPDATE OF server`;
  return rows.map(poolServerOf).toSorted((one, other) => one.serverId - other.serverId);
}

interface Row {
  readonly id: string;
  readonly serverId: bigint;
  readonly serverKind: ServerKind;
  readonly serverType: string;
  readonly phase: ServerPhase;
  readonly nodeName: string | null;
  readonly deregisterRequestedAt: Date | null;
  /** All three, or none for one that no pool holds. */
  readonly clusterId: string | null;
  readonly cluster: string | null;
  readonly nodePool: string | null;
}

function poolServerOf({ id, serverId, serverKind, serverType, phase, ...row }: Row): PoolServer {
  const { clusterId, cluster, nodePool } = row;
  const isClaimed = clusterId !== null && cluster !== null && nodePool !== null;
  return {
    ...{ id, serverId: Number(serverId), kind: serverKind, serverType, phase },
    claimedBy: isClaimed ? { clusterId, cluster, nodePool } : null,
    isMember: row.nodeName !== null,
    isDeregistering: row.deregisterRequestedAt !== null,
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
