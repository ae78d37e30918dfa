import type { ServerId } from '@corral/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { leaseStore, type PassLease, serverTable } from '../../src/loop/lease.js';
import { resting } from '../../src/servers/judge.js';
import type { Verdict, WantedServer } from '../../src/servers/model.js';
import { type ServerStore, serverStore } from '../../src/servers/store.js';
import { nodePatch } from '../support/a-server.js';
import { shootIn } from '../support/fake-shoots.js';
import { addNodeCluster, claim, hibernate, type NodeTestCluster } from '../support/node-clusters.js';
import { PROJECT_TOKEN, type Servers, startServers } from '../support/start-servers.js';

let at: Servers;
beforeAll(async () => {
  at = await startServers();
});
afterAll(() => at.close());

describe('nodes', () => {
  let cluster: NodeTestCluster;
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
      expect(at.atProvider(serverId)).toMatchObject({
        rebuilds: 3,
        userData: expect.stringMatching(/^#cloud-config\n/),
      });
      expect(shootIn(at.atProvider(serverId).userData)).toBeNull();
    });

    it('waits while the cluster does not answer', async () => {
      const { id, serverId } = await joined(`patient-${cluster.shootName}`);
      cluster.shoot.isUp = false;
      await claim(at, id, null);
      await at.passNow(id);
      expect(await at.server(id)).toMatchObject({ phase: 'Leaving', message: expect.stringContaining('cluster') });
      expect(at.atProvider(serverId).rebuilds).toBe(2);

      cluster.shoot.isUp = true;

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
  });
});

describe('node store', () => {
  let store: ServerStore;
  let cluster: NodeTestCluster;
  let id: ServerId;
  let lease: PassLease<ServerId>;
  beforeAll(async () => {
    store = serverStore(at);
  });
  beforeEach(async () => {
    cluster = await addNodeCluster(at);
    ({ id } = await at.acknowledge());
    await at.pool.query(`UPDATE adopted_server SET phase = 'Ready', node_pool_id = $2 WHERE id = $1`, [
      id,
      cluster.poolId,
    ]);
    lease = await takeLease();
  });

  async function takeLease(): Promise<PassLease<ServerId>> {
    await at.pool.query(
      "UPDATE adopted_server SET due_at = clock_timestamp() - interval '1 s', lease_until = NULL WHERE id = $1",
      [id],
    );
    const answer = await leaseStore(at.pool, serverTable).takeLease(id, 60_000);
    if (answer.kind !== 'taken') throw new Error(`The lease was not taken: ${answer.kind}`);
    return answer.lease;
  }
  const read = async (): Promise<WantedServer> => {
    const found = await store.read(lease);
    if (found === null) throw new Error('The lease is over.');
    return found.wanted;
  };
  const join = async (wanted: WantedServer) =>
    store.beginJoin(lease, wanted, { cluster: { id: cluster.id }, nodeName: 'web' });

  const noReport = { name: null, waiting: null };

  describe('the return of the garden', () => {
    const endedWith = (failures: number) =>
      at.pool.query(
        `UPDATE adopted_server SET failures = $2, lease_until = NULL, due_at = clock_timestamp() + interval '1 minute'
       WHERE id = $1`,
        [id, failures],
      );
    const woken = async () => (await leaseStore(at.pool, serverTable).makeWaitingDue()).filter((each) => each === id);

    it('makes servers due whose cluster did not answer', async () => {
      await endedWith(3);

      expect(await woken()).toEqual([id]);

      const { rows } = await at.pool.query(
        'SELECT due_at <= clock_timestamp() AS is_due FROM adopted_server WHERE id = $1',
        [id],
      );
      expect(rows).toEqual([{ is_due: true }]);
    });

    it('does not affect servers without failures or without a claim', async () => {
      await endedWith(0);
      expect(await woken()).toEqual([]);

      await endedWith(3);
      await at.pool.query('UPDATE adopted_server SET node_pool_id = NULL WHERE id = $1', [id]);
      expect(await woken()).toEqual([]);
    });
  });

  describe('the cluster data of a pass', () => {
    it.each<[string, () => Promise<unknown>]>([
      ['is not started', () => at.pool.query('UPDATE cluster SET started_at = NULL WHERE id = $1', [cluster.id])],
      ['is being deleted', () => at.requestDeletion(cluster)],
      ['is hibernated', () => hibernate(at, cluster, true)],
    ])('reports that a cluster cannot take nodes when it %s', async (_what, change) => {
      await change();
      expect((await read()).claim?.cluster.canTakeNodes).toBe(false);
    });

    it('contains nothing of another team', async () => {
      const theirs = await addNodeCluster(at, await at.addTeam());
      await at.pool.query('UPDATE adopted_server SET node_pool_id = $2, member_of_id = $3 WHERE id = $1', [
        id,
        theirs.poolId,
        theirs.id,
      ]);

      expect(await read()).toMatchObject({ claim: null, currentCluster: null });
    });
  });

  describe('the start of joining and leaving', () => {
    it('is a new generation with none of the previous state', async () => {
      await at.pool.query(
        `UPDATE adopted_server SET image = '7', rebuild_asked_at = now(), rebuild_action_id = 3, failures = 4,
              message = 'Old.', begun_at = now() - interval '1 day' WHERE id = $1`,
        [id],
      );

      expect(await join(await read())).toBe(true);

      expect(await read()).toMatchObject({
        generation: 2,
        phase: 'Joining',
        message: '',
        imageId: null,
        rebuildAskedAt: null,
        rebuildActionId: null,
        failures: 0,
      });
      expect(Date.now() - (await read()).begunAt.getTime()).toBeLessThan(60_000);

      expect(await store.beginLeave(lease, await read())).toBe(true);
      expect(await read()).toMatchObject({
        generation: 3,
        phase: 'Leaving',
        purpose: 'leave',
        nodeName: 'web',
        currentCluster: { id: cluster.id },
      });
    });

    it.each<[string, () => Promise<unknown>]>([
      ['the claim is gone', () => claim(at, id, null)],
      ['the claim has moved', async () => claim(at, id, (await addNodeCluster(at)).poolId)],
      [
        'it is to be deregistered',
        () => at.pool.query('UPDATE adopted_server SET deregister_requested_at = now() WHERE id = $1', [id]),
      ],
      [
        'it was acknowledged again',
        () => at.pool.query('UPDATE adopted_server SET generation = generation + 1 WHERE id = $1', [id]),
      ],
      ['another pass has its lease', () => takeLease()],
    ])('writes nothing when %s after the read', async (_what, change) => {
      const wanted = await read();
      await change();

      expect(await join(wanted)).toBe(false);
      expect(await store.beginLeave(lease, wanted)).toBe(false);

      expect(await at.server(id)).toMatchObject({ phase: 'Ready', node_name: null, member_of_id: null });
    });

    it('records no rebuild request with join data once the claim is gone', async () => {
      await join(await read());
      const wanted = await read();
      await claim(at, id, null);
      const ask = { askedAt: new Date(), imageId: 7 };

      expect(await store.recordRequest(lease, wanted, ask)).toBe(false);

      await store.beginLeave(lease, await read());
      expect(await store.recordRequest(lease, await read(), ask)).toBe(true);
      expect(await read()).toMatchObject({ phase: 'Leaving' });
    });
  });

  describe('the record of a pass', () => {
    it('ends the membership in the same statement as it becomes Ready', async () => {
      await join(await read());
      await at.pool.query('UPDATE adopted_server SET node_ready = true WHERE id = $1', [id]);
      const left = { ...resting('Ready', '', { to: 'stay' }), hasLeftCluster: true };

      await store.recordPass(lease, await read(), left, noReport);

      expect(await at.server(id)).toMatchObject({
        phase: 'Ready',
        node_name: null,
        member_of_id: null,
        node_ready: false,
      });
    });

    it('keeps the membership of a server that started a new generation meanwhile', async () => {
      await join(await read());
      const wanted = await read();
      await at.pool.query('UPDATE adopted_server SET generation = generation + 1 WHERE id = $1', [id]);
      const left = { ...resting('Ready', '', { to: 'stay' }), hasLeftCluster: true };

      await store.recordPass(lease, wanted, left, noReport);

      expect(await at.server(id)).toMatchObject({ phase: 'Joining', node_name: 'web', member_of_id: cluster.id });
    });

    it.each<[string, boolean, Partial<Verdict>, boolean]>([
      ['when its node has become ready', false, { nodeReady: true }, true],
      ['when its node is no longer ready', true, { nodeReady: false }, true],
      ['when it is no longer a node', false, { hasLeftCluster: true }, true],
      ['but not when nothing has changed', true, { nodeReady: true }, false],
      ['but not when the node was not read', true, { nodeReady: null }, false],
    ])('requests a node count of the cluster %s', async (_what, wasReady, verdict, isDue) => {
      await join(await read());
      await at.pool.query('UPDATE adopted_server SET node_ready = $2 WHERE id = $1', [id, wasReady]);

      await store.recordPass(
        lease,
        await read(),
        { ...resting('Joined', '', { to: 'stay' }), ...verdict },
        { name: null, waiting: null },
      );

      const { rows } = await at.pool.query('SELECT nodes_due_at FROM cluster WHERE id = $1', [cluster.id]);
      expect(rows[0].nodes_due_at !== null).toBe(isDue);
    });
  });
});
