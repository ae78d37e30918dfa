import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addConnection, converge, declare } from '../support/clusters.js';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

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

    it.each(['limit=0', 'limit=201', 'limit=x', 'cursor=x', 'cursor=WzFd', 'name=alpha'])(
      'answers 422 for ?%s',
      async (query) => {
        expect((await get(`/clusters/?${query}`).expect(422)).body.code).toBe('validation_failed');
      },
    );
  });
});
