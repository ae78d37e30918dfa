import type { ServerKind, ServerPhase } from '@corral/contracts';
import type { TestClusterApi, TestTeam } from './start-cluster-api.js';

export interface GivenServers {
  readonly ref?: string;
  readonly serverType?: string;
  readonly serverKind?: ServerKind;
  readonly phase?: ServerPhase;
}

let last = 100_000;

/** Inserts adopted servers of a connection. @returns their ids, ascending */
export async function givenServers(
  { db }: TestClusterApi,
  { id: teamId }: TestTeam,
  count: number,
  { ref = 'main', serverType = 'cx22', serverKind = 'cloud', phase = 'Ready' }: GivenServers = {},
): Promise<number[]> {
  const { id: connectionId } = await db.connection.findUniqueOrThrow({ where: { teamId_ref: { teamId, ref } } });
  const numbers = Array.from({ length: count }, () => {
    last += 1;
    return last;
  });
  await db.adoptedServer.createMany({
    data: numbers.map((serverId) => ({
      teamId,
      connectionId,
      serverId,
      serverType,
      location: 'hel1',
      architecture: 'amd64',
      serverKind,
      phase,
      name: `server-${serverId}`,
    })),
  });
  return numbers;
}

/** The ids of the servers that a pool claims, ascending. */
export async function claimsOf({ db }: TestClusterApi, team: TestTeam, cluster: string, pool = 'own') {
  const rows = await db.adoptedServer.findMany({
    where: { teamId: team.id, nodePool: { name: pool, cluster: { name: cluster } } },
    orderBy: { serverId: 'asc' },
  });
  return rows.map(({ serverId }) => Number(serverId));
}

/** Turns claimed servers into nodes of their cluster, as passes do. */
export async function join({ pool }: TestClusterApi, servers: readonly number[], isReady = true): Promise<void> {
  await pool.query(
    `UPDATE adopted_server
     SET phase = 'Joined', purpose = 'join', node_name = 'node-' || server_id, node_ready = $2, due_at = NULL,
         member_of_id = (SELECT cluster_id FROM node_pool WHERE id = node_pool_id)
     WHERE server_id = ANY($1)`,
    [servers, isReady],
  );
}
