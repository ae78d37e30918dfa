import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Response } from 'supertest';
import { type ConnectionApi, OTHER_TOKEN, spec, startConnectionApi, TOKEN } from '../support/connection-api.js';
import { recordedLog } from '../support/recorded-log.js';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

/** The token of a connection that is new or changed is verified, and its prices are read. */
const CHECKS = [
  { job: 'verify-connections', payload: {} },
  { job: 'refresh-prices', payload: {} },
];

describe('connections', () => {
  let on: ConnectionApi;
  beforeAll(async () => {
    on = await startConnectionApi();
  });
  afterAll(() => on.test.close());
  beforeEach(() => on.reset());

  describe('PUT /connections/{ref}/ at a new ref', () => {
    it('answers 201 with the connection, whose token is stored encrypted and nowhere else', async () => {
      const { body, text, headers } = await on.put('main', spec({ providerConfig: {} })).expect(201);

      expect(body).toMatchObject({
        apiVersion: 'clusters.corral.dev/v1',
        kind: 'Connection',
        metadata: { ref: 'main', name: 'Production', team: on.team.slug },
        spec: { name: 'Production', provider: 'hcloud', providerConfig: {} },
        status: { phase: 'Ready', message: '', project: { reachable: true, readOnly: false, currency: null } },
      });
      expect(body.status.verifiedAt).toBe(body.metadata.createdAt);
      expect(text).not.toContain(TOKEN);
      const row = await on.rowOf('main');
      expect(Buffer.from(row.sealedToken).includes(TOKEN)).toBe(false);
      expect(on.test.secrets.open({ keyId: row.tokenKeyId, bytes: row.sealedToken }, body.metadata.id)).toBe(TOKEN);
      expect(await on.auditOf()).toEqual([
        {
          action: 'connection.create',
          targetName: 'main',
          userId: on.team.admin.id,
          changes: null,
          detail: { phase: 'Ready' },
          requestId: headers['x-correlation-id'],
        },
      ]);
    });

    it('shows the currency of its prices, which are read again after a new token', async () => {
      const { body } = await on.put('main').expect(201);
      const connectionId = body.metadata.id;
      await on.test.db.priceList.create({ data: { connectionId, currency: 'EUR', dueAt: new Date('2030-01-01') } });
      expect((await on.test.api.as(on.team.member).get(on.path('main')).expect(200)).body.status.project.currency).toBe(
        'EUR',
      );

      await on.put('main', spec({ token: OTHER_TOKEN })).expect(200);

      const { dueAt } = await on.test.db.priceList.findUniqueOrThrow({ where: { connectionId } });
      expect(dueAt.getTime()).toBeLessThan(Date.parse('2030-01-01'));
    });

    it('requires a token', async () => {
      const { body } = await on.put('main', { provider: 'hcloud' }).expect(422);

      expect(body).toMatchObject({
        code: 'validation_failed',
        errors: [
          {
            pointer: '/spec/token',
            message: 'is required for a new connection',
            detail: 'spec.token is required for a new connection.',
          },
        ],
      });
      expect([on.provider.shown, await on.auditOf()]).toEqual([[], []]);
    });

    it('limits a team to 50 connections', async () => {
      const row = { teamId: on.team.id, name: 'x', provider: 'hcloud', providerConfig: {}, tokenKeyId: 'test' };
      await on.test.db.connection.createMany({
        data: Array.from({ length: 50 }, (_, at) => ({ ...row, ref: `c${at}`, sealedToken: new Uint8Array(30) })),
      });

      expect((await on.put('one-more').expect(403)).body.code).toBe('quota_exceeded');
      await on.put('c7').expect(200);
    });
  });

  describe('PUT /connections/{ref}/ at an existing ref', () => {
    it('answers 200, replaces the name and keeps an omitted token', async () => {
      await on.put('main');
      on.provider.shown = [];

      const { body } = await on.put('main', { provider: 'hcloud', name: 'Renamed', providerConfig: {} }).expect(200);

      expect([body.metadata.name, body.spec.providerConfig, body.status.phase]).toEqual(['Renamed', {}, 'Ready']);
      expect([on.provider.shown, await on.rowOf('main')]).toMatchObject([[], { tokenVersion: 1, generation: 2 }]);
      expect((await on.auditOf())[1]).toMatchObject({
        action: 'connection.replace',
        changes: [{ pointer: '/spec/name', from: 'Production', to: 'Renamed' }],
        detail: { phase: 'Ready', tokenReplaced: false },
      });
    });

    it('writes nothing when nothing changes', async () => {
      const { body: before } = await on.put('main');

      const { body: unchanged } = await on.put('main', { provider: 'hcloud', name: 'Production' }).expect(200);
      const { body: sameToken } = await on.put('main').expect(200);

      expect(unchanged).toEqual(before);
      // `verifiedAt` is part of the answer and therefore of its entity tag.
      expect(sameToken.metadata).toEqual({ ...before.metadata, etag: expect.any(String) });
      expect(await on.rowOf('main')).toMatchObject({ tokenVersion: 1, generation: 1 });
      expect(await on.auditOf()).toHaveLength(1);
    });

    it('stores a new token and wakes only the started clusters that use it', async () => {
      await on.put('main');
      await on.put('other');
      const running = await on.givenCluster('running', { startedAt: new Date() });
      await on.givenCluster('draft');
      await on.givenCluster('beside', { ref: 'other', startedAt: new Date() });
      const before = await on.rowOf('main');
      on.test.wakeups.length = 0;

      await on.put('main', spec({ token: OTHER_TOKEN })).expect(200);

      const row = await on.rowOf('main');
      expect(on.test.secrets.open({ keyId: row.tokenKeyId, bytes: row.sealedToken }, row.id)).toBe(OTHER_TOKEN);
      expect([row.tokenVersion, row.generation, row.gardenName]).toEqual([2, 2, before.gardenName]);
      expect(on.test.wakeups).toEqual([{ job: 'reconcile-cluster', payload: { clusterId: running.id } }, ...CHECKS]);
      const due = await on.test.db.cluster.findMany({ where: { teamId: on.team.id, dueAt: { not: null } } });
      expect(due.map(({ id }) => id)).toEqual([running.id]);
      expect((await on.auditOf()).at(-1)).toMatchObject({ detail: { tokenReplaced: true } });
    });

    it('stores a new token when the old one can no longer be decrypted', async () => {
      await on.put('main');
      await on.test.db.connection.updateMany({ where: { teamId: on.team.id }, data: { tokenKeyId: 'lost' } });

      await on.put('main').expect(200);

      expect(await on.rowOf('main')).toMatchObject({ tokenVersion: 2, tokenKeyId: 'test' });
    });
  });

  describe('the provider’s verdict on a token', () => {
    it.each([
      ['a new ref', 'new'],
      ['no ref', ''],
      ['the ref of a connection', 'main'],
    ])('is shown by a dry run for %s, which stores nothing', async (_, ref) => {
      await on.put('main').expect(201);
      const before = await on.auditOf();
      on.provider.verdict = 'rejected';

      const request = on.test.api.as(on.team.admin)[ref === '' ? 'post' : 'put'](`${on.path(ref)}?dryRun=true`);
      const { body, text } = await request.send({ spec: spec({ name: 'Other', token: OTHER_TOKEN }) }).expect(200);

      expect(body).toMatchObject({
        dryRun: true,
        resource: { spec: { name: 'Other' }, status: { phase: 'Rejected', project: { reachable: false } } },
      });
      expect(body.resource.metadata.ref).toMatch(ref === '' ? /^conn-/ : new RegExp(`^${ref}$`));
      expect(text).not.toContain(OTHER_TOKEN);
      expect(await on.test.db.connection.count({ where: { teamId: on.team.id } })).toBe(1);
      expect(await on.rowOf('main')).toMatchObject({ name: 'Production', phase: 'Ready', tokenVersion: 1 });
      expect(await on.auditOf()).toEqual(before);
    });

    it('makes a rejected connection Ready and wakes its clusters', async () => {
      on.provider.verdict = 'rejected';
      await on.put('main');
      const cluster = await on.givenCluster('web', { startedAt: new Date() });
      on.provider.verdict = 'valid';
      on.test.wakeups.length = 0;

      const { body } = await on.put('main').expect(200);

      expect(body.status.phase).toBe('Ready');
      expect(on.test.wakeups).toEqual([{ job: 'reconcile-cluster', payload: { clusterId: cluster.id } }, ...CHECKS]);
    });
  });

  describe('POST /connections/', () => {
    const post = (body: object = spec(), key?: string) => {
      const sent = on.test.api.as(on.team.admin).post(on.path());
      return (key === undefined ? sent : sent.set('Idempotency-Key', key)).send({ spec: body });
    };

    it('creates a connection at a generated ref and answers its location', async () => {
      const answer = await post().expect(201);

      expect(answer.body.metadata.ref).toMatch(/^conn-[a-z0-9]{8}$/);
      expect(answer.headers.location).toBe(on.path(answer.body.metadata.ref));
      await on.test.api
        .as(on.team.member)
        .get(answer.headers.location as string)
        .expect(200);
    });

    it('creates one connection per idempotency key, also for concurrent requests', async () => {
      const answers = [...(await Promise.all([post(spec(), 'k1'), post(spec(), 'k1')])), await post(spec(), 'k1')];

      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
      expect(new Set(answers.map(({ body }) => body.metadata.ref)).size).toBe(1);
      expect(await on.test.db.connection.count({ where: { teamId: on.team.id } })).toBe(1);
      expect(await on.auditOf()).toHaveLength(1);
    });

    it('does not create a deleted connection again for the same key', async () => {
      const { body } = await post(spec(), 'k1').expect(201);
      await on.test.api.as(on.team.admin).delete(on.path(body.metadata.ref)).expect(204);

      await post(spec(), 'k1').expect(404);
    });

    it.each(['', 'x'.repeat(256), 'two words', 'ümlaut'])('refuses the key %j', async (key) => {
      await post(spec(), Buffer.from(key).toString('latin1')).expect(422);
    });
  });

  it('reading connections lists them by ref, inside the documented array', async () => {
    await on.put('b');
    on.provider.verdict = 'rejected';
    await on.put('a');

    const { body } = await on.test.api.as(on.team.member).get(on.path()).expect(200);
    const ready = await on.test.api.as(on.team.member).get(`${on.path()}?phase=Ready`).expect(200);

    const refsOf = (list: { items: { metadata: { ref: string } }[] }[]) =>
      list.map(({ items }) => items.map(({ metadata }) => metadata.ref));
    expect([refsOf(body), refsOf(ready.body)]).toEqual([[['a', 'b']], [['b']]]);
  });

  describe('DELETE /connections/{ref}/', () => {
    it('schedules the removal of its credentials from the garden', async () => {
      await on.test.db.team.update({ where: { id: on.team.id }, data: { projectNamespace: 'garden-t1' } });
      await on.put('main');
      const { gardenName } = await on.rowOf('main');

      await on.test.api.as(on.team.admin).delete(on.path('main')).expect(204);

      const cleanups = await on.test.db.gardenCleanup.findMany({ where: { teamId: on.team.id } });
      expect(cleanups).toEqual([expect.objectContaining({ namespace: 'garden-t1', name: gardenName, failures: 0 })]);
    });

    it('is refused with the names of clusters and servers that use it', async () => {
      const { body: connection } = await on.put('main');
      await on.givenCluster('web');
      await on.test.db.adoptedServer.create({
        data: {
          teamId: on.team.id,
          connectionId: connection.metadata.id,
          serverId: BigInt(Date.now()),
          serverType: 'cpx31',
          location: 'hel1',
          architecture: 'amd64',
          serverKind: 'cloud',
        },
      });

      const { body } = await on.test.api.as(on.team.admin).delete(on.path('main')).expect(409);

      expect(body.code).toBe('connection_in_use');
      expect(body.detail).toMatch(/cluster web, server \d+/);
      await on.test.api.as(on.team.admin).get(on.path('main')).expect(200);
    });
  });

  describe('POST /connections/{ref}/verify/', () => {
    const verify = (ref = 'main') => on.test.api.as(on.team.admin).post(on.path(ref).concat('verify/'));
    const operations = () => on.test.db.operation.findMany({ where: { teamId: on.team.id } });

    it('answers 202 with an operation and marks the verification as due', async () => {
      const { body: made } = await on.put('main').expect(201);

      const { body, headers } = await verify().expect(202);

      expect(body).toMatchObject({
        operation: { kind: 'connection.verify', state: 'queued', target: { kind: 'Connection', name: 'main' } },
        resource: { metadata: { id: made.metadata.id } },
      });
      expect(headers['operation-location']).toBe(body.operation.self);
      expect((await on.rowOf('main')).verifyAt?.getTime()).toBeLessThanOrEqual(Date.now());
      expect((await on.auditOf()).at(-1)).toMatchObject({ action: 'connection.verify', targetName: 'main' });
      const polled = await on.team.asMember.get(`/operations/${body.operation.id}/`).expect(200);
      expect(polled.body).toEqual(body.operation);
      const again = await verify().expect(200);
      expect([again.body.kind, again.headers['operation-location']]).toEqual(['Connection', body.operation.self]);
      expect(await operations()).toHaveLength(1);
    });

    it('stays open and verifies the new token after a replacement, and ends with the connection', async () => {
      await on.put('main').expect(201);
      await verify().expect(202);

      await on.put('main', spec({ token: OTHER_TOKEN })).expect(200);

      expect((await on.rowOf('main')).verifyAt?.getTime()).toBeLessThanOrEqual(Date.now());
      expect(await operations()).toMatchObject([{ state: 'queued' }]);
      await on.test.api.as(on.team.admin).delete(on.path('main')).expect(204);
      expect(await operations()).toMatchObject([{ state: 'cancelled' }]);
    });
  });

  describe('the entity tag of a connection', () => {
    const get = () => on.test.api.as(on.team.member).get(on.path('main')).expect(200);
    const remove = () => on.test.api.as(on.team.admin).delete(on.path('main'));

    it('refuses an outdated declaration with 412, before the provider is asked', async () => {
      const { etag } = (await on.put('main').expect(201)).headers;
      await on.put('main', spec({ name: 'Another' })).expect(200);
      on.provider.shown = [];

      const { body } = await on
        .put('main', spec({ name: 'Third' }))
        .set('If-Match', etag as string)
        .expect(412);
      await remove()
        .set('If-Match', etag as string)
        .expect(412);

      expect(body.code).toBe('precondition_failed');
      expect(on.provider.shown).toEqual([]);
      expect((await get()).body.metadata).toMatchObject({ name: 'Another', generation: 2 });
      await remove().set('If-Match', '*').expect(204);
    });
  });
});

describe('secrets', () => {
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
});
