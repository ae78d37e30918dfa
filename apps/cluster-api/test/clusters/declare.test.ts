import type { ClusterSpec, Condition } from '@corral/contracts';
import { GardenError } from '@corral/garden';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
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
import { PUBLIC_URL, startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

describe('PUT /clusters/{name}/', () => {
  const garden = fakeGarden();
  let t: ClusterTest;
  let name: string;
  const path = () => t.acme.path(`/clusters/${name}/`);
  const put = (spec: object, query = '') => t.api.as(t.acme.member).put(`${path()}${query}`).send({ spec });
  const row = () => t.db.cluster.findUniqueOrThrow({ where: { teamId_name: { teamId: t.acme.id, name } } });

  beforeAll(async () => {
    t = await startWithConnection({ garden });
    await addConnection(t, t.acme, { ref: 'rejected', phase: 'Rejected' });
    await addConnection(t, t.globex, { ref: 'theirs' });
  });
  afterAll(() => t.close());
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

  it('writes an audit entry', async () => {
    const { headers, body } = await put(aClusterSpec()).expect(202);

    const entry = await t.db.auditEntry.findFirstOrThrow({ where: { targetName: name } });
    expect(entry).toMatchObject({
      teamId: t.acme.id,
      userId: t.acme.member.id,
      action: 'cluster.declare',
      targetKind: 'Cluster',
      requestId: headers['x-correlation-id'],
      detail: { operationId: body.operation.id, generation: 1 },
      changes: expect.arrayContaining([{ pointer: '/spec/region', from: null, to: aClusterSpec().region }]),
    });
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

  it('keeps omitted hibernation and pools', async () => {
    await t.clusters.running(name, { hibernated: true, nodePools: [aPool({ maximum: 7 })] });
    const { hibernated: _, nodePools: __, ...rest } = aClusterSpec({ plan: 'annual' });

    const { body } = await put(rest).expect(202);

    expect(body.resource.spec).toEqual(
      aClusterSpec({ plan: 'annual', hibernated: true, nodePools: [aPool({ maximum: 7 })] }),
    );
  });

  it('accepts the unchanged body of a GET without an effect', async () => {
    await t.clusters.running(name, { nodePools: [aPool(), aPool({ name: 'batch', image: {} })] });
    const { body } = await t.api.as(t.acme.member).get(path()).expect(200);
    const before = await t.clusters.everything();

    await t.api.as(t.acme.member).put(path()).send(body).expect(200);

    expect(await t.clusters.everything()).toEqual(before);
    const changed = { ...body, spec: { ...body.spec, plan: 'annual' }, status: { phase: 'Hibernated' } };
    const answer = await t.api.as(t.acme.member).put(path()).send(changed).expect(202);
    expect(answer.body.resource).toMatchObject({ spec: { plan: 'annual' }, status: { phase: 'Updating' } });
  });

  it('refuses the body of another cluster', async () => {
    await t.clusters.declare(name);
    const { body } = await t.api.as(t.acme.member).get(path()).expect(200);

    const answer = await t.api
      .as(t.acme.member)
      .put(t.acme.path(`/clusters/${name}-copy/`))
      .send(body)
      .expect(422);

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
    const audit = await t.api
      .as(t.acme.admin)
      .get(t.acme.path(`/audit/?name=${name}`))
      .expect(200);
    expect(audit.body.items[0]).toMatchObject({ action: 'cluster.declare', changes });
  });

  it('answers 200 and writes nothing for the same specification, in any order of members', async () => {
    await t.clusters.running(name);
    const before = await t.clusters.everything();
    const reversed = Object.fromEntries(Object.entries(aClusterSpec()).reverse());

    const answer = await put(reversed).expect(200);

    expect(answer.body.metadata.generation).toBe(1);
    expect(answer.headers.etag).toBe(answer.body.metadata.etag);
    expect(answer.headers['operation-location']).toBeUndefined();
    expect(await t.clusters.everything()).toEqual(before);
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

  it('declares again at once, and once, when another manager holds a field that the running operation waits for', async () => {
    await t.clusters.running(name);
    const { operation } = (await put(aClusterSpec({ plan: 'annual' })).expect(202)).body;
    await t.clusters.showConditions(name, { Drifted: 'True', Reconciled: 'False' });
    t.wakeups.length = 0;

    const { body } = await put(aClusterSpec({ plan: 'annual' })).expect(202);

    expect(body.resource.metadata.generation).toBe(3);
    expect(await t.clusters.operationsOf(name)).toEqual([
      'cluster.create succeeded',
      'cluster.update superseded',
      'cluster.update queued',
    ]);
    expect(operation.id).not.toBe(body.operation.id);
    expect(t.wakeups).toContainEqual({ job: 'reconcile-cluster', payload: { clusterId: body.resource.metadata.id } });
    // Nothing new until a pass has seen what the others did after it.
    await put(aClusterSpec({ plan: 'annual' })).expect(200);
  });

  it('is a retry when it is repeated after a failure', async () => {
    await t.clusters.declare(name);
    await t.clusters.beginFirstPass(name);
    await t.clusters.endOperations(name, 'failed');
    const read = async () => (await t.api.as(t.acme.member).get(path()).expect(200)).body.status.lastOperation;
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

  it('refuses a retry over a rejected connection', async () => {
    await addConnection(t, t.acme, { ref: `lost-${name}` });
    await t.clusters.declare(name, { connectionRef: `lost-${name}` });
    await t.clusters.beginFirstPass(name);
    await t.clusters.endOperations(name, 'failed');
    await t.db.connection.updateMany({ where: { ref: `lost-${name}` }, data: { phase: 'Rejected' } });

    const { body } = await put(aClusterSpec({ connectionRef: `lost-${name}` })).expect(409);

    expect(body.code).toBe('connection_rejected');
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

  it('shows a changed cluster as Updating immediately and keeps the last observations', async () => {
    await t.clusters.running(name);

    const { body } = await put(aClusterSpec({ plan: 'annual' })).expect(202);

    expect(body.resource.metadata).toMatchObject({ generation: 2, observedGeneration: 1 });
    expect(body.resource.status.phase).toBe('Updating');
    const statuses = body.resource.status.conditions.map(
      (each: Condition) => `${each.type} ${each.status} ${each.reason}`,
    );
    expect(statuses).toEqual([
      'ControlPlaneReady True Observed',
      'Reconciled False Queued',
      'SpecAccepted True Accepted',
    ]);
    expect((await t.api.as(t.acme.member).get(path())).body).toEqual(body.resource);
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

  it('is refused over a rejected connection, except for a draft', async () => {
    const { body } = await put(aClusterSpec({ connectionRef: 'rejected' })).expect(409);

    expect(body.code).toBe('connection_rejected');
    await put(aClusterSpec({ connectionRef: 'rejected', nodePools: [] })).expect(202);
  });

  it('does not find the connection of another team', async () => {
    const { body } = await put(aClusterSpec({ connectionRef: 'theirs' })).expect(422);

    expect(body).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/spec/connectionRef' }] });
  });

  it('answers 409 while the cluster is being deleted and creates a new one after that', async () => {
    await t.clusters.running(name);
    await t.api.as(t.acme.member).delete(path()).expect(202);

    expect((await put(aClusterSpec()).expect(409)).body.code).toBe('cluster_deleting');

    await t.pool.query('DELETE FROM cluster WHERE name = $1', [name]);
    expect((await put(aClusterSpec()).expect(202)).body.resource.metadata.generation).toBe(1);
  });

  describe('while the garden is unavailable', () => {
    it('uses the cached catalogue, or answers 502 with Retry-After without one', async () => {
      const away = fakeGarden();
      away.failure = new GardenError('unreachable', 'no connection');
      let now = 0;
      const alone = await startClusterApi({ garden: away, deps: { now: () => now } });
      try {
        await addConnection(alone, alone.acme);
        const send = () =>
          alone.api.as(alone.acme.member).put(alone.acme.path('/clusters/web/')).send({ spec: aClusterSpec() });

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
        await alone.api
          .as(alone.acme.member)
          .put(alone.acme.path('/clusters/other/'))
          .send({ spec: aClusterSpec() })
          .expect(202);
      } finally {
        await alone.close();
      }
    });

    it('accepts changes that need no catalogue', async () => {
      await t.clusters.running(name);
      const reads = garden.catalogueReads;

      await put(aClusterSpec({ plan: 'monthly' })).expect(202);

      expect(garden.catalogueReads).toBe(reads);
    });
  });
});

describe('an invalid specification', () => {
  const network = (more: Partial<ClusterSpec['network']>) => ({ network: { ...aClusterSpec().network, ...more } });
  const pools = (...more: Parameters<typeof aPool>) => ({ nodePools: [aPool(...more)] });

  /** Asserts status, code, the first pointer, and that `detail` is a sentence. */
  function expectProblem(
    answer: { status: number; body: Record<string, unknown> },
    wanted: readonly [number, string, string?],
  ) {
    const [status, code, pointer] = wanted;
    const { errors, detail } = answer.body as { errors?: { pointer: string }[]; detail: string };
    expect([answer.status, answer.body.code, errors?.[0]?.pointer]).toEqual([status, code, pointer]);
    expect(detail).toMatch(/^\S.{10,}[.]$/);
  }
  let t: TestClusterApi;
  beforeAll(async () => {
    t = await startClusterApi();
    await addConnection(t, t.acme);
    await runningCluster(t, t.acme, 'there');
  });
  afterAll(() => t.close());

  const put = (name: string, body: unknown) =>
    t.api
      .as(t.acme.member)
      .put(t.acme.path(`/clusters/${name}/`))
      .send(body as object);

  it.each<[string, object, [number, string, string?]]>([
    ['has an unknown field', { ...aClusterSpec(), nodePool: [] }, [422, 'validation_failed', '/spec/nodePool']],
    [
      'has overlapping ranges',
      aClusterSpec(network({ serviceCIDR: '10.244.0.0/20' })),
      [422, 'invalid_network', '/spec/network/serviceCIDR'],
    ],
    [
      'has a version that is not offered',
      aClusterSpec({ kubernetesVersion: '1.22.1' }),
      [422, 'unsupported_version', '/spec/kubernetesVersion'],
    ],
    [
      'has an arm64 machine type',
      aClusterSpec(pools({ machineType: 'cax21' })),
      [422, 'unsupported_by_garden', '/spec/nodePools/0/machineType'],
    ],
    [
      'has two pools with the same name',
      aClusterSpec({ nodePools: [aPool(), aPool()] }),
      [422, 'invalid_node_pool', '/spec/nodePools/1/name'],
    ],
    ['has too many nodes', aClusterSpec(pools({ maximum: 101 })), [403, 'quota_exceeded', '/spec/nodePools']],
  ])('that %s is refused with a code and pointer, and nothing is written', async (_what, spec, wanted) => {
    const before = await everythingOf(t, t.acme);

    expectProblem(await put('new', { spec }), wanted);
    expect(await everythingOf(t, t.acme)).toEqual(before);
  });

  it.each<[string, Partial<ClusterSpec>, [number, string, string?]]>([
    ['connection', { connectionRef: 'other' }, [422, 'immutable_field', '/spec/connectionRef']],
    [
      'version by two minor versions',
      { kubernetesVersion: '1.35.0' },
      [422, 'unsupported_version', '/spec/kubernetesVersion'],
    ],
  ])('that changes the %s of a running cluster is refused, and nothing is written', async (_what, spec, wanted) => {
    const before = await everythingOf(t, t.acme);

    expectProblem(await put('there', { spec: aClusterSpec(spec) }), wanted);
    expect(await everythingOf(t, t.acme)).toEqual(before);
  });

  it.each([
    ['in capitals', 'Web'],
    ['with an underscore', 'web_1'],
    ['of 64 characters', 'w'.repeat(64)],
    ['that ends in a hyphen', 'web-'],
    ['with a NUL', 'web%00'],
    ['with an escaped slash', 'a%2Fb'],
  ])('for a cluster name %s is refused', async (_what, name) => {
    expectProblem(await put(name, { spec: aClusterSpec() }), [422, 'validation_failed', '']);
  });

  it('with a misspelt dryRun is refused instead of applied', async () => {
    const answer = await t.api
      .as(t.acme.member)
      .put(t.acme.path('/clusters/new/?dryrun=true'))
      .send({ spec: aClusterSpec() });

    expectProblem(answer, [422, 'validation_failed', '/query/dryrun']);
  });
});

describe('a specification that needs an optional garden feature', () => {
  const cases: [feature: string, spec: Partial<ClusterSpec>, pointer: string][] = [
    [
      'existing-network',
      { network: { ...aClusterSpec().network, existingNetwork: 'backbone' } },
      '/spec/network/existingNetwork',
    ],
    ['private-nodes', { nodePools: [aPool({ publicIP: false })] }, '/spec/nodePools/0/publicIP'],
    [
      'image-options',
      { nodePools: [aPool({ image: { name: 'ubuntu', hugePages: 2 } })] },
      '/spec/nodePools/0/image/hugePages',
    ],
  ];
  let able: TestClusterApi;
  let plain: TestClusterApi;
  beforeAll(async () => {
    able = await startClusterApi({
      config: { gardenFeatures: new Set(['existing-network', 'private-nodes', 'image-options'] as const) },
    });
    plain = await startClusterApi();
    for (const t of [able, plain]) await addConnection(t, t.acme);
  });
  afterAll(() => Promise.all([able.close(), plain.close()]));

  const put = (t: TestClusterApi, name: string, spec: unknown) =>
    t.api
      .as(t.acme.member)
      .put(t.acme.path(`/clusters/${name}/`))
      .send({ spec });

  it.each(cases)('is accepted when %s is enabled, and answered as declared', async (name, spec) => {
    const { body } = await put(able, name, aClusterSpec(spec)).expect(202);

    expect(body.resource.spec).toMatchObject(spec);
  });

  it.each(cases)('is refused without %s, with who can enable it', async (name, spec, pointer) => {
    const { body } = await put(plain, name, aClusterSpec(spec)).expect(422);

    expect(body).toMatchObject({ code: 'unsupported_by_garden', errors: [{ pointer }] });
    expect(body.detail).toContain(`ask the operators of this installation to enable ${name}`);
  });

  it('cannot change the existing network of a started cluster', async () => {
    await declare(able, able.acme, 'started');
    await converge(able, able.acme, 'started');
    const network = { ...aClusterSpec().network, existingNetwork: 'backbone' };

    const { body } = await put(able, 'started', aClusterSpec({ network })).expect(422);

    expect(body).toMatchObject({ code: 'immutable_field', errors: [{ pointer: '/spec/network/existingNetwork' }] });
  });
});
