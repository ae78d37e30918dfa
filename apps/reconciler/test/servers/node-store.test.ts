import type { ServerId } from '@corral/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { dueStore } from '../../src/garden/due-store.js';
import type { PassLease } from '../../src/loop/leases.js';
import { leaseStore } from '../../src/loop/leases.js';
import type { Verdict, WantedServer } from '../../src/servers/model.js';
import { type ServerStore, serverStore } from '../../src/servers/store.js';
import { resting } from '../../src/servers/verdicts.js';
import { serverTable } from '../../src/servers/workers.js';
import { addNodeCluster, claim, hibernate, type NodeTestCluster } from '../support/node-clusters.js';
import { type Servers, startServers } from '../support/start-servers.js';

let at: Servers;
let store: ServerStore;
let cluster: NodeTestCluster;
let id: ServerId;
let lease: PassLease<ServerId>;
beforeAll(async () => {
  at = await startServers();
  store = serverStore(at.pool);
});
afterAll(() => at.close());
beforeEach(async () => {
  cluster = await addNodeCluster(at);
  ({ id } = await at.acknowledge());
  await at.pool.query(`UPDATE adopted_server SET phase = 'Ready', node_pool_id = $2 WHERE id = $1`, [
    id,
    cluster.poolId,
  ]);
  lease = await turn();
});

async function turn(): Promise<PassLease<ServerId>> {
  await at.pool.query(
    "UPDATE adopted_server SET due_at = clock_timestamp() - interval '1 s', lease_until = NULL WHERE id = $1",
    [id],
  );
  const answer = await leaseStore(at.pool, serverTable).takeLease(id, 60_000);
  if (answer.kind !== 'taken') throw new Error(`The turn was not taken: ${answer.kind}`);
  return answer.lease;
}
const read = async (): Promise<WantedServer> => {
  const found = await store.read(lease);
  if (found === null) throw new Error('The turn is over.');
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
  const markedWithin = async (ms: number) =>
    (await dueStore(at.pool).makeWaitingServersDue(ms)).filter((woken) => woken.id === id);

  it('makes servers due whose cluster did not answer', async () => {
    await endedWith(3);

    const [woken] = await markedWithin(2_000);

    expect(woken?.inMs).toBeLessThan(2_000);
    const { rows } = await at.pool.query(
      `SELECT due_at < clock_timestamp() + interval '2 s' AS soon FROM adopted_server WHERE id = $1`,
      [id],
    );
    expect(rows).toEqual([{ soon: true }]);
  });

  it('does not affect servers without failures or without a claim', async () => {
    await endedWith(0);
    expect(await markedWithin(2_000)).toEqual([]);

    await endedWith(3);
    await at.pool.query('UPDATE adopted_server SET node_pool_id = NULL WHERE id = $1', [id]);
    expect(await markedWithin(2_000)).toEqual([]);
  });
});

describe('the cluster data of a pass', () => {
  it('contains the claim with its pool, and the membership', async () => {
    expect(await read()).toMatchObject({
      claim: {
        poolId: cluster.poolId,
        poolName: 'metal',
        cluster: {
          id: cluster.id,
          shoot: { namespace: `garden-${cluster.team.slug}`, name: cluster.shootName },
          isDeleting: false,
          isHibernated: false,
          canTakeNodes: true,
        },
      },
      currentCluster: null,
      nodeName: null,
      purpose: 'adopt',
    });

    await join(await read());

    expect(await read()).toMatchObject({ currentCluster: { id: cluster.id }, nodeName: 'web', purpose: 'join' });
  });

  it.each<[string, () => Promise<unknown>]>([
    ['is not started', () => at.pool.query('UPDATE cluster SET started_at = NULL WHERE id = $1', [cluster.id])],
    ['is being deleted', () => at.requestDeletion(cluster)],
    ['is hibernated', () => hibernate(at, cluster, true)],
    ['has no Shoot', () => at.pool.query('UPDATE cluster SET shoot_uid = NULL WHERE id = $1', [cluster.id])],
    ['has no conditions', () => at.pool.query("UPDATE cluster SET conditions = '[]' WHERE id = $1", [cluster.id])],
    [
      'is not up',
      () =>
        at.pool.query(`UPDATE cluster SET conditions = jsonb_set(conditions, '{0,status}', '"False"') WHERE id = $1`, [
          cluster.id,
        ]),
    ],
    [
      'has no managed pool',
      () =>
        at.pool.query("UPDATE node_pool SET maximum = 0 WHERE cluster_id = $1 AND source = 'managed'", [cluster.id]),
    ],
    [
      'has no namespace in the garden',
      () => at.pool.query('UPDATE team SET project_namespace = NULL WHERE id = $1', [at.team.id]),
    ],
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
    ['another pass has its lease', () => turn()],
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

  it('records whether the node is ready, and keeps the value when it was not read', async () => {
    await join(await read());
    const joined = resting('Joined', '', { to: 'stay' });
    await store.recordPass(lease, await read(), { ...joined, nodeReady: true }, noReport);
    expect(await at.server(id)).toMatchObject({ phase: 'Joined', node_ready: true, operation: { state: 'queued' } });

    lease = await turn();
    await store.recordPass(lease, await read(), joined, noReport);

    expect(await at.server(id)).toMatchObject({ node_ready: true });
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
