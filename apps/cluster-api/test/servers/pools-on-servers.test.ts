import { randomUUID } from 'node:crypto';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { addConnection, converge, declare, everythingOf, operationsOf, runningCluster } from '../support/clusters.js';
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
  const everything = () => everythingOf(t, team);
  beforeEach(async () => {
    team = await t.createTeam(`t-${randomUUID().slice(0, 8)}`);
    await addConnection(t, team);
    calls = poolCalls(t, team);
  });

  describe('a pool on adopted servers', () => {
    it('claims its maximum from the lowest ids and wakes those servers', async () => {
      const [first, second, third] = await servers(3);
      t.wakeups.length = 0;

      await declare(t, team, 'web', withOwn(own(2)));

      expect(await claims()).toEqual([first, second]);
      expect(await wokenServers()).toEqual([first, second]);
      expect((await rowOf(first as number)).dueAt).not.toBeNull();
      expect(await rowOf(third as number)).toMatchObject({ nodePoolId: null, dueAt: null });
      expect(await newestDetail()).toMatchObject({ claimed: `${first} ${second}` });
      const { body } = await t.api.as(team.member).get(team.path(`/connections/main/adopted-servers/${first}/`));
      expect(body.status).toMatchObject({ phase: 'Ready', claimedBy: { cluster: 'web', nodePool: 'own' } });
    });

    it('is shown as a pet pool with its number of ready nodes', async () => {
      await servers(2);
      await declare(t, team, 'web', withOwn(own(2)));
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

    it('alone leaves a cluster a draft that claims servers and asks for a managed pool', async () => {
      const [number] = await servers(1);

      const { resource } = await declare(t, team, 'web', { nodePools: [own(1)] });

      expect(resource.status.phase).toBe('Draft');
      expect(resource.status.conditions.at(-1).message).toMatch(/Add a managed node pool/);
      expect(await claims()).toEqual([number]);
      await calls.putPool(aPool()).expect(201);
      expect((await t.api.as(team.member).get(calls.clusterPath())).body.status.phase).toBe('Pending');
      expect(await claims()).toEqual([number]);
    });

    it('keeps its servers when something else of the cluster changes', async () => {
      const [, second] = await servers(2);
      await declare(t, team, 'web', withOwn(own(2)));
      await calls.putPool(own(1));
      await t.db.adoptedServer.updateMany({ where: { teamId: team.id }, data: { nodePoolId: null } });
      const { id: nodePoolId } = await t.db.nodePool.findFirstOrThrow({ where: { teamId: team.id, name: 'own' } });
      await t.db.adoptedServer.updateMany({
        where: { serverId: second as number },
        data: { nodePoolId, phase: 'Failed' },
      });
      t.wakeups.length = 0;

      await calls.put(aClusterSpec({ ...withOwn(own(1)), plan: 'annual' })).expect(202);

      expect(await claims()).toEqual([second]);
      expect(await wokenServers()).toEqual([]);
    });
  });

  describe('a pool without enough servers', () => {
    it('is refused when they have another type, with the possible maximum', async () => {
      await servers(2, { serverType: 'cx32' });
      await runningCluster(t, team, 'web');
      const before = await everything();

      const { body } = await calls.putPool(own(2)).expect(422);

      expect(body).toMatchObject({ code: 'invalid_node_pool', errors: [{ pointer: '/spec/maximum' }] });
      expect(body.errors[0].message).toContain('at most 0');
      expect(await everything()).toEqual(before);
    });

    it('cannot use servers of another connection or another team', async () => {
      await addConnection(t, team, { ref: 'other' });
      await givenServers(t, team, 2, { ref: 'other' });
      const stranger = await t.createTeam(`t-${randomUUID().slice(0, 8)}`);
      await addConnection(t, stranger);
      const theirs = await givenServers(t, stranger, 2);

      const { body } = await calls.put(aClusterSpec(withOwn(own(1)))).expect(422);

      expect(body).toMatchObject({ code: 'invalid_node_pool', errors: [{ pointer: '/spec/nodePools/1/maximum' }] });
      expect(body.errors[0].message).toContain('at most 0');
      for (const number of theirs) expect(await rowOf(number)).toMatchObject({ nodePoolId: null, dueAt: null });
    });

    it('is listed beside the other refusals, unless the pool itself is refused', async () => {
      const wrong = own(1, { name: 'wrong', minimum: 2 });

      const { body } = await calls.put(aClusterSpec({ region: 'ash', ...withOwn(own(1), wrong) })).expect(422);

      expect(body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
        '/spec/nodePools/2/minimum',
        '/spec/region',
        '/spec/nodePools/1/maximum',
      ]);
    });

    it('is refused without names of clusters that a narrowed account must not know', async () => {
      const [first] = await servers(1);
      await declare(t, team, 'shop', withOwn(own(1)));
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

  describe('concurrent changes', () => {
    it('give the last server to one of two clusters', async () => {
      const [number] = await servers(1);
      const names = ['one', 'two'];

      const answers = await Promise.all(names.map((name) => calls.put(aClusterSpec(withOwn(own(1))), name)));

      expect(answers.map(({ status }) => status).sort()).toEqual([202, 409]);
      const winner = names[answers.findIndex(({ status }) => status === 202)] as string;
      expect(await claims(winner)).toEqual([number]);
      expect(await t.db.cluster.count({ where: { teamId: team.id } })).toBe(1);
    });

    it('never give a server to two pools', async () => {
      const numbers = await servers(5);
      await runningCluster(t, team, 'web');

      const answers = await Promise.all(
        ['a', 'b', 'c', 'd'].map((name) => calls.putPool(own(2, { name }), { query: '' }).then(({ status }) => status)),
      );

      expect(answers.sort()).toEqual([201, 201, 409, 409]);
      const rows = await t.db.adoptedServer.findMany({ where: { teamId: team.id, nodePoolId: { not: null } } });
      expect(rows.map(({ serverId }) => Number(serverId)).sort()).toEqual(numbers.slice(0, 4));
    });

    it('wait for a pass that is turning a server into a node, without a deadlock', async () => {
      const [number] = await servers(1);
      await runningCluster(t, team, 'web', withOwn(own(1)));
      const pass = await t.pool.connect();
      await pass.query('BEGIN');
      await pass.query(`UPDATE adopted_server SET phase = 'Joining', node_name = 'node' WHERE server_id = $1`, [
        number,
      ]);

      const removal = calls.removePool().then((answer) => answer);
      await waitFor('the removal to wait for the pass', async () => {
        const { rowCount } = await t.pool.query(
          `SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
         WHERE NOT granted AND datname = current_database() AND query LIKE '%adopted_server%FOR UPDATE%'`,
        );
        return rowCount !== 0;
      });
      await pass.query(
        `UPDATE adopted_server SET member_of_id = (SELECT cluster_id FROM node_pool WHERE id = node_pool_id)
       WHERE server_id = $1`,
        [number],
      );
      await pass.query('COMMIT');
      pass.release();

      expect((await removal).status).toBe(204);
      expect(await rowOf(number as number)).toMatchObject({ nodePoolId: null, phase: 'Joining', nodeName: 'node' });
    });
  });

  describe('servers are released', () => {
    it('by a smaller pool: first those that have not joined, then the highest ids', async () => {
      const [first, second, third] = (await servers(3)) as [number, number, number];
      await declare(t, team, 'web', withOwn(own(3)));
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

    it('by a specification without their pool, and can move to a new pool if they are not nodes yet', async () => {
      const numbers = await servers(2);
      await declare(t, team, 'web', withOwn(own(2)));
      t.wakeups.length = 0;

      await calls.put(aClusterSpec(withOwn(own(2, { name: 'renamed' })))).expect(202);

      expect(await claims('web', 'renamed')).toEqual(numbers);
      expect(await wokenServers()).toEqual(numbers);
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
      await declare(t, team, 'web', { nodePools: [own(2)] });
      t.wakeups.length = 0;

      await t.api.as(team.member).delete(calls.clusterPath()).expect(204);

      expect(await wokenServers()).toEqual(numbers);
      expect(await newestDetail()).toEqual({ draft: true, released: numbers.join(' ') });
      await declare(t, team, 'again', withOwn(own(2)));
      expect(await claims('again')).toEqual(numbers);
    });
  });
});

describe('answers of pools on servers', () => {
  let team: TestTeam;
  let calls: PoolCalls;
  const servers = (count: number, more: Parameters<typeof givenServers>[3] = {}) => givenServers(t, team, count, more);
  beforeEach(async () => {
    team = await t.createTeam(`t-${randomUUID().slice(0, 8)}`);
    await addConnection(t, team);
    calls = poolCalls(t, team);
  });

  describe('the entity tag of a pool on adopted servers', () => {
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

  describe('the cost of a pool on adopted servers', () => {
    it('is the price of all its servers, even while the cluster is hibernated', async () => {
      await servers(2);
      const { id: connectionId } = await t.db.connection.findFirstOrThrow({ where: { teamId: team.id } });
      const prices = {
        serverTypes: { cx22: { hel1: { hourly: '0.006', monthly: '3.79' } } },
        primaryIpv4: { hel1: { hourly: '0', monthly: '0' } },
      };
      await t.db.priceList.create({ data: { connectionId, currency: 'EUR', prices, pricedAt: new Date() } });
      await runningCluster(t, team, 'web', { ...withOwn(own(2)), hibernated: true });

      const { cost } = (await t.api.as(team.member).get(calls.clusterPath()).expect(200)).body.status;

      expect(cost.items[1]).toMatchObject({
        name: 'own',
        machineType: 'cx22',
        minimum: 2,
        maximum: 2,
        reason: null,
        monthly: { minimum: '7.58', maximum: '7.58' },
      });
    });
  });
});
