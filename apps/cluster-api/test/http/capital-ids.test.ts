import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ClusterTest, freshName, startWithConnection } from '../support/clusters.js';

let t: ClusterTest;
beforeAll(async () => {
  t = await startWithConnection();
});
afterAll(() => t.close());

/** RFC 9562, section 4: letters of a UUID are read in either case. */
describe('an id with capitals is that of', () => {
  it('an operation, also as a filter', async () => {
    const name = freshName(t);
    const { operation, resource } = await t.clusters.declareDraft(name);
    const member = t.api.as(t.acme.member);
    const path = t.acme.path('/operations/');

    const { body } = await member.get(`${path}${operation.id.toUpperCase()}/`).expect(200);
    expect(body.id).toBe(operation.id);

    const listed = await member.get(`${path}?target=${resource.metadata.id.toUpperCase()}`).expect(200);
    expect(listed.body.items.map(({ id }: { id: string }) => id)).toEqual([operation.id]);
  });

  it('a DNS token', async () => {
    const admin = t.api.as(t.acme.admin);
    const path = t.acme.path('/dns-tokens/');
    const { id } = (await admin.post(path).send({ name: 'capital' }).expect(201)).body;

    expect((await admin.get(`${path}${id.toUpperCase()}/`).expect(200)).body.id).toBe(id);
    await admin.delete(`${path}${id.toUpperCase()}/`).expect(204);
    expect(await t.db.dnsToken.findUnique({ where: { id } })).toMatchObject({ revokedAt: expect.any(Date) });
  });

  it('an invitation', async () => {
    const admin = t.api.as(t.acme.admin);
    const path = `/a/${t.acme.slug}/team/api/invitations/`;
    const { id } = (await admin.post(path).send({ email: 'eve@acme.test' }).expect(201)).body;

    await admin.delete(`${path}${id.toUpperCase()}/`).expect(204);
  });

  it('the session of the request, whose cookie is then cleared', async () => {
    const caller = t.api.as({ cookie: await t.signIn(t.acme.member) });
    const { body } = await caller.get('/api/v1/me/sessions/').expect(200);
    const { id } = body.items.find(({ current }: { current: boolean }) => current);

    const { headers } = await caller.delete(`/api/v1/me/sessions/${id.toUpperCase()}/`).expect(204);

    expect(String(headers['set-cookie'])).toMatch(/sessionid=;/);
  });
});
