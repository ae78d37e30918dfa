import type { NodePoolSpec } from '@corral/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import {
  addConnection,
  type ClusterTest,
  converge,
  declare,
  freshName,
  runningCluster,
  startWithConnection,
} from '../support/clusters.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

describe('node pools', () => {
  let t: ClusterTest;
  let name: string;
  const poolPath = (pool: string) => t.acme.path(`/clusters/${name}/node-pools/${pool}/`);
  const put = (pool: string, spec: Partial<NodePoolSpec> & object, query = '') =>
    t.api
      .as(t.acme.member)
      .put(`${poolPath(pool)}${query}`)
      .send({ spec });
  const get = (pool: string) => t.api.as(t.acme.member).get(poolPath(pool));
  const remove = (pool: string) => t.api.as(t.acme.member).delete(poolPath(pool));
  const readCluster = () => t.api.as(t.acme.member).get(t.acme.path(`/clusters/${name}/`));

  beforeAll(async () => {
    t = await startWithConnection();
  });
  afterAll(() => t.close());
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
      const audit = await t.api
        .as(t.acme.admin)
        .get(t.acme.path(`/audit/?name=${name}`))
        .expect(200);
      expect(audit.body.items[0].changes).toEqual([{ pointer: '/spec/nodePools/0/maximum', ...reset }]);
      // What was answered can be sent back.
      await t.api.as(t.acme.member).put(poolPath('general')).send(body).expect(200);
    });

    it('answers 200 and writes nothing when the pool is unchanged', async () => {
      await t.clusters.running(name);
      const before = await t.clusters.everything();

      const { headers } = await put('general', aPool()).expect(200);

      expect(headers['operation-location']).toBeUndefined();
      expect(await t.clusters.everything()).toEqual(before);
    });

    it('accepts the unchanged body of a GET without an effect', async () => {
      await t.clusters.running(name);
      const { body } = await get('general').expect(200);
      const before = await t.clusters.everything();
      const send = (pool: object) => t.api.as(t.acme.member).put(poolPath('general')).send(pool);

      await send(body).expect(200);

      expect(await t.clusters.everything()).toEqual(before);
      expect((await send({ ...body, maximum: 9 }).expect(200)).body.maximum).toBe(9);
      await t.api.as(t.acme.member).put(poolPath('other')).send(body).expect(422);
    });

    it('starts a draft with its first pool', async () => {
      await t.clusters.declareDraft(name);

      await put('general', aPool()).expect(201);

      expect((await readCluster()).body).toMatchObject({ status: { phase: 'Pending' }, metadata: { generation: 2 } });
      expect(await t.clusters.operationsOf(name)).toEqual(['cluster.create succeeded', 'cluster.create queued']);
      expect(t.wakeups).toHaveLength(1);
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

    it('is refused when it leaves a started cluster without nodes', async () => {
      await t.clusters.running(name);

      expect((await put('general', aPool({ minimum: 0, maximum: 0 })).expect(422)).body.code).toBe('last_node_pool');
    });

    it('answers 404 without a cluster, 409 while it is being deleted, 412 with an outdated tag', async () => {
      await put('general', aPool()).expect(404);
      await t.clusters.running(name);
      expect(
        (
          await put('general', aPool({ maximum: 9 }))
            .set('If-Match', '"old"')
            .expect(412)
        ).body.code,
      ).toBe('precondition_failed');
      await t.api
        .as(t.acme.member)
        .delete(t.acme.path(`/clusters/${name}/`))
        .expect(202);
      expect((await put('general', aPool()).expect(409)).body.code).toBe('cluster_deleting');
    });

    it('accepts the tag of a GET once', async () => {
      await t.clusters.running(name);
      const { etag } = (await get('general')).headers;

      await put('general', aPool({ maximum: 9 }))
        .set('If-Match', etag as string)
        .expect(200);
      await put('general', aPool({ maximum: 8 }))
        .set('If-Match', etag as string)
        .expect(412);
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

  describe('DELETE /clusters/{cluster}/node-pools/{pool}/', () => {
    it('removes the pool: 204 with the operation of its cluster in a header', async () => {
      await t.clusters.running(name, { nodePools: [aPool({ name: 'a' }), aPool({ name: 'b' })] });

      const { headers, text } = await remove('a').expect(204);

      expect(text).toBe('');
      expect(headers['operation-location']).toMatch(/\/operations\//);
      expect(headers.etag).toBe((await readCluster()).headers.etag);
      await get('a').expect(404);
      expect(await t.clusters.operationsOf(name)).toEqual(['cluster.create succeeded', 'cluster.update queued']);
    });

    it('does not remove the last pool of a started cluster', async () => {
      await t.clusters.running(name);
      const before = await t.clusters.everything();

      const { body } = await remove('general').expect(422);

      expect(body.code).toBe('last_node_pool');
      expect(await t.clusters.everything()).toEqual(before);
    });

    it('makes a cluster a draft again before its first pass', async () => {
      await t.clusters.declare(name);

      await remove('general').expect(204);

      expect((await readCluster()).body).toMatchObject({ spec: { nodePools: [] }, status: { phase: 'Draft' } });
      expect(await t.clusters.operationsOf(name)).toEqual(['cluster.create superseded', 'cluster.create succeeded']);
    });

    it('answers 404 for an unknown pool, 409 while its cluster is being deleted, 412 with an outdated tag', async () => {
      await remove('general').expect(404);
      await t.clusters.running(name);
      await remove('other').expect(404);
      await remove('general').set('If-Match', '"old"').expect(412);
      await t.api
        .as(t.acme.member)
        .delete(t.acme.path(`/clusters/${name}/`))
        .expect(202);
      expect((await remove('general').expect(409)).body.code).toBe('cluster_deleting');
    });

    it('answers 409 over a rejected connection', async () => {
      await addConnection(t, t.acme, { ref: 'rejected' });
      await t.clusters.declare(name, {
        connectionRef: 'rejected',
        nodePools: [aPool({ name: 'a' }), aPool({ name: 'b' })],
      });
      await t.clusters.beginFirstPass(name);
      await t.db.connection.updateMany({ where: { ref: 'rejected' }, data: { phase: 'Rejected' } });

      expect((await remove('a').expect(409)).body.code).toBe('connection_rejected');
    });
  });

  describe('reading node pools', () => {
    it('answers one pool with the tag of its cluster', async () => {
      await t.clusters.declare(name);

      const { body, headers } = await get('general').expect(200);

      expect(body).toMatchObject(aPool());
      expect(headers.etag).toBe((await readCluster()).headers.etag);
    });

    it('answers 404 for unknown pools and clusters', async () => {
      await get('general').expect(404);
      await t.clusters.declare(name);
      await get('other').expect(404);
      await get('a%00').expect(404);
    });

    it('lists them by name in pages', async () => {
      await t.clusters.declare(name, { nodePools: ['c', 'a', 'b'].map((pool) => aPool({ name: pool })) });
      const list = async (query: string) => {
        const path = `${t.acme.path(`/clusters/${name}/node-pools/`)}?${query}`;
        const { body } = await t.api.as(t.acme.member).get(path).expect(200);
        return { names: body.items.map((pool: NodePoolSpec) => pool.name), next: body.next as string | null };
      };

      const first = await list('limit=2');
      const second = await list(`limit=2&cursor=${first.next}`);

      expect([first.names, second]).toEqual([['a', 'b'], { names: ['c'], next: null }]);
    });

    it('answers 404 for the list of an unknown cluster', async () => {
      await t.api
        .as(t.acme.member)
        .get(t.acme.path(`/clusters/${name}/node-pools/`))
        .expect(404);
    });
  });
});

describe('reading clusters', () => {
  let t: TestClusterApi;
  const get = (path: string) => t.api.as(t.acme.member).get(t.acme.path(path));

  beforeAll(async () => {
    t = await startClusterApi();
    await addConnection(t, t.acme);
    for (const name of ['delta', 'alpha', 'charlie', 'bravo']) await declare(t, t.acme, name);
  });
  afterAll(() => t.close());

  describe('GET /clusters/{name}/', () => {
    it('answers the cluster with its tag for revalidation', async () => {
      const { body, headers } = await get('/clusters/alpha/').expect(200);

      expect(body.metadata.name).toBe('alpha');
      expect(headers.etag).toBe(body.metadata.etag);
      expect(headers.etag).toMatch(/^"[^"]+"$/);
      expect(headers['cache-control']).toBe('private, no-cache');
    });

    it('answers 304 for the current tag', async () => {
      const { etag } = (await get('/clusters/alpha/')).headers;

      const answer = await get('/clusters/alpha/').set('If-None-Match', `W/"other", ${etag}`).expect(304);

      expect(answer.headers.etag).toBe(etag);
      expect(answer.text).toBe('');
    });

    it('answers 200 for a tag from before a pass', async () => {
      const { etag } = (await get('/clusters/bravo/')).headers;
      await converge(t, t.acme, 'bravo');

      await get('/clusters/bravo/')
        .set('If-None-Match', etag as string)
        .expect(200);
    });

    describe('with the observed state of its pools', () => {
      const image = { name: 'ubuntu', version: '24.4.0' };
      const of = (image: object | null, nodes: object | null) => ({ name: 'general', image, nodes });
      const seen = (nodePools: object[], counts: object | null) =>
        t.pool.query(`UPDATE cluster SET observed = $1, node_counts = $2 WHERE name = 'alpha'`, [
          JSON.stringify({ kubernetes: null, apiServer: null, nodePools, maintenance: null }),
          counts && JSON.stringify(counts),
        ]);
      const poolsOf = async () => (await get('/clusters/alpha/').expect(200)).body.status.nodePools;

      const numbers = { ready: 1, total: 2 };
      it.each<[string, object[], object | null, object[]]>([
        ['nothing before the first observation', [], null, []],
        ['images and node counts', [{ name: 'general', image }], { general: numbers }, [of(image, numbers)]],
        ['images alone', [{ name: 'general', image }], null, [of(image, null)]],
        ['node counts alone', [], { general: numbers }, [of(null, numbers)]],
        ['nothing of removed pools', [{ name: 'gone', image }], { gone: numbers }, []],
      ])('answers %s', async (_what, images, counts, expected) => {
        await seen(images, counts);

        expect(await poolsOf()).toEqual(expected);
      });
    });

    it.each(['nothing', 'ALPHA', 'alpha%00', `${'a'.repeat(64)}`])('answers 404 for %s', async (name) => {
      expect((await get(`/clusters/${name}/`).expect(404)).body.code).toBe('not_found');
    });

    it('supports HEAD', async () => {
      const answer = await t.api.as(t.acme.member).head(t.acme.path('/clusters/alpha/')).expect(200);

      expect(answer.headers.etag).toBeDefined();
    });
  });

  describe('GET /clusters/', () => {
    const namesIn = (body: { items: { metadata: { name: string } }[] }) =>
      body.items.map(({ metadata }) => metadata.name);

    it('lists the clusters of the team by name', async () => {
      const { body } = await get('/clusters/').expect(200);

      expect(namesIn(body)).toEqual(['alpha', 'bravo', 'charlie', 'delta']);
      expect(body.next).toBeNull();
    });

    it('lists them in pages that stay stable while clusters are created or deleted', async () => {
      const first = (await get('/clusters/?limit=2').expect(200)).body;
      await declare(t, t.acme, 'abacus');

      const second = (await get(`/clusters/?limit=2&cursor=${first.next}`).expect(200)).body;
      await t.db.cluster.deleteMany({ where: { name: 'abacus' } });

      expect([namesIn(first), namesIn(second)]).toEqual([
        ['alpha', 'bravo'],
        ['charlie', 'delta'],
      ]);
      expect(second.next).toBeNull();
    });

    it('filters by phases and by the connection', async () => {
      const of = async (query: string) => namesIn((await get(`/clusters/?${query}`).expect(200)).body);
      const { rows } = await t.pool.query<{ phase: string; ref: string }>(
        `SELECT cluster.phase, connection.ref FROM cluster JOIN connection ON connection.id = connection_id
         WHERE cluster.team_id = $1 AND cluster.name = 'alpha'`,
        [t.acme.id],
      );
      const { phase, ref } = rows[0] as { phase: string; ref: string };

      expect(await of(`phase=${phase}&phase=Deleting&connection=${ref}`)).toContain('alpha');
      expect(await of('phase=Deleting')).toEqual([]);
      expect(await of('connection=other')).toEqual([]);
    });

    it('is empty for a team without clusters', async () => {
      const { body } = await t.api.as(t.globex.member).get(t.globex.path('/clusters/')).expect(200);

      expect(body).toEqual({ items: [], next: null });
    });

    it.each(['limit=0', 'limit=201'])('answers 422 for ?%s', async (query) => {
      expect((await get(`/clusters/?${query}`).expect(422)).body.code).toBe('validation_failed');
    });
  });
});

describe('two teams', () => {
  let t: TestClusterApi;

  beforeAll(async () => {
    t = await startClusterApi();
    await t.db.team.updateMany({ data: { clustersMax: 1_000 } });
    for (const team of [t.acme, t.globex]) {
      await addConnection(t, team);
      await runningCluster(t, team, 'both', { plan: team === t.acme ? 'monthly' : 'annual' });
    }
    await runningCluster(t, t.acme, 'ours');
    await runningCluster(t, t.globex, 'theirs');
  });
  afterAll(() => t.close());

  it('can have clusters with the same name', async () => {
    const send = (team: TestTeam) =>
      t.api.as(team.member).put(team.path('/clusters/same/')).send({ spec: aClusterSpec() });

    const [one, other] = [(await send(t.acme).expect(202)).body, (await send(t.globex).expect(202)).body];

    expect(one.resource.metadata.id).not.toBe(other.resource.metadata.id);
    expect([one.resource.metadata.team, other.resource.metadata.team]).toEqual(['acme', 'globex']);
  });

  it('have separate quotas', async () => {
    const [full, free] = [await t.createTeam('full'), await t.createTeam('free')];
    await t.db.team.update({ where: { id: full.id }, data: { clustersMax: 0 } });
    const send = async (team: TestTeam) => {
      await addConnection(t, team);
      return t.api.as(team.member).put(team.path('/clusters/one-more/')).send({ spec: aClusterSpec() });
    };

    expect(await send(full)).toMatchObject({ status: 403, body: { code: 'quota_exceeded' } });
    expect((await send(free)).status).toBe(202);
  });
});
