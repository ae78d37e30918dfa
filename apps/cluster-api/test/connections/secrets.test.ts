import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Response } from 'supertest';
import { recordedLog } from '../support/recorded-log.js';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

const recorded = recordedLog();
let test: TestClusterApi;
beforeAll(async () => {
  test = await startClusterApi({ log: recorded.log, config: { devSignIn: true } });
});
afterAll(() => test.close());

/** Makes successful and failing requests with tokens. @returns all answers */
async function useEverything(tokens: readonly string[]): Promise<Response[]> {
  const { api, acme } = test;
  const admin = api.as(acme.admin);
  const path = (rest: string) => acme.path(`/connections/${rest}`);
  const spec = (more: object = {}) => ({ spec: { provider: 'hcloud', token: tokens[0], ...more } });
  return [
    await admin.put(path('main/')).send(spec()),
    await admin.put(path('main/')).send(spec({ token: tokens[1], name: 'Renamed' })),
    await admin.post(path('')).set('Idempotency-Key', 'k').send(spec()),
    await admin
      .post(path(''))
      .set('Idempotency-Key', 'k')
      .send(spec({ name: 'Other' })),
    await admin.put(path('main/')).send(spec({ provider: 'aws' })),
    await admin.put(path('main/')).send(spec({ providerConfig: { text: 'x'.repeat(5_000) } })),
    await admin.put(path('main/')).send(spec({ [tokens[0] as string]: 1 })),
    await admin.put(path(`${tokens[0]?.toLowerCase()}/`)).send(spec()),
    await admin.put(`${path('main/')}?token=${tokens[0]}`).send(spec()),
    await api.as(acme.member).put(path('main/')).send(spec()),
    await api.put(path('main/')).send(spec()),
    await admin.get(path('main/')),
    await admin.get(path('')),
    await admin.delete(path('main/')),
    await api.as(acme.admin).post('/auth/dev-login/').send({ email: 'member@acme.test' }),
  ];
}

it('connection tokens and session cookies are in no answer, no log line and no row', async () => {
  const tokens = [randomBytes(32).toString('hex'), `short-${randomBytes(4).toString('hex')}`];
  const cookies = [test.acme.admin, test.acme.member].map(({ cookie }) => cookie.slice('sessionid='.length));

  const answers = await useEverything(tokens);

  const bodies = answers.map(({ text }) => text);
  // Names of fields and resources are repeated in answers, tokens are not.
  const named = new Set([bodies[6], bodies[7], bodies[8]]);
  const unnamed = bodies.filter((body) => !named.has(body)).join('\n');
  const { rows } = await test.pool.query(
    `SELECT connection::text AS row FROM connection UNION ALL SELECT audit_entry::text FROM audit_entry
     UNION ALL SELECT idempotency_key::text FROM idempotency_key UNION ALL SELECT session::text FROM session`,
  );
  const pointers = {
    unnamed,
    log: await recorded.text(),
    stored: JSON.stringify(rows),
    wakeups: JSON.stringify(test.wakeups),
  };
  for (const [place, text] of Object.entries(pointers)) {
    for (const secret of [...tokens, ...cookies]) {
      for (const form of [secret, Buffer.from(secret).toString('hex'), Buffer.from(secret).toString('base64')]) {
        expect([place, text.includes(form)]).toEqual([place, false]);
      }
    }
  }
  expect(pointers.log).toContain('"message":"request"');
  expect(pointers.stored).toContain('connection.replace');
});

it('the text of a DNS token is only in the answer to its creation', async () => {
  const { api, globex: team, pool } = test;
  const [admin, member] = [api.as(team.admin), api.as(team.member)];
  const at = (rest: string) => team.path(`/dns-tokens/${rest}`);
  const create = () => member.post(at('')).set('Idempotency-Key', 'dns').send({ name: 'ci' });
  const { token, id } = (await create().expect(201)).body;

  const answers = [
    await create().expect(201),
    await member.post(at('')).send({ name: token, token }).expect(422),
    await member.get(at('')).expect(200),
    await admin.get(at(`${id}/`)).expect(200),
    await member.get(at(`${token}/`)).expect(404),
    await member.delete(at(`${id}/`)).expect(204),
    await admin.get(team.path('/audit/')).expect(200),
    await admin.get(team.path('/audit/export/')).expect(200),
  ];

  const { rows } = await pool.query(
    `SELECT dns_token::text AS row FROM dns_token UNION ALL SELECT audit_entry::text FROM audit_entry
     UNION ALL SELECT idempotency_key::text FROM idempotency_key`,
  );
  // A token that a client puts into a path is logged with the path.
  const log = (await recorded.lines()).filter(({ path }) => path !== at(`${token}/`));
  for (const text of [...answers.map((answer) => answer.text), JSON.stringify(rows), JSON.stringify(log)]) {
    for (const form of [token, Buffer.from(token).toString('hex'), Buffer.from(token).toString('base64')]) {
      expect(text).not.toContain(form);
    }
  }
  expect(JSON.stringify(rows)).toContain(id);
});

it('session ids are in no log line, wherever they are in a path', async () => {
  const { api, globex } = test;
  const cookie = await test.signIn(globex.member);
  const { body } = await api.as({ cookie }).get('/api/v1/me/sessions/').expect(200);
  const { id } = body.items.find(({ current }: { current: boolean }) => current);
  const at = `/api/v1/me/sessions/${id}`;

  await api.as(globex.admin).delete(`${at}/`).expect(404);
  await api.as(globex.admin).get(`${at}/`).expect(405);
  await api.as(globex.admin).delete(`${at}/more/`).expect(404);
  await api.as(globex.admin).delete(`${at.toUpperCase()}/`).expect(404);
  await api.delete(`${at}/`).expect(401);
  await api.as({ cookie }).delete(at).expect(204);

  const lines = (await recorded.lines()).filter(({ path }) => /sessions\/.+/i.test(String(path)));
  expect(lines.map(({ path }) => path)).toEqual([
    '/api/v1/me/sessions/{id}/',
    '/api/v1/me/sessions/{id}/',
    '/api/v1/me/sessions/{id}/more/',
    '/API/V1/ME/SESSIONS/{id}/',
    '/api/v1/me/sessions/{id}/',
    '/api/v1/me/sessions/{id}/',
  ]);
  expect((await recorded.text()).toLowerCase()).not.toContain(id);
});
