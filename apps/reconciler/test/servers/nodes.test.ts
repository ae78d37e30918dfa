import type { ServerId } from '@corral/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { leaseStore, type PassLease, serverTable } from '../../src/loop/lease.js';
import type { WantedServer } from '../../src/servers/model.js';
import { type ServerStore, serverStore } from '../../src/servers/store.js';
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

  it('a server claimed by a pool stores join data only at the provider', async () => {
    const { id, serverId } = await joined('secretive');

    const { rows } = await at.pool.query(
      'SELECT s.*, a.detail, a.action FROM adopted_server s JOIN audit_entry a ON a.target_id = s.id WHERE s.id = $1',
      [id],
    );

    expect(at.atProvider(serverId).userData).toContain('abcdef.0123456789abcdef');
    expect(JSON.stringify(rows)).not.toContain('0123456789abcdef');
    expect(rows.map(({ detail }) => detail.purpose)).toEqual(['adopt', 'join']);
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

  it('a server released by its pool is rebuilt without a drain when its cluster is being deleted or gone', async () => {
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
});
