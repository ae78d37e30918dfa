import {
  type ServerSpecRow,
  type ServerStateRow,
  selectOf,
  serverColumns,
  serverSpecOf,
  serverStateOf,
} from '@corral/cluster-data';
import { asClusterId, type TeamId } from '@corral/contracts';
import { sqlText, type Transaction } from '@corral/database';
import type { PoolServer } from './claim-servers.js';

/**
 * Reads the servers that the team adopted over a connection, in the order of their numbers.
 *
 * @param isLocked until the transaction ends, because passes write them too. Lock order: team, cluster, then servers by id. Only the
 *   team's changes write which pool holds a server, so the joined columns cannot be older than the team's lock
 */
export async function readServers(
  db: Transaction,
  teamId: TeamId,
  connectionRef: string,
  isLocked: boolean,
): Promise<PoolServer[]> {
  const rows = await db.$queryRaw<Row[]>`
    SELECT ${sqlText(selectOf('server', { ...serverColumns.spec, ...serverColumns.state }))},
           cluster.id AS "clusterId", cluster.name AS cluster, pool.name AS "nodePool"
    FROM adopted_server AS server
      LEFT JOIN node_pool AS pool ON pool.id = server.node_pool_id
      LEFT JOIN cluster ON cluster.id = pool.cluster_id
    WHERE server.team_id = ${teamId}::uuid
      AND server.connection_id = (SELECT id FROM connection WHERE team_id = ${teamId}::uuid AND ref = ${connectionRef})
    ORDER BY server.id ${sqlText(isLocked ? 'FOR UPDATE OF server' : '')}`;
  return rows.map(poolServerOf).toSorted((one, other) => one.serverId - other.serverId);
}

interface Row extends ServerSpecRow, ServerStateRow {
  /** Null, like the next two, when no pool holds the server. */
  readonly clusterId: string | null;
  readonly cluster: string | null;
  readonly nodePool: string | null;
}

function poolServerOf(row: Row): PoolServer {
  const { serverID: serverId, serverKind: kind, serverType } = serverSpecOf(row);
  const { id, phase, nodeName, deregisterRequestedAt } = serverStateOf(row);
  return {
    id,
    serverId,
    kind,
    serverType,
    phase,
    claimedBy: claimOf(row),
    mayBeNode: nodeName !== null,
    isDeregistering: deregisterRequestedAt !== null,
  };
}

function claimOf({ clusterId, cluster, nodePool }: Row): PoolServer['claimedBy'] {
  if (clusterId === null || cluster === null || nodePool === null) return null;
  return { clusterId: asClusterId(clusterId), cluster, nodePool };
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
