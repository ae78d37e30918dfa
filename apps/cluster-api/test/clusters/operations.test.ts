import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addConnection, declare, declareDraft, endOperations, runningCluster } from '../support/clusters.js';
import { PUBLIC_URL, startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

describe('operations', () => {
  let t: TestClusterApi;
  const get = (path: string) => t.api.as(t.acme.member).get(t.acme.path(path));

  beforeAll(async () => {
    t = await startClusterApi();
    await addConnection(t, t.acme);
  });
  afterAll(() => t.close());

  describe('GET /operations/{id}/', () => {
    it('answers the operation at its self URL', async () => {
      const { operation } = await declare(t, t.acme, 'polled');

      const { body } = await get(new URL(operation.self).pathname.replace(t.acme.path(''), '')).expect(200);

      expect(body).toEqual(operation);
      expect(body.self).toBe(`${PUBLIC_URL}/api/v1/teams/acme/operations/${operation.id}/`);
    });

    it('names the person who requested the change, in every answer', async () => {
      const { operation } = await declare(t, t.acme, 'requested');
      const { email } = t.acme.member;
      const person = { id: expect.any(Number), email, displayName: email };

      expect(operation.createdBy).toEqual(person);
      const { items } = (await get('/operations/?target=requested').expect(200)).body;
      expect(items[0].createdBy).toEqual(person);
    });

    it('names no person when the service began the change', async () => {
      const { operation } = await declare(t, t.acme, 'unasked');
      await t.db.operation.update({ where: { id: operation.id }, data: { createdById: null } });

      expect((await get(`/operations/${operation.id}/`).expect(200)).body.createdBy).toBeNull();
    });

    it('explains a failure and what to do', async () => {
      const { operation } = await declare(t, t.acme, 'failing');
      await endOperations(t, t.acme, 'failing', 'failed');

      const { body } = await get(`/operations/${operation.id}/`).expect(200);

      expect(body.error).toEqual({
        code: 'provider_capacity',
        message: 'Sold out.',
        retryable: true,
        hint: 'Take another machine type.',
      });
    });

    it('is kept after its cluster was deleted', async () => {
      const { operation } = await declareDraft(t, t.acme, 'gone');
      await t.api.as(t.acme.member).delete(t.acme.path('/clusters/gone/')).expect(204);

      expect((await get(`/operations/${operation.id}/`).expect(200)).body).toEqual(operation);
    });

    it.each([randomUUID(), 'x', '00000000', `${randomUUID()}0`, '%00'])('answers 404 for %s', async (id) => {
      expect((await get(`/operations/${id}/`).expect(404)).body.code).toBe('not_found');
    });
  });

  describe('GET /operations/', () => {
    interface Listed {
      items: { id: string; kind: string; state: string; createdAt: string; target: { name: string; id: string } }[];
      next: string | null;
    }
    const list = async (query = ''): Promise<Listed> => (await get(`/operations/?${query}`).expect(200)).body;

    it('lists the team’s operations, newest first', async () => {
      await runningCluster(t, t.acme, 'listed');
      await t.api.as(t.acme.member).post(t.acme.path('/clusters/listed/hibernate/')).expect(202);

      const { items } = await list();

      expect(items.slice(0, 2).map(({ kind, target }) => [kind, target.name])).toEqual([
        ['cluster.hibernate', 'listed'],
        ['cluster.create', 'listed'],
      ]);
      const times = items.map(({ createdAt }) => createdAt);
      expect(times).toEqual(times.toSorted().reverse());
    });

    it('filters by the target’s name or id', async () => {
      const { resource } = await declare(t, t.acme, 'wanted');

      const byName = await list('target=wanted');
      const byId = await list(`target=${resource.metadata.id}`);

      expect(byName.items).toHaveLength(1);
      expect(byId).toEqual(byName);
      expect((await list('target=nothing')).items).toEqual([]);
    });

    it('filters by state', async () => {
      for (const name of ['waits', 'failed']) await declare(t, t.acme, name);
      await endOperations(t, t.acme, 'failed', 'failed');

      const { items } = await list('state=failed');

      expect(new Set(items.map(({ state }) => state))).toEqual(new Set(['failed']));
      expect(items.map(({ target }) => target.name)).toContain('failed');
    });

    it('filters by several states and kinds', async () => {
      await declare(t, t.acme, 'of-a-kind');

      const both = await list('state=failed&state=queued&kind=cluster.create&kind=cluster.delete');

      expect(new Set(both.items.map(({ state }) => state))).toEqual(new Set(['failed', 'queued']));
      expect(new Set(both.items.map(({ kind }) => kind))).toEqual(new Set(['cluster.create']));
      expect((await list('kind=cluster.delete')).items).toEqual([]);
    });

    it('lists each operation once over all pages, also with equal times', async () => {
      await t.pool.query(`UPDATE operation SET created_at = '2026-11-21' WHERE team_id = $1 AND state = 'queued'`, [
        t.acme.id,
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

    it.each([
      'state=done',
      'limit=0',
      'cursor=x',
      'cursor=WyJ4IiwieSJd',
      'target=%00',
      'kind=x',
      'state=failed&state=failed',
      'target=a&target=b',
    ])('answers 422 for ?%s', async (query) => {
      expect((await get(`/operations/?${query}`).expect(422)).body.code).toBe('validation_failed');
    });
  });
});
