import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { nodePatch } from '../support/a-server.js';
import { shootIn } from '../support/fake-shoots.js';
import { addNodeCluster, claim, hibernate, type NodeTestCluster } from '../support/node-clusters.js';
import { OTHER_TOKEN, PROJECT_TOKEN, type Servers, startServers } from '../support/start-servers.js';

let at: Servers;
let cluster: NodeTestCluster;
beforeAll(async () => {
  at = await startServers();
});
afterAll(() => at.close());
beforeEach(async () => {
  at.cloud.admin.clearFaults();
  await at.useToken(PROJECT_TOKEN);
  cluster = await addNodeCluster(at);
});

const adopted = async (name: string) => {
  const made = await at.acknowledge({ name });
  await at.untilIdle(made.id);
  return made;
};
const joined = async (name: string) => {
  const made = await adopted(name);
  await claim(at, made.id, cluster.poolId);
  await at.untilIdle(made.id);
  return made;
};
const begunAgo = (id: string, interval: string) =>
  at.pool.query('UPDATE adopted_server SET begun_at = now() - $2::interval WHERE id = $1', [id, interval]);
const unseenFor = (id: string, interval: string) =>
  at.pool.query('UPDATE adopted_server SET observed_at = now() - $2::interval WHERE id = $1', [id, interval]);
const dueInMs = async (id: string): Promise<number> =>
  (
    await at.pool.query(
      'SELECT (extract(epoch FROM due_at - clock_timestamp()) * 1000)::float8 AS ms FROM adopted_server WHERE id = $1',
      [id],
    )
  ).rows[0].ms;

describe('a server claimed by a pool', () => {
  it('joins the cluster with one rebuild and a marked node', async () => {
    const { id, serverId } = await adopted('Web-1');
    const before = (await at.server(id))?.operation;
    await claim(at, id, cluster.poolId);

    const row = await at.untilIdle(id);

    expect(row).toMatchObject({
      phase: 'Joined',
      message: '',
      purpose: 'join',
      generation: 2,
      node_name: 'web-1',
      node_ready: true,
      member_of_id: cluster.id,
      operation: before,
    });
    expect(at.atProvider(serverId)).toMatchObject({ rebuilds: 2, labels: { 'corral.dev/claim': row?.claim_token } });
    expect(shootIn(at.atProvider(serverId).userData)).toBe(cluster.shootName);
    expect(cluster.shoot.nodes.get('web-1')).toMatchObject({ isReady: true, isUnschedulable: false, ...nodePatch });
    expect(await dueInMs(id)).toBeGreaterThan(50_000);
    expect(await dueInMs(id)).toBeLessThanOrEqual(60_000);
  });

  it('stores join data only at the provider', async () => {
    const { id, serverId } = await joined('secretive');

    const { rows } = await at.pool.query(
      'SELECT s.*, a.detail, a.action FROM adopted_server s JOIN audit_entry a ON a.target_id = s.id WHERE s.id = $1',
      [id],
    );

    expect(at.atProvider(serverId).userData).toContain('abcdef.0123456789abcdef');
    expect(JSON.stringify(rows)).not.toContain('0123456789abcdef');
    expect(rows.map(({ detail }) => detail.purpose)).toEqual(['adopt', 'join']);
  });

  it('waits for a hibernated cluster, and joins when it is resumed', async () => {
    await hibernate(at, cluster, true);
    const { id, serverId } = await adopted('early');
    await claim(at, id, cluster.poolId);
    await at.passNow(id);

    expect(await at.server(id)).toMatchObject({
      phase: 'Ready',
      message: expect.stringContaining('hibernated'),
      node_name: null,
    });
    expect(await dueInMs(id)).toBeLessThanOrEqual(15_000);
    expect(at.atProvider(serverId).rebuilds).toBe(1);

    await hibernate(at, cluster, false);
    expect(await at.untilIdle(id)).toMatchObject({ phase: 'Joined' });
  });

  it('does not request a second rebuild after a lost response', async () => {
    const { id, serverId } = await adopted('lost');
    await claim(at, id, cluster.poolId);
    at.breakRebuild(serverId, { reset: 'after' });

    expect(await at.untilIdle(id)).toMatchObject({ phase: 'Joined' });

    expect(at.atProvider(serverId).rebuilds).toBe(2);
  });

  it('waits while the cluster has no pool to take the configuration from', async () => {
    cluster.shoot.hasWorkerPool = false;
    const { id, serverId } = await adopted('poolless');
    await claim(at, id, cluster.poolId);
    await at.passNow(id);

    expect(await at.server(id)).toMatchObject({
      phase: 'Joining',
      message: expect.stringContaining('no managed pool'),
      rebuild_asked_at: null,
    });
    expect(at.atProvider(serverId).rebuilds).toBe(1);

    cluster.shoot.hasWorkerPool = true;
    expect(await at.untilIdle(id)).toMatchObject({ phase: 'Joined' });
  });

  it('fails when it is protected, and leaves when it is released', async () => {
    const { id, serverId } = await adopted('protected');
    at.cloud.admin.changeServer(serverId, { protection: { delete: true, rebuild: true } });
    await claim(at, id, cluster.poolId);

    expect(await at.untilIdle(id)).toMatchObject({
      phase: 'Failed',
      message: expect.stringContaining('(server_protected)'),
      due_at: null,
      operation: { state: 'succeeded' },
    });

    at.cloud.admin.changeServer(serverId, { protection: { delete: false, rebuild: false } });
    await claim(at, id, null);
    expect(await at.untilIdle(id)).toMatchObject({ phase: 'Ready', node_name: null, member_of_id: null });
  });

  it('fails when its node does not register, and leaves when it is released', async () => {
    const { id, serverId } = await adopted('late');
    await claim(at, id, cluster.poolId);
    await at.passNow(id);
    at.cloud.admin.advanceClock(20_000);
    await begunAgo(id, '31 minutes');
    await at.passNow(id);

    expect(await at.server(id)).toMatchObject({
      phase: 'Failed',
      message: expect.stringContaining('(server_join_timeout)'),
      member_of_id: cluster.id,
      due_at: null,
      operation: { state: 'succeeded' },
    });

    await claim(at, id, null);
    expect(await at.untilIdle(id)).toMatchObject({ phase: 'Ready', node_name: null });
    expect(at.atProvider(serverId).rebuilds).toBe(3);
  });

  it('finishes its rebuild before it leaves when it is released while joining', async () => {
    const { id, serverId } = await adopted('regretted');
    await claim(at, id, cluster.poolId);
    await at.passNow(id);
    await claim(at, id, null);
    await at.passNow(id);
    expect(await at.server(id)).toMatchObject({ phase: 'Joining' });
    expect(at.atProvider(serverId).rebuilds).toBe(2);

    expect(await at.untilIdle(id)).toMatchObject({ phase: 'Ready', generation: 3, member_of_id: null });

    expect(at.atProvider(serverId).rebuilds).toBe(3);
    expect(at.shoots.nodesNamed('regretted')).toEqual([]);
  });
});

describe('a server that is a node', () => {
  it('reports an unready node or an unreachable cluster, and recovers', async () => {
    const { id } = await joined('shaky');
    const node = cluster.shoot.nodes.get('shaky');
    if (node === undefined) throw new Error('There is no node.');
    node.isReady = false;
    await at.passNow(id);
    expect(await at.server(id)).toMatchObject({
      phase: 'Joined',
      node_ready: false,
      message: 'The node is not Ready.',
    });

    node.isReady = true;
    await at.passNow(id);
    expect(await at.server(id)).toMatchObject({ phase: 'Joined', node_ready: true, message: '' });

    cluster.shoot.isUp = false;
    await at.passNow(id);
    expect(await at.server(id)).toMatchObject({
      phase: 'Joined',
      node_ready: false,
      message: expect.stringContaining('does not answer'),
    });

    cluster.shoot.isUp = true;
    await at.passNow(id);
    expect(await at.server(id)).toMatchObject({ phase: 'Joined', node_ready: true, message: '' });
  });

  it('costs the project no call within a day of its last reading', async () => {
    const { id } = await joined('frugal');
    const { total } = at.cloud.admin.calls();

    await at.passNow(id);

    expect(at.cloud.admin.calls().total).toBe(total);
  });

  it('is Missing but a member when it is gone, and Joined when it is back', async () => {
    const { id } = await joined('moved');
    await unseenFor(id, '2 days');
    await at.useToken(OTHER_TOKEN);
    await at.passNow(id);
    expect(await at.server(id)).toMatchObject({ phase: 'Missing', node_ready: false, member_of_id: cluster.id });

    await at.useToken(PROJECT_TOKEN);
    await at.passNow(id);
    await at.passNow(id);

    expect(await at.server(id)).toMatchObject({ phase: 'Joined', node_ready: true, message: '' });
  });

  it('gets its claim label back, and keeps a foreign one', async () => {
    const { id, serverId } = await joined('unlabelled');
    at.cloud.admin.changeServer(serverId, { labels: { env: 'prod' } });
    await unseenFor(id, '2 days');
    await at.passNow(id);
    expect(at.atProvider(serverId).labels).toEqual({
      env: 'prod',
      'corral.dev/claim': (await at.server(id))?.claim_token,
    });

    at.cloud.admin.changeServer(serverId, { labels: { 'corral.dev/claim': 'theirs' } });
    await unseenFor(id, '2 days');
    await at.passNow(id);

    expect(at.atProvider(serverId).labels).toEqual({ 'corral.dev/claim': 'theirs' });
    expect(await at.server(id)).toMatchObject({ phase: 'Joined', message: expect.stringContaining('somebody else') });
  });
});

describe('a server released by its pool', () => {
  it('is drained, removed from the cluster and rebuilt clean', async () => {
    const { id, serverId } = await joined('leaving');
    await claim(at, id, null);
    await at.passNow(id);
    expect(await at.server(id)).toMatchObject({ phase: 'Leaving', member_of_id: cluster.id, node_ready: false });
    expect(cluster.shoot.nodes.get('leaving')).toMatchObject({ isUnschedulable: true, pods: 1 });
    expect(at.atProvider(serverId).rebuilds).toBe(2);

    const row = await at.untilIdle(id);

    expect(row).toMatchObject({
      phase: 'Ready',
      message: '',
      purpose: 'leave',
      generation: 3,
      member_of_id: null,
      node_name: null,
      operation: { state: 'succeeded' },
    });
    expect(cluster.shoot.nodes.size).toBe(0);
    expect(at.atProvider(serverId)).toMatchObject({ rebuilds: 3, userData: expect.stringMatching(/^#cloud-config\n/) });
    expect(shootIn(at.atProvider(serverId).userData)).toBeNull();
  });

  it('joins the next cluster that claims it', async () => {
    const { id } = await joined('nomad');
    const other = await addNodeCluster(at);
    await claim(at, id, other.poolId);

    for (let rounds = 0; rounds < 3; rounds += 1) await at.untilIdle(id);

    expect(await at.server(id)).toMatchObject({ phase: 'Joined', member_of_id: other.id, generation: 4 });
    expect(at.shoots.nodesNamed('nomad').map(({ shoot }) => shoot)).toEqual([other.shootName]);
  });

  it('waits for disruption budgets for a limited time', async () => {
    const { id, serverId } = await joined('budgeted');
    cluster.shoot.keepsPods = true;
    await claim(at, id, null);
    await at.passNow(id);
    await at.passNow(id);
    expect(await at.server(id)).toMatchObject({ phase: 'Leaving', message: expect.stringContaining('still on it: 2') });
    expect(at.atProvider(serverId).rebuilds).toBe(2);
    await begunAgo(id, '10 minutes');

    expect(await at.untilIdle(id)).toMatchObject({ phase: 'Ready' });

    expect(cluster.shoot.nodes.size).toBe(0);
  });

  it.each([
    ['is hibernated', (isOver: boolean) => hibernate(at, cluster, !isOver)],
    [
      'does not answer',
      async (isOver: boolean) => {
        cluster.shoot.isUp = isOver;
      },
    ],
  ])('waits while the cluster %s', async (_what, change) => {
    const { id, serverId } = await joined(`patient-${cluster.shootName}`);
    await change(false);
    await claim(at, id, null);
    await at.passNow(id);
    expect(await at.server(id)).toMatchObject({ phase: 'Leaving', message: expect.stringContaining('cluster') });
    expect(at.atProvider(serverId).rebuilds).toBe(2);

    await change(true);

    expect(await at.untilIdle(id)).toMatchObject({ phase: 'Ready' });
    expect(cluster.shoot.nodes.size).toBe(0);
  });

  it('is rebuilt without a drain when its cluster is being deleted or gone', async () => {
    const { id } = await joined('orphan');
    const { id: other } = await joined('orphan-too');
    cluster.shoot.isUp = false;
    await claim(at, id, null);
    await claim(at, other, null);
    await at.requestDeletion(cluster);

    expect(await at.untilIdle(id)).toMatchObject({ phase: 'Ready', node_name: null });

    await at.pool.query('DELETE FROM cluster WHERE id = $1', [cluster.id]);
    expect(await at.server(other)).toMatchObject({ phase: 'Joined', member_of_id: null, node_name: 'orphan-too' });
    expect(await at.untilIdle(other)).toMatchObject({ phase: 'Ready', node_name: null });
  });

  it('is Missing and no longer a node when it no longer exists', async () => {
    const { id, serverId } = await joined('vanished');
    at.cloud.admin.vanishServer(serverId);
    await claim(at, id, null);

    expect(await at.untilIdle(id)).toMatchObject({ phase: 'Missing', node_name: null, member_of_id: null });

    expect(cluster.shoot.nodes.size).toBe(0);
    await at.deregister(id);
    expect(await at.untilIdle(id)).toBeUndefined();
  });
});
