import { asServerId, type ServerId } from '@corral/contracts';
import { renderJoinCommand } from '@corral/garden';
import { connectProjects } from '@corral/hcloud';
import { createMetrics, silentLog } from '@corral/service';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { buildServerWorkers, type ServerWorkers } from '../../src/servers/workers.js';
import type { TestCluster } from '../support/cluster-rows.js';
import { type Clusters, PROJECT_TOKEN, type Reconciler, startClusters } from '../support/start-clusters.js';
import { serverSettings } from '../support/start-servers.js';
import { untilEnded } from '../support/until.js';

let at: Clusters;
let reconciler: Reconciler;
let workers: ServerWorkers;
let cluster: TestCluster;
let poolId: string;
let server: { readonly id: ServerId; readonly serverId: number };
beforeAll(async () => {
  at = await startClusters({
    actionMs: 300,
    garden: { createMs: 400, reconcileMs: 250, deleteMs: 300, joinMs: 100 },
  });
  reconciler = await at.start();
  const { pool, prisma } = at;
  const metrics = createMetrics({ service: 'test' });
  workers = buildServerWorkers(
    { pool, prisma, queue: reconciler.queue, metrics, log: silentLog },
    {
      settings: serverSettings,
      keys: at.keys,
      nodes: at.garden.nodes,
      projects: connectProjects({ baseUrl: at.cloud.apiUrl, timeoutMs: 60_000 }),
    },
  );
  const { team, connectionId } = await at.addTeamWithConnection();
  cluster = await at.declare(team, connectionId);
  await reconciler.wake(cluster.id);
  await untilEnded(at, cluster.operationId);
  poolId = await idOf(
    `INSERT INTO node_pool (team_id, cluster_id, name, position, source, machine_type, image, minimum, maximum, public_ip)
     VALUES ($1, $2, 'metal', 1, 'pooled', 'cx22', '{}', 0, 1, true) RETURNING id`,
    [team.id, cluster.id],
  );
  const made = at.cloud.admin.addServer(PROJECT_TOKEN, { name: 'Metal-1' });
  const id = await idOf(
    `INSERT INTO adopted_server (team_id, connection_id, server_id, server_type, location, architecture, server_kind)
     VALUES ($1, $2, $3, $4, $5, 'amd64', 'cloud') RETURNING id`,
    [team.id, connectionId, made.id, made.serverType, made.location],
  );
  server = { id: asServerId(id), serverId: made.id };
});
afterAll(() => at?.close());

const idOf = async (sql: string, values: unknown[]): Promise<string> => (await at.pool.query(sql, values)).rows[0].id;
const rowOf = async (id: string) => (await at.pool.query('SELECT * FROM adopted_server WHERE id = $1', [id])).rows[0];
const claim = (id: string | null, of = server) =>
  at.pool.query('UPDATE adopted_server SET node_pool_id = $2 WHERE id = $1', [of.id, id]);
/** Runs passes as if they were always due. */
const until = (phase: string, { id } = server) =>
  waitFor(`the server to be ${phase}`, async () => {
    await at.pool.query("UPDATE adopted_server SET due_at = clock_timestamp() - interval '1 s' WHERE id = $1", [id]);
    await workers.pass(id, new AbortController().signal);
    const row = await rowOf(id);
    if (row.phase !== phase) throw new Error(JSON.stringify({ phase: row.phase, message: row.message }));
    return row;
  });
const shootOfIt = async (): Promise<{ namespace: string; name: string }> =>
  (
    await at.pool.query(
      `SELECT project_namespace AS namespace, shoot_name AS name FROM cluster JOIN team ON team.id = team_id
       WHERE cluster.id = $1`,
      [cluster.id],
    )
  ).rows[0];
const nodeOfIt = async (name = 'metal-1') => at.garden.nodes.readNode(await shootOfIt(), name);

const addressesOf = async (id: string) => {
  const { rows } = await at.pool.query(
    'SELECT address FROM team_address WHERE server_id = $1 AND gone_at IS NULL ORDER BY address',
    [id],
  );
  return rows.map(({ address }) => address);
};

describe('an adopted server in a garden', () => {
  it('becomes a node of a cluster, and is rebuilt clean when it is released', async () => {
    await until('Ready');
    expect(await addressesOf(server.id)).toEqual([
      expect.stringMatching(/^198\.1[89]\./),
      expect.stringMatching(/^2001:db8:.*::\/64$/),
    ]);
    at.cloud.admin.resetCalls();
    await claim(poolId);

    expect(await until('Joined')).toMatchObject({ message: '', node_name: 'metal-1', node_ready: true });

    const { byRoute } = at.cloud.admin.calls();
    const tokens = 'api/v1/namespaces/:namespace/secrets';
    expect(byRoute[`shoot POST /${tokens}`]).toBe(1);
    expect(byRoute[`shoot DELETE /${tokens}/:name`]).toBe(1);
    expect(await nodeOfIt()).toMatchObject({
      isReady: true,
      isUnschedulable: false,
      annotations: { 'node.machine.sapcloud.io/not-managed-by-mcm': '1' },
      labels: { 'corral.dev/pool': 'metal' },
    });
    await claim(null);

    expect(await until('Ready')).toMatchObject({ message: '', node_name: null, member_of_id: null });

    expect(await nodeOfIt()).toBeNull();
    const found = at.cloud.admin.servers().find(({ id }) => id === server.serverId);
    expect(found).toMatchObject({ rebuilds: 3, userData: expect.not.stringContaining('bootstrap-token') });
  });

  it('without a rebuild becomes a node by its join command, and must be wiped by its owner when it is released', async () => {
    const { team_id: team, connection_id: connection } = await rowOf(server.id);
    const id = await idOf(
      `INSERT INTO adopted_server (team_id, connection_id, server_id, server_type, location, architecture, server_kind)
       VALUES ($1, $2, 7, 'ax42', 'cellar', 'amd64', 'onprem') RETURNING id`,
      [team, connection],
    );
    const machine = { id: asServerId(id), serverId: 7 };
    await claim(poolId, machine);
    const { node_name: nodeName } = await until('Joining', machine);
    const request = { nodeName, architecture: 'amd64', tokenSeconds: 900 } as const;
    const join = await at.garden.nodes.joinData(await shootOfIt(), request);
    const run = () => at.cloud.admin.garden.runJoinCommand({ command: renderJoinCommand(join, nodeName) });

    expect(run()).toBe('onprem-7');

    expect(await until('Joined', machine)).toMatchObject({ node_ready: true, observed_at: null });
    expect(await nodeOfIt('onprem-7')).toMatchObject({ isReady: true, labels: { 'corral.dev/pool': 'metal' } });
    // The token was deleted after its use.
    expect(run).toThrow('turns the machine away');

    await claim(null, machine);

    expect(await until('Ready', machine)).toMatchObject({ message: expect.stringContaining('must wipe it') });
    expect(await nodeOfIt('onprem-7')).toBeNull();
  });
});
