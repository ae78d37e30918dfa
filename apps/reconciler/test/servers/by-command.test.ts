import type { ServerId } from '@corral/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { nodePatch } from '../support/a-server.js';
import { addNodeCluster, claim, hibernate, type NodeTestCluster } from '../support/node-clusters.js';
import { type Servers, startServers } from '../support/start-servers.js';

let at: Servers;
let cluster: NodeTestCluster;
let id: ServerId;
let nodeName: string;
beforeAll(async () => {
  at = await startServers();
});
afterAll(() => at.close());
beforeEach(async () => {
  cluster = await addNodeCluster(at);
  ({ id, nodeName } = await at.acknowledgeMachine());
});

/** Enough passes for everything that needs no external action. */
const passes = async () => {
  for (let times = 0; times < 3; times += 1) await at.passNow(id);
  return at.server(id);
};
const claimed = async () => {
  await claim(at, id, cluster.poolId);
  return passes();
};
/** Registers the node like a machine that runs the command. */
const runCommand = () => at.shoots.register(cluster.shootName, nodeName);
const joined = async () => {
  await claimed();
  runCommand();
  return passes();
};
const audit = async () =>
  (await at.pool.query('SELECT action FROM audit_entry WHERE target_id = $1 ORDER BY id', [id])).rows.map(
    ({ action }) => action,
  );

describe('the adoption of a machine that joins by command', () => {
  it('waits with a reason until the machine is a node', async () => {
    expect(await passes()).toMatchObject({
      phase: 'Adopting',
      operation: { state: 'running', waiting: { reason: 'NoNodePool', since: expect.any(String) } },
    });

    const awaited = await claimed();
    expect(awaited).toMatchObject({
      phase: 'Joining',
      node_name: nodeName,
      member_of_id: cluster.id,
      purpose: 'join',
      operation: { state: 'running', waiting: { reason: 'MachineAwaited', message: awaited?.message } },
    });

    runCommand();
    expect(await passes()).toMatchObject({
      phase: 'Joined',
      message: '',
      node_ready: true,
      adopted_at: expect.any(Date),
      operation: { state: 'succeeded', progress: 100, waiting: null },
    });
    expect(cluster.shoot.nodes.get(nodeName)).toMatchObject({ isReady: true, ...nodePatch });
    expect(await audit()).toEqual([]);
  });

  it('keeps the start time of an unchanged reason', async () => {
    const first = (await passes())?.operation.waiting;

    expect((await passes())?.operation.waiting).toEqual(first);
    expect((await claimed())?.operation.waiting?.since).not.toBe(first?.since);
  });

  it('calls no provider, so an undecryptable token does not matter', async () => {
    const { byRoute } = at.cloud.admin.calls();
    await at.pool.query("UPDATE connection SET token_key_id = 'gone' WHERE id = $1", [at.connectionId]);

    expect(await joined()).toMatchObject({ phase: 'Joined', observed_at: null });

    expect(at.cloud.admin.calls().byRoute).toEqual(byRoute);
    await at.pool.query("UPDATE connection SET token_key_id = 'k1' WHERE id = $1", [at.connectionId]);
  });

  it('deletes its tokens in the cluster once the machine is a node', async () => {
    await claimed();
    cluster.shoot.tokens.add(nodeName);
    runCommand();

    expect(await passes()).toMatchObject({ phase: 'Joined' });

    expect([...cluster.shoot.tokens]).toEqual([]);
  });

  it('waits while the cluster does not answer, and continues afterwards', async () => {
    await claimed();
    cluster.shoot.isUp = false;

    expect(await passes()).toMatchObject({
      phase: 'Joining',
      operation: { state: 'running', waiting: { reason: 'ClusterUnavailable' } },
    });

    cluster.shoot.isUp = true;
    runCommand();
    expect(await passes()).toMatchObject({ phase: 'Joined' });
  });

  it('survives the hibernation of its cluster', async () => {
    await claimed();
    await hibernate(at, cluster, true);
    expect((await passes())?.operation).toMatchObject({ state: 'running', waiting: { reason: 'ClusterNotReady' } });

    await hibernate(at, cluster, false);
    runCommand();
    expect(await passes()).toMatchObject({ phase: 'Joined', operation: { state: 'succeeded' } });
  });

  it('continues when the pool released the machine before it joined, and claimed it again', async () => {
    await claimed();
    cluster.shoot.tokens.add(nodeName);
    await claim(at, id, null);

    expect(await passes()).toMatchObject({
      phase: 'Adopting',
      node_name: null,
      member_of_id: null,
      operation: { state: 'running', waiting: { reason: 'NoNodePool' } },
    });
    expect([...cluster.shoot.tokens]).toEqual([]);
    expect(await joined()).toMatchObject({ phase: 'Joined', operation: { state: 'succeeded' } });
  });

  it('fails when the command is not run for a week, and can join afterwards', async () => {
    await claimed();
    await at.pool.query("UPDATE adopted_server SET begun_at = now() - interval '8 days' WHERE id = $1", [id]);
    expect(await passes()).toMatchObject({
      phase: 'Failed',
      operation: { state: 'failed', error: { code: 'server_never_joined' }, waiting: null },
    });

    await claim(at, id, null);
    expect(await passes()).toMatchObject({ phase: 'Ready', node_name: null });
    await claim(at, id, cluster.poolId);
    runCommand();
    expect(await passes()).toMatchObject({ phase: 'Joined' });
  });
});

describe('a released machine', () => {
  it('is drained and removed from the cluster, with a message to wipe it', async () => {
    await joined();
    await claim(at, id, null);

    const left = await passes();

    expect(left).toMatchObject({
      phase: 'Ready',
      message: expect.stringContaining('must wipe it'),
      node_name: null,
      node_ready: false,
      member_of_id: null,
      operation: { state: 'succeeded' },
    });
    expect(cluster.shoot.nodes.has(nodeName)).toBe(false);
    expect(at.shoots.undrained()).toBe(0);
  });

  it('is a node again once a pool claims it and its command was run', async () => {
    const first = await joined();
    await claim(at, id, null);
    await passes();

    expect(await claimed()).toMatchObject({ phase: 'Joining', message: expect.stringContaining('join command') });
    runCommand();
    expect(await passes()).toMatchObject({ phase: 'Joined', adopted_at: first?.adopted_at });
  });

  it('is forgotten immediately when it is deregistered', async () => {
    await joined();
    await claim(at, id, null);
    await passes();
    await at.deregister(id);

    expect(await passes()).toBeUndefined();

    expect(await audit()).toEqual(['server.deregistered']);
  });
});
