import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec } from '../support/a-cluster.js';
import { addConnection, converge, declare, operationsOf, runningCluster } from '../support/clusters.js';
import { claimsOf, givenServers, join } from '../support/given-servers.js';
import { own, type PoolCalls, poolCalls, withOwn } from '../support/pools-on-servers.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

let t: TestClusterApi;

beforeAll(async () => {
  t = await startClusterApi({ config: { gardenFeatures: new Set(['adopted-nodes'] as const) } });
});

afterAll(() => t.close());

describe('node pools on servers', () => {
  let team: TestTeam;
  let calls: PoolCalls;

  const claims = (cluster = 'web', pool = 'own') => claimsOf(t, team, cluster, pool);
  const servers = (count: number, more: Parameters<typeof givenServers>[3] = {}) => givenServers(t, team, count, more);
  const rowOf = (serverId: number) => t.db.adoptedServer.findFirstOrThrow({ where: { serverId } });
  const wokenServers = async () => {
    const ids = t.wakeups.flatMap(({ job, payload }) =>
      job === 'reconcile-server' ? [(payload as { serverId: string }).serverId] : [],
    );
    const rows = await t.db.adoptedServer.findMany({ where: { id: { in: ids } }, orderBy: { serverId: 'asc' } });
    expect(rows).toHaveLength(ids.length);
    return rows.map(({ serverId }) => Number(serverId));
  };
  const newestDetail = async () =>
    (await t.db.auditEntry.findFirstOrThrow({ where: { teamId: team.id }, orderBy: { id: 'desc' } })).detail;
  beforeEach(async () => {
    team = await t.createTeam();
    await addConnection(t, team);
    calls = poolCalls(t, team);
  });

  describe('a pool on adopted servers', () => {
    it('claims its maximum from the lowest ids and wakes those servers', async () => {
      const [first, second, third] = await servers(3);
      t.wakeups.length = 0;

      await declare(team, 'web', withOwn(own(2)));

      expect(await claims()).toEqual([first, second]);
      expect(await wokenServers()).toEqual([first, second]);
      expect((await rowOf(first as number)).dueAt).not.toBeNull();
      expect(await rowOf(third as number)).toMatchObject({ nodePoolId: null, dueAt: null });
      expect(await newestDetail()).toMatchObject({ claimed: `${first} ${second}` });
      const { body } = await team.asMember.get(`/connections/main/adopted-servers/${first}/`);
      expect(body.status).toMatchObject({ phase: 'Ready', claimedBy: { cluster: 'web', nodePool: 'own' } });
    });

    it('is shown as a pet pool with its number of ready nodes', async () => {
      await servers(2);
      await declare(team, 'web', withOwn(own(2)));
      await join(t, await claims());
      await join(t, (await claims()).slice(0, 1), false);

      expect((await calls.getPool().expect(200)).body).toMatchObject({
        source: 'pooled',
        autoscalerPriority: 100,
        status: { pet: true, backingReady: 1 },
      });
      expect((await calls.getPool('general').expect(200)).body.status).toEqual({ pet: false, backingReady: null });
      const { items } = (await t.api.as(team.member).get(calls.clusterPath('web', 'node-pools/')).expect(200)).body;
      expect(items.map((item: { status: object }) => item.status)).toEqual([
        { pet: false, backingReady: null },
        { pet: true, backingReady: 1 },
      ]);
    });

    it('can be added to a running cluster, grow, and keep its servers during hibernation', async () => {
      await runningCluster(t, team, 'web');
      const numbers = await servers(3);

      expect((await calls.putPool(own(1)).expect(201)).body.status).toEqual({ pet: true, backingReady: 0 });
      await calls.putPool(own(3)).expect(200);
      await converge(t, team, 'web');
      t.wakeups.length = 0;
      await t.api.as(team.member).post(calls.clusterPath('web', 'hibernate/')).expect(202);

      expect(await claims()).toEqual(numbers);
      expect(await wokenServers()).toEqual([]);
      expect(await operationsOf(t, team, 'web')).toEqual([
        'cluster.create succeeded',
        'cluster.update superseded',
        'cluster.update succeeded',
        'cluster.hibernate queued',
      ]);
    });
  });

  describe('a pool without enough servers', () => {
    it('cannot use servers of another connection or another team', async () => {
      await addConnection(t, team, { ref: 'other' });
      await givenServers(t, team, 2, { ref: 'other' });
      const stranger = await t.createTeam();
      await addConnection(t, stranger);
      const theirs = await givenServers(t, stranger, 2);

      const { body } = await calls.put(aClusterSpec(withOwn(own(1)))).expect(422);

      expect(body).toMatchObject({ code: 'invalid_node_pool', errors: [{ pointer: '/spec/nodePools/1/maximum' }] });
      expect(body.errors[0].message).toContain('at most 0');
      for (const number of theirs) expect(await rowOf(number)).toMatchObject({ nodePoolId: null, dueAt: null });
    });

    it('is refused without names of clusters that a narrowed account must not know', async () => {
      const [first] = await servers(1);
      await declare(team, 'shop', withOwn(own(1)));
      const token = await t.createAccount(team, 'ci', { role: 'member', clusters: ['ci-*'], actions: ['read'] });
      const path = `${team.path('/clusters/ci-1/')}?dryRun=true`;

      const { body, text } = await t.api
        .withToken(token)
        .put(path)
        .send({ spec: aClusterSpec(withOwn(own(1))) })
        .expect(409);

      expect(body.detail).toContain(`In use: ${first}. `);
      expect(text).not.toContain('shop');
    });
  });

  it('concurrent changes never give a server to two pools', async () => {
    const numbers = await servers(5);
    await runningCluster(t, team, 'web');

    const answers = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => calls.putPool(own(2, { name }), { query: '' }).then(({ status }) => status)),
    );

    expect(answers.sort()).toEqual([201, 201, 409, 409]);
    const rows = await t.db.adoptedServer.findMany({ where: { teamId: team.id, nodePoolId: { not: null } } });
    expect(rows.map(({ serverId }) => Number(serverId)).sort()).toEqual(numbers.slice(0, 4));
  });

  describe('servers are released', () => {
    it('by a smaller pool: first those that have not joined, then the highest ids', async () => {
      const [first, second, third] = (await servers(3)) as [number, number, number];
      await declare(team, 'web', withOwn(own(3)));
      await join(t, [second, third]);
      t.wakeups.length = 0;

      await calls.putPool(own(2)).expect(200);
      expect(await claims()).toEqual([second, third]);
      expect(await wokenServers()).toEqual([first]);
      expect(await newestDetail()).toMatchObject({ released: String(first) });

      await calls.putPool(own(1)).expect(200);
      expect(await claims()).toEqual([second]);
      expect(await rowOf(third)).toMatchObject({ phase: 'Joined', nodeName: `node-${third}`, dueAt: expect.any(Date) });
    });

    it('by the deletion of a cluster', async () => {
      const numbers = await servers(2);
      await runningCluster(t, team, 'web', withOwn(own(2)));
      await join(t, numbers);
      t.wakeups.length = 0;

      await t.api.as(team.member).delete(calls.clusterPath()).expect(202);

      expect(await claims()).toEqual([]);
      expect(await wokenServers()).toEqual(numbers);
      expect(await newestDetail()).toMatchObject({ released: numbers.join(' ') });
      t.wakeups.length = 0;
      await t.api.as(team.member).delete(calls.clusterPath()).expect(202);
      expect(await wokenServers()).toEqual([]);
    });

    it('by the deletion of a draft', async () => {
      const numbers = await servers(2);
      await declare(team, 'web', { nodePools: [own(2)] });
      t.wakeups.length = 0;

      await t.api.as(team.member).delete(calls.clusterPath()).expect(204);

      expect(await wokenServers()).toEqual(numbers);
      expect(await newestDetail()).toEqual({ draft: true, released: numbers.join(' ') });
      await declare(team, 'again', withOwn(own(2)));
      expect(await claims('again')).toEqual(numbers);
    });
  });
});

describe('the entity tag of a pool on adopted servers', () => {
  let team: TestTeam;
  let calls: PoolCalls;
  const servers = (count: number, more: Parameters<typeof givenServers>[3] = {}) => givenServers(t, team, count, more);
  beforeEach(async () => {
    team = await t.createTeam();
    await addConnection(t, team);
    calls = poolCalls(t, team);
  });

  it('changes with its ready nodes, unlike that of the cluster', async () => {
    const numbers = await servers(2);
    await runningCluster(t, team, 'web', withOwn(own(2)));
    const tagOf = async () => (await calls.getPool().expect(200)).headers.etag as string;
    const clusterTag = async () => (await t.api.as(team.member).get(calls.clusterPath())).headers.etag;
    const [before, ofCluster] = [await tagOf(), await clusterTag()];

    await join(t, numbers.slice(0, 1));

    const after = await tagOf();
    expect(after).not.toBe(before);
    expect(await clusterTag()).toBe(ofCluster);
    // Nodes are status, not declaration, so If-Match ignores them.
    const changed = await calls.putPool(own(1)).set('If-Match', before).expect(200);
    const now = await tagOf();
    expect(changed.headers.etag).toBe(now);
    expect((await calls.putPool(own(2)).set('If-Match', after).expect(412)).body.detail).toContain(now);
    await calls
      .removePool()
      .set('If-Match', changed.headers.etag as string)
      .expect(204);
  });
});
