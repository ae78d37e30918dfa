import { aPriceList } from '@corral/cluster-data/testing';
import type { ClusterSpec } from '@corral/contracts';
import { GardenError } from '@corral/garden';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import type { Requests } from '../support/checked-client.js';
import {
  addConnection,
  type ClusterTest,
  converge,
  declare,
  everythingOf,
  freshName,
  runningCluster,
  startWithConnection,
} from '../support/clusters.js';
import { fakeGarden } from '../support/fake-garden.js';
import { PUBLIC_URL, startClusterApi, type TestTeam } from '../support/start-cluster-api.js';

const garden = fakeGarden();
let t: ClusterTest;
beforeAll(async () => {
  t = await startWithConnection({ garden });
  await addConnection(t, t.acme, { ref: 'rejected', phase: 'Rejected' });
  await addConnection(t, t.globex, { ref: 'theirs' });
});
afterAll(() => t.close());

describe('PUT /clusters/{name}/', () => {
  let name: string;
  const path = () => `/clusters/${name}/`;
  const put = (spec: object, query = '') => t.acme.asMember.put(`${path()}${query}`).send({ spec });
  const row = () => t.db.cluster.findUniqueOrThrow({ where: { teamId_name: { teamId: t.acme.id, name } } });

  beforeEach(() => {
    name = freshName(t);
  });

  it('creates a cluster: 202 with the operation to poll, and wakes the reconciler', async () => {
    const answer = await put(aClusterSpec()).expect(202);

    const { operation, resource } = answer.body;
    const stored = await row();
    expect(resource).toMatchObject({
      metadata: { name, id: stored.id, team: 'acme', generation: 1, observedGeneration: 0 },
      spec: aClusterSpec(),
      status: { phase: 'Pending', seedName: null, migrationPhase: null },
    });
    expect(operation).toMatchObject({
      kind: 'cluster.create',
      state: 'queued',
      progress: 0,
      error: {},
      desiredHash: stored.desiredHash,
      target: { kind: 'Cluster', name, id: stored.id, team: 'acme' },
      self: `${PUBLIC_URL}/api/v1/teams/acme/operations/${operation.id}/`,
    });
    expect(answer.headers).toMatchObject({ etag: resource.metadata.etag, 'operation-location': operation.self });
    expect(stored.dueAt).not.toBeNull();
    expect(t.wakeups).toEqual([{ job: 'reconcile-cluster', payload: { clusterId: stored.id } }]);
  });

  it('stores a draft without pools, whose operation succeeds immediately', async () => {
    const { body } = await put(aClusterSpec({ nodePools: [] })).expect(202);

    expect(body.operation).toMatchObject({ kind: 'cluster.create', state: 'succeeded', progress: 100 });
    expect(body.resource.status).toMatchObject({ phase: 'Draft' });
    expect(body.resource.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Reconciled', status: 'False', reason: 'AwaitingNodePools' }),
    );
    expect(await row()).toMatchObject({ dueAt: null, startedAt: null });
    expect(t.wakeups).toEqual([]);
  });

  it('starts a draft with its first pool', async () => {
    await t.clusters.declareDraft(name);

    const { body } = await put(aClusterSpec()).expect(202);

    expect(body).toMatchObject({
      operation: { kind: 'cluster.create', state: 'queued' },
      resource: { metadata: { generation: 2 }, status: { phase: 'Pending' } },
    });
    expect((await row()).dueAt).not.toBeNull();
  });

  it('accepts the unchanged body of a GET without an effect', async () => {
    await t.clusters.running(name, { nodePools: [aPool(), aPool({ name: 'batch', image: {} })] });
    const { body } = await t.acme.asMember.get(path()).expect(200);
    const before = await t.clusters.everything();

    await t.acme.asMember.put(path()).send(body).expect(200);

    expect(await t.clusters.everything()).toEqual(before);
    const changed = { ...body, spec: { ...body.spec, plan: 'annual' }, status: { phase: 'Hibernated' } };
    const answer = await t.acme.asMember.put(path()).send(changed).expect(202);
    expect(answer.body.resource).toMatchObject({ spec: { plan: 'annual' }, status: { phase: 'Updating' } });
  });

  it('refuses the body of another cluster', async () => {
    await t.clusters.declare(name);
    const { body } = await t.acme.asMember.get(path()).expect(200);

    const answer = await t.acme.asMember.put(`/clusters/${name}-copy/`).send(body).expect(422);

    expect(answer.body).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/metadata/name' }] });
  });

  it('resets omitted sizes of a listed pool to their defaults, and names each in plan, answer and log', async () => {
    await t.clusters.running(name, { nodePools: [aPool({ minimum: 2, maximum: 6 })] });
    const { name: pool, machineType } = aPool();
    const spec = { kubernetesVersion: '1.33.4', nodePools: [{ name: pool, machineType, minimum: 1 }] };
    const reset = { pointer: '/spec/nodePools/0/maximum', from: 6, to: 3, byDefault: true };

    const planned = await put(spec, '?dryRun=true').expect(200);
    const { body } = await put(spec).expect(202);

    expect(body.resetToDefault).toEqual([reset]);
    const changes = [{ pointer: '/spec/nodePools/0/minimum', from: 2, to: 1 }, reset];
    expect(planned.body.changes).toEqual(changes);
    const audit = await t.acme.asAdmin.get(`/audit/?name=${name}`).expect(200);
    expect(audit.body.items[0]).toMatchObject({ action: 'cluster.declare', changes });
  });

  it('answers 200 with the URL of the running operation when it is repeated', async () => {
    const { operation } = await t.clusters.declare(name);
    const before = await t.clusters.everything();

    const { body, headers } = await put(aClusterSpec()).expect(200);

    expect(headers['operation-location']).toBe(operation.self);
    expect(body.status.lastOperation).toEqual({
      id: operation.id,
      kind: 'cluster.create',
      state: 'queued',
      error: {},
      createdAt: operation.createdAt,
    });
    expect(await t.clusters.everything()).toEqual(before);
  });

  it('is a retry when it is repeated after a failure', async () => {
    await t.clusters.declare(name);
    await t.clusters.beginFirstPass(name);
    await t.clusters.endOperations(name, 'failed');
    const read = async () => (await t.acme.asMember.get(path()).expect(200)).body.status.lastOperation;
    expect(await read()).toMatchObject({ state: 'failed', error: { code: 'provider_capacity' } });

    const { body } = await put(aClusterSpec()).expect(202);

    expect(body).toMatchObject({
      operation: { kind: 'cluster.create', state: 'queued' },
      resource: { metadata: { generation: 2 }, status: { phase: 'Pending', lastOperation: { state: 'queued' } } },
    });
    expect(await read()).toMatchObject({ id: body.operation.id });
    expect(await t.clusters.operationsOf(name)).toEqual(['cluster.create failed', 'cluster.create queued']);
    expect(t.wakeups).toHaveLength(2);
  });

  it('refuses an Idempotency-Key, which has no meaning for PUT', async () => {
    const { body } = await put(aClusterSpec()).set('Idempotency-Key', 'k').expect(422);

    expect(body).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/headers/Idempotency-Key' }] });
    expect(await t.db.cluster.count({ where: { name } })).toBe(0);
  });

  it('accepts a change while an operation runs and supersedes that', async () => {
    await t.clusters.declare(name);
    await t.clusters.beginFirstPass(name);
    await t.db.operation.updateMany({ where: { targetName: name }, data: { state: 'running', progress: 40 } });

    const { body } = await put(aClusterSpec({ plan: 'annual' })).expect(202);

    expect(body.resource.metadata).toMatchObject({ generation: 2, observedGeneration: 0 });
    expect(await t.clusters.operationsOf(name)).toEqual(['cluster.create superseded', 'cluster.update queued']);
  });

  it('keeps the row and garden name of every remaining pool', async () => {
    await t.clusters.declare(name, { nodePools: [aPool({ name: 'a' }), aPool({ name: 'b' }), aPool({ name: 'c' })] });
    const workers = async () => {
      const { id: clusterId } = await row();
      const pools = await t.db.nodePool.findMany({ where: { clusterId }, orderBy: { position: 'asc' } });
      return new Map(pools.map((pool) => [pool.name, pool.workerName]));
    };
    const before = await workers();

    await put(
      aClusterSpec({ nodePools: [aPool({ name: 'd' }), aPool({ name: 'c', maximum: 5 }), aPool({ name: 'a' })] }),
    );

    const after = await workers();
    expect([...after.keys()]).toEqual(['d', 'c', 'a']);
    expect([after.get('a'), after.get('c')]).toEqual([before.get('a'), before.get('c')]);
  });

  it('gives a pool that was removed and added again a new name on the garden', async () => {
    await t.clusters.declare(name, { nodePools: [aPool({ name: 'a' }), aPool({ name: 'b' })] });
    const worker = () => t.db.nodePool.findFirstOrThrow({ where: { cluster: { name }, name: 'b' } });
    const before = await worker();
    await put(aClusterSpec({ nodePools: [aPool({ name: 'a' })] })).expect(202);

    await put(aClusterSpec({ nodePools: [aPool({ name: 'a' }), aPool({ name: 'b' })] })).expect(202);

    expect((await worker()).workerName).not.toBe(before.workerName);
  });

  it('while the garden is unavailable uses the cached catalogue, or answers 502 with Retry-After without one', async () => {
    const away = fakeGarden();
    away.failure = new GardenError('unreachable', 'no connection');
    let now = 0;
    const alone = await startClusterApi({ garden: away, deps: { now: () => now } });
    try {
      await addConnection(alone, alone.acme);
      const send = () => alone.acme.asMember.put('/clusters/web/').send({ spec: aClusterSpec() });

      const refused = await send().expect(502);

      expect(refused.body.code).toBe('upstream_unavailable');
      expect(['1', '2']).toContain(refused.headers['retry-after']);
      expect((await everythingOf(alone, alone.acme)).clusters).toEqual([]);
      away.failure = null;
      await send().expect(502);
      expect(away.catalogueReads).toBe(1);
      now += 2_000;
      await send().expect(202);
      away.failure = new GardenError('unreachable', 'no connection');
      now += 60_000;
      await alone.acme.asMember.put('/clusters/other/').send({ spec: aClusterSpec() }).expect(202);
    } finally {
      await alone.close();
    }
  });
});

describe('dry runs and preconditions', () => {
  let name: string;
  const path = () => t.acme.path(`/clusters/${name}/`);
  const put = (spec: object, query = '') => t.api.as(t.acme.member).put(`${path()}${query}`).send({ spec });

  beforeEach(() => {
    name = freshName(t);
  });

  describe('dry runs of a cluster PUT', () => {
    it('answer a new cluster and its cost, and write nothing', async () => {
      const before = await t.clusters.everything();

      const { body } = await put(aClusterSpec(), '?dryRun=true').expect(200);

      expect(body).toMatchObject({
        dryRun: true,
        resource: { metadata: { name, generation: 1 }, status: { phase: 'Pending' } },
        cost: { items: [{ name: 'general', minimum: 1, maximum: 3 }] },
      });
      expect(body.changes.map(({ pointer }: { pointer: string }) => pointer)).toContain('/spec/nodePools/0');
      expect(await t.clusters.everything()).toEqual(before);
      expect(t.wakeups).toEqual([]);
    });

    it('list the effects on control plane and nodes', async () => {
      await t.clusters.running(name, { nodePools: [aPool(), aPool({ name: 'old' })] });
      const before = await t.clusters.everything();
      const nodePools = [aPool({ machineType: 'cpx51' }), aPool({ name: 'new', minimum: 2 })];

      const { body } = await put(aClusterSpec({ kubernetesVersion: '1.34', nodePools }), '?dryRun=true').expect(200);

      expect(body.effects).toMatchObject([
        { target: 'cluster', kind: 'upgraded', kubernetesVersion: { before: '1.33.4', after: '1.34.2' } },
        {
          target: 'nodePool',
          pool: 'general',
          kind: 'replaced',
          fields: ['/spec/nodePools/0/machineType', '/spec/kubernetesVersion'],
        },
        { pool: 'new', kind: 'added', nodes: { before: null, after: { minimum: 2, maximum: 3 } } },
        { pool: 'old', kind: 'removed', nodes: { before: { minimum: 1, maximum: 3 }, after: null } },
      ]);
      expect(await t.clusters.everything()).toEqual(before);
    });
  });

  describe('dry runs are reads', () => {
    const plan = (client: Requests, more: Partial<ClusterSpec> = { plan: 'annual' }) =>
      client.put(`${path()}?dryRun=true`).send({ spec: aClusterSpec(more) });

    it('of viewers and of accounts that may only read, who cannot make the changes', async () => {
      await t.clusters.running(name, { nodePools: [aPool(), aPool({ name: 'old' })] });
      const viewer = t.api.as(await t.createUser(`viewer@${name}.test`, [{ team: t.acme, role: 'viewer' }]));
      const reader = t.api.withToken(
        await t.createAccount(t.acme, 'reader', { role: 'member', clusters: [name], actions: ['read'] }),
      );
      const before = await t.clusters.everything();

      for (const client of [viewer, reader]) {
        expect((await plan(client).expect(200)).body.changes).toContainEqual({
          pointer: '/spec/plan',
          from: 'payg',
          to: 'annual',
        });
        await client.post(`${path()}hibernate/?dryRun=true`).expect(200);
        await client.delete(`${path()}?dryRun=true`).expect(200);
        await client.delete(`${path()}node-pools/old/?dryRun=true`).expect(200);
        await client
          .put(`${path()}?dryRun=false`)
          .send({ spec: aClusterSpec({ plan: 'annual' }) })
          .expect(403);
        await client.post(`${path()}retry/?dryRun=true`).expect(403);
        await client.delete(path()).expect(403);
      }
      await reader
        .put(`${path().replace(name, 'another')}?dryRun=true`)
        .send({ spec: aClusterSpec() })
        .expect(403);
      expect(await t.clusters.everything()).toEqual(before);
    });
  });

  describe('dry runs of single changes', () => {
    const nodes = { minimum: 1, maximum: 3 };
    const send = (method: 'post' | 'delete', rest: string) => t.api.as(t.acme.member)[method](`${path()}${rest}`);

    it('of hibernating and resuming answer what a PUT would, and change nothing', async () => {
      await t.clusters.running(name);
      const before = await t.clusters.everything();
      const put = await t.api
        .as(t.acme.member)
        .put(`${path()}?dryRun=true`)
        .send({ spec: aClusterSpec({ hibernated: true }) });

      const asleep = await send('post', 'hibernate/?dryRun=true').set('Idempotency-Key', 'once').expect(200);
      const awake = await send('post', 'resume/?dryRun=true').expect(200);

      const { updatedAt: _at, ...metadata } = put.body.resource.metadata;
      expect(asleep.body).toMatchObject({
        ...put.body,
        resource: { ...put.body.resource, status: expect.anything(), metadata },
      });
      expect(asleep.body.effects).toMatchObject([{ kind: 'hibernated' }, { kind: 'scaled', nodes: { before: nodes } }]);
      expect(awake.body).toMatchObject({ dryRun: true, changes: [], effects: [] });
      expect(await t.clusters.everything()).toEqual(before);
      // The key of a dry run belongs to no request that changes something.
      await send('post', 'hibernate/').set('Idempotency-Key', 'once').expect(202);
    });

    it('are refused like the change itself, with errors', async () => {
      await t.clusters.running(name);

      const last = await send('delete', 'node-pools/general/?dryRun=true').expect(422);
      const outdated = await send('post', 'hibernate/?dryRun=true').set('If-Match', '"old"').expect(412);

      expect(last.body).toMatchObject({ code: 'last_node_pool', errors: [{ code: 'last_node_pool' }] });
      expect(outdated.body.code).toBe('precondition_failed');
    });

    it('are refused where a request has none, and nothing is changed', async () => {
      await t.clusters.running(name);
      const before = await t.clusters.everything();

      const { body } = await send('post', 'retry/?dryRun=true').expect(422);

      expect(body.errors).toEqual([
        expect.objectContaining({ pointer: '/query/dryRun', message: expect.stringContaining('has no dry run') }),
      ]);
      expect(await t.clusters.everything()).toEqual(before);
    });
  });

  describe('a refused specification', () => {
    const placesOf = (body: { errors: { pointer: string; code: string }[] }) =>
      body.errors.map(({ pointer, code }) => `${pointer} ${code}`);
    const wrong = {
      connectionRef: 'unknown',
      region: 'ash',
      kubernetesVersion: '1.22',
      controlPlaneHA: true,
      network: { ...aClusterSpec().network, podCIDR: '10.250.0.0/16', serviceCIDR: '10.96.0.0/24' },
      nodePools: [
        aPool({ minimum: 4, machineType: 'm5.large' }),
        aPool({ machineType: 'cpx51', image: { name: 'arch' }, maximum: 200 }),
      ],
    };
    const placesOfWrong = [
      '/spec/network/podCIDR invalid_network',
      '/spec/network/serviceCIDR invalid_network',
      '/spec/nodePools/0/minimum invalid_node_pool',
      '/spec/nodePools/1/name invalid_node_pool',
      '/spec/nodePools quota_exceeded',
      '/spec/controlPlaneHA unsupported_by_garden',
      '/spec/connectionRef validation_failed',
      '/spec/region validation_failed',
      '/spec/kubernetesVersion unsupported_version',
      '/spec/nodePools/0/machineType invalid_node_pool',
      '/spec/nodePools/1/image/name invalid_node_pool',
    ];

    it('lists every reason, and is the problem of the first one, in a dry run and without', async () => {
      const dry = await put(aClusterSpec(wrong), '?dryRun=true').expect(422);
      const real = await put(aClusterSpec(wrong)).expect(422);

      expect([dry.body.code, placesOf(dry.body)]).toEqual(['invalid_network', placesOfWrong]);
      expect({ ...real.body, instance: '' }).toEqual({ ...dry.body, instance: '' });
      for (const { detail } of dry.body.errors) expect(detail).toMatch(/^\S.{10,}[.]$/);
    });

    it('lists what is wrong beside an invalid form, but only in a dry run', async () => {
      const { region: _region, ...unplaced } = aClusterSpec(wrong);
      const spec = { ...unplaced, plan: 'free', nodePools: [...wrong.nodePools, { name: 'third', maximum: 'many' }] };

      const dry = await put(spec, '?dryRun=true').expect(422);
      const real = await put(spec).expect(422);

      expect(dry.body.code).toBe('validation_failed');
      expect(placesOf(dry.body)).toEqual([
        '/spec/plan validation_failed',
        '/spec/nodePools/2/maximum validation_failed',
        '/spec/region validation_failed',
        '/spec/network/podCIDR invalid_network',
        '/spec/network/serviceCIDR invalid_network',
        '/spec/nodePools/0/minimum invalid_node_pool',
        '/spec/nodePools/1/name invalid_node_pool',
        '/spec/controlPlaneHA unsupported_by_garden',
        '/spec/connectionRef validation_failed',
        '/spec/kubernetesVersion unsupported_version',
        '/spec/nodePools/1/image/name invalid_node_pool',
      ]);
      expect(real.body.detail).toBe(dry.body.detail);
      expect(placesOf(real.body)).toEqual([
        '/spec/plan validation_failed',
        '/spec/nodePools/2/maximum validation_failed',
      ]);
    });
  });

  describe('conditional requests to a cluster', () => {
    const tagOf = async () => (await t.api.as(t.acme.member).get(path())).headers.etag as string;

    it('compare tags without the mark that compressing proxies add to them', async () => {
      await t.clusters.declare(name);
      const old = await tagOf();

      await put(aClusterSpec({ plan: 'monthly' }))
        .set('If-Match', `W/"other", W/${old}`)
        .expect(202);
      await put(aClusterSpec({ plan: 'annual' }))
        .set('If-Match', `W/${old}`)
        .expect(412);
    });
  });
});

describe('cost', () => {
  let team: TestTeam;
  let name: string;
  const path = (rest = '') => `/clusters/${name}/${rest}`;
  const as = () => team.asMember;
  const put = (spec: object, query = '') => as().put(`${path()}${query}`).send({ spec });
  const pool = (of: string, spec: object, query = '') =>
    as()
      .put(`${path(`node-pools/${of}/`)}${query}`)
      .send({ spec });

  beforeAll(async () => {
    team = await t.createTeam('cost');
    await addConnection(t, team);
  });
  beforeEach(async () => {
    name = freshName(t);
    await priced(aPriceList());
  });

  /** Stores a price list as the reconciler does. */
  async function priced({ currency, prices, pricedAt }: ReturnType<typeof aPriceList>): Promise<void> {
    const { id: connectionId } = await t.db.connection.findFirstOrThrow({ where: { teamId: team.id } });
    const columns = { currency, pricedAt, prices: JSON.parse(JSON.stringify(prices)) };
    await t.db.priceList.upsert({
      where: { connectionId },
      create: { connectionId, ...columns },
      update: columns,
    });
  }
  const range = (minimum: string | null, maximum: string | null) => ({ minimum, maximum });
  const priorities = async () =>
    (await as().get(path('node-pools/')).expect(200)).body.items.map(
      (item: { name: string; autoscalerPriority: number }) => [item.name, item.autoscalerPriority],
    );

  it('the cost of a cluster is in its status, also in lists', async () => {
    await declare(team, name);

    const { body } = await as().get(path()).expect(200);

    const cost = {
      currency: 'EUR',
      hourly: range('0.0218', '0.0654'),
      monthly: range('13.6', '40.8'),
      items: [{ kind: 'nodePool', name: 'general', hourly: range('0.0218', '0.0654'), reason: null }],
      pricedAt: '2026-11-20T04:00:00.000Z',
    };
    expect(body.status.cost).toMatchObject(cost);
    const { items } = (await as().get('/clusters/').expect(200)).body;
    expect(
      items.find(({ metadata }: { metadata: { name: string } }) => metadata.name === name).status.cost,
    ).toMatchObject(cost);
  });

  it('a dry run of a change shows the new cost and the difference', async () => {
    await runningCluster(t, team, name);

    const { body } = await put(aClusterSpec({ nodePools: [aPool({ maximum: 5 })] }), '?dryRun=true').expect(200);

    expect(body.cost.monthly).toEqual(range('13.6', '68'));
    expect(body.costDifference).toEqual({ hourly: range('0', '0.0436'), monthly: range('0', '27.2') });
  });

  describe('the priorities of pools', () => {
    const two = () =>
      aClusterSpec({ nodePools: [aPool({ name: 'dear', machineType: 'cpx51' }), aPool({ name: 'thrifty' })] });

    it('are computed from prices when a change is accepted and kept when prices change later', async () => {
      await put(two()).expect(202);
      expect(await priorities()).toEqual([
        ['dear', 0],
        ['thrifty', 1],
      ]);
      const { body } = await as().get(path('node-pools/thrifty/')).expect(200);
      expect(body.autoscalerPriority).toBe(1);
      const before = (await as().get(path()).expect(200)).body.metadata;

      const { cpx31, cpx51 } = aPriceList().prices.serverTypes;
      await priced(aPriceList({ serverTypes: { cpx31: cpx51 ?? {}, cpx51: cpx31 ?? {} } }));

      expect(await priorities()).toEqual([
        ['dear', 0],
        ['thrifty', 1],
      ]);
      expect((await put(two()).expect(200)).body.metadata.generation).toBe(before.generation);

      await converge(t, team, name);
      await pool('thrifty', aPool({ name: 'thrifty', maximum: 4 })).expect(200);
      expect(await priorities()).toEqual([
        ['dear', 1],
        ['thrifty', 0],
      ]);
    });
  });
});
