import { randomUUID } from 'node:crypto';
import { type NodePoolSpec, weekdayNames } from '@corral/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import {
  addConnection,
  type ClusterTest,
  declare,
  declareDraft,
  endOperations,
  freshName,
  runningCluster,
  startWithConnection,
} from '../support/clusters.js';
import { PUBLIC_URL, type TestTeam } from '../support/start-cluster-api.js';

let t: ClusterTest;

beforeAll(async () => {
  t = await startWithConnection();
});

afterAll(() => t.close());

describe('DELETE /clusters/{name}/', () => {
  let name: string;
  const remove = (query = '') => t.acme.asMember.delete(`/clusters/${name}/${query}`);
  const rows = () => t.db.cluster.count({ where: { teamId: t.acme.id, name } });
  beforeEach(() => {
    name = freshName(t);
  });

  it('removes a cluster before its first pass and cancels its operations', async () => {
    await t.clusters.declare(name);

    await remove().expect(204);

    expect(await rows()).toBe(0);
    expect(await t.clusters.operationsOf(name)).toEqual(['cluster.create cancelled']);
    const entry = await t.db.auditEntry.findFirst({ where: { targetName: name, action: 'cluster.delete' } });
    expect(entry).toMatchObject({
      userId: t.acme.member.id,
      changes: [{ pointer: '/spec', from: expect.objectContaining({ region: aClusterSpec().region }), to: null }],
    });
  });

  it('refuses while the cluster is protected, also a dry run, until the protection is lifted', async () => {
    await t.clusters.declare(name, { deletionProtection: true });

    for (const query of ['', '?dryRun=true']) {
      expect((await remove(query).expect(409)).body).toMatchObject({
        code: 'deletion_protected',
        detail: `Cluster ${name} is protected from deletion. Set deletionProtection of its specification to false first.`,
      });
    }
    const { deletionProtection: _protected, ...spec } = aClusterSpec();
    const put = (body: object) => t.acme.asMember.put(`/clusters/${name}/`).send({ spec: body }).expect(200);
    expect((await put(spec)).body.spec).toMatchObject({ deletionProtection: true });
    await t.acme.asMember
      .put(`/clusters/${name}/`)
      .send({ spec: { ...spec, deletionProtection: false } })
      .expect(202);

    await remove().expect(204);
  });

  it('answers 202 for a started cluster, with the operation to poll and the phase Deleting', async () => {
    await t.clusters.declare(name);
    await t.clusters.beginFirstPass(name);
    t.wakeups.length = 0;

    const { body, headers } = await remove().expect(202);

    expect(body).toMatchObject({
      operation: { kind: 'cluster.delete', state: 'queued', target: { name } },
      resource: { metadata: { generation: 2 }, status: { phase: 'Deleting' } },
    });
    expect(headers['operation-location']).toBe(body.operation.self);
    expect(await t.clusters.operationsOf(name)).toEqual(['cluster.create superseded', 'cluster.delete queued']);
    const stored = await t.db.cluster.findFirstOrThrow({ where: { name } });
    expect(stored.deletionRequestedAt).not.toBeNull();
    expect(stored.dueAt).not.toBeNull();
    expect(t.wakeups).toEqual([{ job: 'reconcile-cluster', payload: { clusterId: stored.id } }]);
  });

  it('answers the same operation when it is repeated, also with the previous tag, and a new one after it failed', async () => {
    await t.clusters.running(name);
    const etag = (await t.acme.asMember.get(`/clusters/${name}/`)).headers.etag as string;
    const first = (await remove().set('If-Match', etag).expect(202)).body;

    const again = (await remove().set('If-Match', etag).expect(202)).body;
    await t.clusters.endOperations(name, 'failed');
    const anew = (await remove().expect(202)).body;

    expect(again.operation.id).toBe(first.operation.id);
    expect(again.resource.metadata.generation).toBe(first.resource.metadata.generation);
    expect(anew.operation).toMatchObject({ kind: 'cluster.delete', state: 'queued' });
    expect(anew.operation.id).not.toBe(first.operation.id);
    expect(anew.resource.metadata.generation).toBe(first.resource.metadata.generation + 1);
  });

  it('as a dry run lists what would be deleted and writes nothing', async () => {
    await t.clusters.running(name, { nodePools: [aPool({ minimum: 2, maximum: 2 }), aPool({ name: 'burst' })] });
    const before = await t.clusters.everything();

    const { body } = await remove('?dryRun=true').expect(200);

    expect(body.resource.metadata.name).toBe(name);
    expect(body.deletes.map(({ kind, name: of, count }: Record<string, unknown>) => [kind, of, count])).toEqual([
      ['Node', 'general', 2],
      ['Node', 'burst', null],
      ['Volume', null, null],
      ['LoadBalancer', null, null],
    ]);
    expect(body.effects).toMatchObject([
      { target: 'cluster', kind: 'deleted', kubernetesVersion: { after: null } },
      { pool: 'general', kind: 'removed', nodes: { before: { minimum: 2, maximum: 2 }, after: null } },
      { pool: 'burst', kind: 'removed', nodes: { before: { minimum: 1, maximum: 3 }, after: null } },
    ]);
    expect(await t.clusters.everything()).toEqual(before);
  });
});

describe('a change of a cluster', () => {
  const pool = { spec: aPool({ maximum: 9 }) };
  it.each<[string, 'put' | 'post' | 'delete', string, object | undefined]>([
    ['deletion', 'delete', '', undefined],
    ['another specification', 'put', '', { spec: aClusterSpec({ plan: 'annual' }) }],
    ['hibernation', 'post', 'hibernate/', undefined],
    ['resumption', 'post', 'resume/', undefined],
    ['a retry', 'post', 'retry/', undefined],
    ['another pool', 'put', 'node-pools/general/', pool],
    ['the removal of a pool', 'delete', 'node-pools/general/', undefined],
    ['a kubeconfig', 'post', 'kubeconfig/', undefined],
  ])(
    'that is %s needs a cluster, its current tag, and that it is not being deleted',
    async (what, method, rest, body) => {
      const name = freshName(t);
      const path = (of = '') => `/clusters/${name}/${of}`;
      const send = () => t.acme.asMember[method](path(rest)).send(body);
      const isNew = what === 'another specification';
      if (!isNew) expect((await send().expect(404)).body.code).toBe('not_found');
      await t.clusters.running(name, { nodePools: [aPool(), aPool({ name: 'more' })] });
      const before = await t.clusters.everything();

      expect((await send().set('If-Match', '"old"').expect(412)).body.code).toBe('precondition_failed');
      expect(await t.clusters.everything()).toEqual(before);

      const { operation } = (await t.acme.asMember.delete(path()).expect(202)).body;
      const { status, body: answer } = await send();
      if (what === 'deletion') expect([status, answer.operation.id]).toEqual([202, operation.id]);
      else expect([status, answer.code]).toEqual([409, 'cluster_deleting']);
    },
  );
});

describe('a schedule of hibernation', () => {
  const awake = [{ weekdays: ['monday', 'friday'], from: '07:00', until: '20:00' }];
  const always = [{ weekdays: [...weekdayNames], from: '00:00', until: '24:00' }];
  const { nodePools: _pools, ...spec } = aClusterSpec();
  const put = (name: string, hibernationSchedule?: object) =>
    t.acme.asMember
      .put(`/clusters/${name}/`)
      .send({ spec: { ...spec, ...(hibernationSchedule && { hibernationSchedule }) } });
  const stored = (name: string) => t.db.cluster.findFirstOrThrow({ where: { name } });

  it('is kept until it has no hours, and begins as it is at that moment', async () => {
    const name = freshName(t);
    await t.clusters.declare(name);

    const { body } = await put(name, { timeZone: 'Europe/Berlin', awake: always }).expect(202);
    const schedule = { timeZone: 'Europe/Berlin', awake: always, exceptions: [] };
    expect(body.resource.spec).toMatchObject({ hibernated: false, hibernationSchedule: schedule });
    expect(await stored(name)).toMatchObject({ asleepBySchedule: false });
    expect((await put(name).expect(200)).body.spec.hibernationSchedule).toEqual(schedule);
    // A time of the schedule that nobody has followed yet.
    await t.db.cluster.updateMany({ where: { name }, data: { asleepBySchedule: true } });
    await t.acme.asMember
      .put(`/clusters/${name}/`)
      .send({ spec: { ...spec, plan: 'annual' } })
      .expect(202);
    expect(await stored(name)).toMatchObject({ asleepBySchedule: true });
    await put(name, { awake, exceptions: [{ date: '2026-12-24' }] }).expect(202);
    await put(name, { awake: [] }).expect(202);

    expect((await put(name).expect(200)).body.spec).not.toHaveProperty('hibernationSchedule');
    expect(await stored(name)).toMatchObject({ asleepBySchedule: null });
  });
});

describe('hibernate retry', () => {
  let name: string;
  const post = (what: 'hibernate' | 'resume' | 'retry') => t.acme.asMember.post(`/clusters/${name}/${what}/`);
  beforeEach(() => {
    name = freshName(t);
  });

  describe.each([
    { what: 'hibernate', before: false },
    { what: 'resume', before: true },
  ] as const)('POST /clusters/{name}/$what/', ({ what, before }) => {
    it('changes only hibernated: 202 with the operation to poll', async () => {
      await t.clusters.running(name, { hibernated: before });

      const { body, headers } = await post(what).expect(202);

      expect(body).toMatchObject({
        operation: { kind: `cluster.${what}`, state: 'queued' },
        resource: { metadata: { generation: 2 }, spec: aClusterSpec({ hibernated: !before }) },
      });
      expect(headers['operation-location']).toBe(body.operation.self);
      expect(headers.etag).toBe(body.resource.metadata.etag);
      expect(t.wakeups).toContainEqual({ job: 'reconcile-cluster', payload: { clusterId: body.resource.metadata.id } });
      const entry = await t.db.auditEntry.findFirst({ where: { targetName: name, action: `cluster.${what}` } });
      expect(entry).toMatchObject({
        detail: { operationId: body.operation.id },
        changes: [{ pointer: '/spec/hibernated', from: before, to: !before }],
      });
    });

    it('refuses a body, of which its sender expects something, and writes nothing', async () => {
      await t.clusters.running(name, { hibernated: before });
      const written = await t.clusters.everything();

      const { body } = await post(what).send({ dryRun: true }).expect(422);

      expect([body.code, body.errors[0].pointer]).toEqual(['validation_failed', '']);
      expect(await t.clusters.everything()).toEqual(written);
      await post(what).send({}).expect(202);
    });

    it('answers 200 and writes nothing when nothing changes', async () => {
      await t.clusters.running(name, { hibernated: !before });
      const written = await t.clusters.everything();

      const { body, headers } = await post(what).expect(200);

      expect(body.spec.hibernated).toBe(!before);
      expect(headers['operation-location']).toBeUndefined();
      expect(await t.clusters.everything()).toEqual(written);
    });

    it('of a draft is stored for its start', async () => {
      await t.clusters.declare(name, { nodePools: [], hibernated: before });

      const { body } = await post(what).expect(202);

      expect(body.operation).toMatchObject({ kind: `cluster.${what}`, state: 'succeeded', progress: 100 });
      expect(body.resource).toMatchObject({ spec: { hibernated: !before }, status: { phase: 'Draft' } });
      expect(t.wakeups).toEqual([]);
    });

    it('takes effect once per idempotency key, whatever changed in between', async () => {
      await t.clusters.running(name, { hibernated: before });
      const key = `${what}-${name}`;
      const first = (await post(what).set('Idempotency-Key', key).expect(202)).body;
      await post(what === 'hibernate' ? 'resume' : 'hibernate').expect(202);

      const again = (await post(what).set('Idempotency-Key', key).expect(202)).body;

      expect(again.operation).toMatchObject({ id: first.operation.id, state: 'superseded' });
      expect(again.resource.spec.hibernated).toBe(before);
    });
  });

  describe('POST /clusters/{name}/retry/', () => {
    it('accepts the same specification again after its operation failed', async () => {
      const { operation } = await t.clusters.declare(name);
      await t.clusters.converge(name);
      await t.acme.asMember.put(`/clusters/${name}/`).send({ spec: aClusterSpec({ plan: 'annual' }) });
      await t.clusters.endOperations(name, 'failed');
      t.wakeups.length = 0;

      const { body } = await post('retry').expect(202);

      expect(body).toMatchObject({
        operation: { kind: 'cluster.update', state: 'queued' },
        resource: { metadata: { generation: 3 }, spec: aClusterSpec({ plan: 'annual' }) },
      });
      expect(body.operation.desiredHash).not.toBe(operation.desiredHash);
      expect(await t.clusters.operationsOf(name)).toEqual([
        'cluster.create succeeded',
        'cluster.update failed',
        'cluster.update queued',
      ]);
      expect(t.wakeups).toHaveLength(1);
    });

    it('answers 200 and writes nothing while the operation runs, and after it succeeded', async () => {
      await t.clusters.declare(name);
      const written = await t.clusters.everything();
      await post('retry').expect(200);
      expect(await t.clusters.everything()).toEqual(written);

      await t.clusters.converge(name);
      await post('retry').expect(200);
    });
  });
});

describe('operations', () => {
  let team: TestTeam;

  beforeAll(async () => {
    team = await t.createTeam('operations');
    await addConnection(t, team);
  });

  const at = (operation: { self: string }) => t.api.as(team.member).get(new URL(operation.self).pathname).expect(200);

  it('are answered at their self URL with the person who requested the change, also after their cluster is gone', async () => {
    const { operation } = await declareDraft(team, 'gone');
    await team.asMember.delete('/clusters/gone/').expect(204);

    expect((await at(operation)).body).toEqual(operation);
    expect(operation.self).toBe(`${PUBLIC_URL}/api/v1/teams/operations/operations/${operation.id}/`);
    const { email } = team.member;
    expect(operation.createdBy).toEqual({ id: expect.any(Number), email, displayName: email });
    const { items } = (await team.asMember.get('/operations/?target=gone').expect(200)).body;
    expect(items[0].createdBy).toEqual(operation.createdBy);
  });

  it('explain a failure and what to do', async () => {
    const { operation } = await declare(team, 'failing');
    await endOperations(t, team, 'failing', 'failed');

    expect((await at(operation)).body.error).toEqual({
      code: 'provider_capacity',
      message: 'Sold out.',
      retryable: true,
      hint: 'Take another machine type.',
    });
  });

  it.each([randomUUID(), 'x'])('are not found by the id %s', async (id) => {
    expect((await team.asMember.get(`/operations/${id}/`).expect(404)).body.code).toBe('not_found');
  });

  describe('GET /operations/', () => {
    interface Listed {
      items: { id: string; kind: string; state: string; createdAt: string; target: { name: string; id: string } }[];
      next: string | null;
    }
    const list = async (query = ''): Promise<Listed> =>
      (await team.asMember.get(`/operations/?${query}`).expect(200)).body;

    it('lists the team’s operations, newest first', async () => {
      await runningCluster(t, team, 'listed');
      await team.asMember.post('/clusters/listed/hibernate/').expect(202);

      const { items } = await list();

      expect(items.slice(0, 2).map(({ kind, target }) => [kind, target.name])).toEqual([
        ['cluster.hibernate', 'listed'],
        ['cluster.create', 'listed'],
      ]);
      const times = items.map(({ createdAt }) => createdAt);
      expect(times).toEqual(times.toSorted().reverse());
    });

    it('filters by the target’s name or id, and by several states and kinds', async () => {
      const { resource } = await declare(team, 'wanted');

      const byName = await list('target=wanted');
      const both = await list('state=failed&state=queued&kind=cluster.create&kind=cluster.delete');

      expect(byName.items).toHaveLength(1);
      expect(await list(`target=${resource.metadata.id}`)).toEqual(byName);
      expect(new Set(both.items.map(({ state, kind }) => `${kind} ${state}`))).toEqual(
        new Set(['cluster.create failed', 'cluster.create queued']),
      );
      for (const query of ['target=nothing', 'kind=cluster.delete']) expect((await list(query)).items).toEqual([]);
    });

    it('lists each operation once over all pages, also with equal times', async () => {
      await t.pool.query(`UPDATE operation SET created_at = '2026-11-21' WHERE team_id = $1 AND state = 'queued'`, [
        team.id,
      ]);
      const whole = await list();
      const seen: string[] = [];
      let next: string | null = '';
      while (next !== null) {
        const page: Listed = await list(next === '' ? 'limit=2' : `limit=2&cursor=${next}`);
        seen.push(...page.items.map(({ id }) => id));
        next = page.next;
      }

      expect(seen).toEqual(whole.items.map(({ id }) => id));
      expect(new Set(seen).size).toBe(seen.length);
    });
  });
});

describe('node pools', () => {
  let name: string;
  const poolPath = (pool: string) => `/clusters/${name}/node-pools/${pool}/`;
  const put = (pool: string, spec: Partial<NodePoolSpec> & object, query = '') =>
    t.acme.asMember.put(`${poolPath(pool)}${query}`).send({ spec });
  const get = (pool: string) => t.acme.asMember.get(poolPath(pool));
  const remove = (pool: string) => t.acme.asMember.delete(poolPath(pool));
  const readCluster = () => t.acme.asMember.get(`/clusters/${name}/`);

  beforeEach(() => {
    name = freshName(t);
  });

  describe('PUT /clusters/{cluster}/node-pools/{pool}/', () => {
    it('adds a pool: 201 with the pool, and the operation of its cluster in a header', async () => {
      await t.clusters.running(name);

      const { body, headers } = await put('burst', { name: 'burst', machineType: 'cpx51' }).expect(201);

      expect(body).toEqual({
        ...aPool({ name: 'burst', machineType: 'cpx51', minimum: 0, maximum: 3 }),
        autoscalerPriority: 0,
        status: { pet: false, backingReady: null },
      });
      const cluster = (await readCluster()).body;
      expect(cluster.spec.nodePools.map((pool: NodePoolSpec) => pool.name)).toEqual(['general', 'burst']);
      expect(headers.etag).toBe(cluster.metadata.etag);
      const { body: operation } = await t.api
        .as(t.acme.member)
        .get(new URL(headers['operation-location'] as string).pathname)
        .expect(200);
      expect(operation).toMatchObject({ kind: 'cluster.update', state: 'queued', target: { name } });
      expect(t.wakeups).toContainEqual({ job: 'reconcile-cluster', payload: { clusterId: cluster.metadata.id } });
    });

    it('changes a pool: 200, in its place in the specification', async () => {
      await t.clusters.running(name, { nodePools: [aPool({ name: 'a' }), aPool({ name: 'b' })] });

      const { body, headers } = await put('a', aPool({ name: 'a', maximum: 8 })).expect(200);

      expect(body.maximum).toBe(8);
      expect(headers['operation-location']).toBeDefined();
      const { spec } = (await readCluster()).body;
      expect(spec).toEqual(aClusterSpec({ nodePools: [aPool({ name: 'a', maximum: 8 }), aPool({ name: 'b' })] }));
    });

    it('keeps an omitted image, and names the values that defaults replaced in plan, answer and log', async () => {
      const present = aPool({ image: { name: 'ubuntu' }, maximum: 6 });
      await t.clusters.running(name, { nodePools: [present] });
      const { maximum: _maximum, image: _image, ...spec } = present;
      const reset = { from: 6, to: 3, byDefault: true };

      const planned = (await put('general', spec, '?dryRun=true').expect(200)).body;
      const { body } = await put('general', spec).expect(200);

      expect(planned.changes).toEqual([{ pointer: '/spec/maximum', ...reset }]);
      expect(body).toMatchObject({ ...present, maximum: 3, resetToDefault: [{ pointer: '/spec/maximum', ...reset }] });
      const audit = await t.acme.asAdmin.get(`/audit/?name=${name}`).expect(200);
      expect(audit.body.items[0].changes).toEqual([{ pointer: '/spec/nodePools/0/maximum', ...reset }]);
      // What was answered can be sent back.
      await t.acme.asMember.put(poolPath('general')).send(body).expect(200);
    });

    it.each<[string, Partial<NodePoolSpec>, number, string, string]>([
      ['another name than the path', { name: 'other' }, 422, 'validation_failed', '/spec/name'],
      ['an unknown machine type', { machineType: 'x1' }, 422, 'invalid_node_pool', '/spec/machineType'],
      ['more nodes than the quota allows', { maximum: 98 }, 403, 'quota_exceeded', '/spec'],
    ])('is refused with %s, and nothing is written', async (_what, pool, status, code, pointer) => {
      await t.clusters.running(name);
      const before = await t.clusters.everything();

      const { body } = await put('burst', aPool({ name: 'burst', ...pool })).expect(status);

      expect(body).toMatchObject({ code, errors: [{ pointer }] });
      expect(await t.clusters.everything()).toEqual(before);
    });

    it('as a dry run answers the pool and the cost of its cluster, and writes nothing', async () => {
      await t.clusters.running(name);
      const before = await t.clusters.everything();

      const changed = (await put('general', aPool({ maximum: 9 }), '?dryRun=true').expect(200)).body;
      const added = (await put('burst', aPool({ name: 'burst' }), '?dryRun=true').expect(200)).body;

      expect(changed).toMatchObject({
        resource: { name: 'general', maximum: 9 },
        cost: { items: [{ name: 'general', maximum: 9 }] },
        changes: [{ pointer: '/spec/maximum', from: 3, to: 9 }],
        effects: [{ pool: 'general', kind: 'scaled', fields: ['/spec/maximum'] }],
      });
      expect(added.effects).toMatchObject([
        { pool: 'general', kind: 'kept' },
        { pool: 'burst', kind: 'added', fields: ['/spec'] },
      ]);
      expect(added.changes).toContainEqual({ pointer: '/spec/name', from: null, to: 'burst' });
      expect(await t.clusters.everything()).toEqual(before);
    });
  });

  it('DELETE /clusters/{cluster}/node-pools/{pool}/ removes the pool: 204 with the operation of its cluster in a header', async () => {
    await t.clusters.running(name, { nodePools: [aPool({ name: 'a' }), aPool({ name: 'b' })] });

    const { headers, text } = await remove('a').expect(204);

    expect(text).toBe('');
    expect(headers['operation-location']).toMatch(/\/operations\//);
    expect(headers.etag).toBe((await readCluster()).headers.etag);
    await get('a').expect(404);
    expect(await t.clusters.operationsOf(name)).toEqual(['cluster.create succeeded', 'cluster.update queued']);
  });

  it('reading node pools answers one pool with the tag of its cluster', async () => {
    await t.clusters.declare(name);

    const { body, headers } = await get('general').expect(200);

    expect(body).toMatchObject(aPool());
    expect(headers.etag).toBe((await readCluster()).headers.etag);
  });
});

describe('reading clusters', () => {
  let team: TestTeam;

  beforeAll(async () => {
    team = await t.createTeam('reading');
    await addConnection(t, team);
    for (const name of ['delta', 'alpha', 'charlie', 'bravo']) await declare(team, name);
  });

  describe('GET /clusters/{name}/', () => {
    it('answers the cluster with its tag for revalidation', async () => {
      const { body, headers } = await team.asMember.get('/clusters/alpha/').expect(200);

      expect(body.metadata.name).toBe('alpha');
      expect(headers.etag).toBe(body.metadata.etag);
      expect(headers.etag).toMatch(/^"[^"]+"$/);
      expect(headers['cache-control']).toBe('private, no-cache');
    });

    it('answers 304 for the current tag', async () => {
      const { etag } = (await team.asMember.get('/clusters/alpha/')).headers;

      const answer = await team.asMember.get('/clusters/alpha/').set('If-None-Match', `W/"other", ${etag}`).expect(304);

      expect(answer.headers.etag).toBe(etag);
      expect(answer.text).toBe('');
    });

    describe('with the observed state of its pools', () => {
      const image = { name: 'ubuntu', version: '24.4.0' };
      const of = (image: object | null, nodes: object | null) => ({ name: 'general', image, nodes });
      const seen = (nodePools: object[], counts: object | null) =>
        t.pool.query(`UPDATE cluster SET observed = $1, node_counts = $2 WHERE name = 'alpha'`, [
          JSON.stringify({ kubernetes: null, apiServer: null, nodePools, maintenance: null }),
          counts && JSON.stringify(counts),
        ]);
      const poolsOf = async () => (await team.asMember.get('/clusters/alpha/').expect(200)).body.status.nodePools;

      const numbers = { ready: 1, total: 2 };
      it.each<[string, object[], object | null, object[]]>([
        ['images and node counts', [{ name: 'general', image }], { general: numbers }, [of(image, numbers)]],
        ['nothing of removed pools', [{ name: 'gone', image }], { gone: numbers }, []],
      ])('answers %s', async (_what, images, counts, expected) => {
        await seen(images, counts);

        expect(await poolsOf()).toEqual(expected);
      });
    });

    it.each(['nothing', 'ALPHA', 'alpha%00', `${'a'.repeat(64)}`])('answers 404 for %s', async (name) => {
      expect((await team.asMember.get(`/clusters/${name}/`).expect(404)).body.code).toBe('not_found');
    });
  });

  describe('GET /clusters/', () => {
    const namesIn = (body: { items: { metadata: { name: string } }[] }) =>
      body.items.map(({ metadata }) => metadata.name);

    it('lists them in pages that stay stable while clusters are created or deleted', async () => {
      const first = (await team.asMember.get('/clusters/?limit=2').expect(200)).body;
      await declare(team, 'abacus');

      const second = (await team.asMember.get(`/clusters/?limit=2&cursor=${first.next}`).expect(200)).body;
      await t.db.cluster.deleteMany({ where: { name: 'abacus' } });

      expect([namesIn(first), namesIn(second)]).toEqual([
        ['alpha', 'bravo'],
        ['charlie', 'delta'],
      ]);
      expect(second.next).toBeNull();
    });

    it('filters by phases and by the connection', async () => {
      const of = async (query: string) => namesIn((await team.asMember.get(`/clusters/?${query}`).expect(200)).body);
      const { rows } = await t.pool.query<{ phase: string; ref: string }>(
        `SELECT cluster.phase, connection.ref FROM cluster JOIN connection ON connection.id = connection_id
         WHERE cluster.team_id = $1 AND cluster.name = 'alpha'`,
        [team.id],
      );
      const { phase, ref } = rows[0] as { phase: string; ref: string };

      expect(await of(`phase=${phase}&phase=Deleting&connection=${ref}`)).toContain('alpha');
      expect(await of('phase=Deleting')).toEqual([]);
      expect(await of('connection=other')).toEqual([]);
    });
  });
});

describe('two teams', () => {
  beforeAll(() => addConnection(t, t.globex));

  it('have separate quotas', async () => {
    const [full, free] = [await t.createTeam('full'), await t.createTeam('free')];
    await t.db.team.update({ where: { id: full.id }, data: { clustersMax: 0 } });
    const send = async (team: TestTeam) => {
      await addConnection(t, team);
      return team.asMember.put('/clusters/one-more/').send({ spec: aClusterSpec() });
    };

    expect(await send(full)).toMatchObject({ status: 403, body: { code: 'quota_exceeded' } });
    expect((await send(free)).status).toBe(202);
  });
});
