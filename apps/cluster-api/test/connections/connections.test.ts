import { connectionMessages } from '@corral/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { givenCluster } from '../support/clusters.js';
import { type ConnectionApi, OTHER_TOKEN, spec, startConnectionApi, TOKEN } from '../support/connection-api.js';

let on: ConnectionApi;
beforeAll(async () => {
  on = await startConnectionApi();
});
afterAll(() => on.test.close());
beforeEach(() => on.reset());

/** The token of a connection that is new or changed is verified, and its prices are read. */
const CHECKS = [
  { job: 'verify-connections', payload: {} },
  { job: 'refresh-prices', payload: {} },
];

describe('PUT /connections/{ref}/ at a new ref', () => {
  it('answers 201 with the connection but without its token', async () => {
    const { body, text } = await on.put('main', spec({ providerConfig: {} })).expect(201);

    expect(body).toMatchObject({
      apiVersion: 'clusters.corral.dev/v1',
      kind: 'Connection',
      metadata: { ref: 'main', name: 'Production', team: on.team.slug },
      spec: { name: 'Production', provider: 'hcloud', providerConfig: {} },
      status: { phase: 'Ready', message: '', project: { reachable: true, readOnly: false, currency: null } },
    });
    expect(body.status.verifiedAt).toBe(body.metadata.createdAt);
    expect(text).not.toContain(TOKEN);
  });

  it('encrypts the token for its row', async () => {
    const { body } = await on.put('main').expect(201);

    const row = await on.rowOf('main');
    expect(Buffer.from(row.sealedToken).includes(TOKEN)).toBe(false);
    expect(on.test.secrets.open({ keyId: row.tokenKeyId, bytes: row.sealedToken }, body.metadata.id)).toBe(TOKEN);
  });

  it('writes an audit entry without the token', async () => {
    const answer = await on.put('main').expect(201);

    const entries = await on.auditOf();
    expect(entries).toEqual([
      {
        action: 'connection.create',
        targetName: 'main',
        userId: on.team.admin.id,
        changes: null,
        detail: { phase: 'Ready' },
        requestId: answer.headers['x-correlation-id'],
      },
    ]);
  });

  it('rejects a read-only token with an explanation', async () => {
    on.provider.verdict = 'read-only';

    const { body } = await on.put('main').expect(201);

    expect(body.status).toEqual({
      phase: 'Rejected',
      verifiedAt: null,
      message: connectionMessages.ReadOnly,
      project: { reachable: true, readOnly: true, currency: null },
    });
  });

  it('has no project before the provider’s first answer', async () => {
    on.provider.verdict = 'unknown';

    expect((await on.put('main').expect(201)).body.status).toMatchObject({ phase: 'Unverified', project: null });
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

  it('forgets the project when a new token gets no verdict', async () => {
    await on.put('main').expect(201);
    on.provider.verdict = 'unknown';

    const { body } = await on.put('main', spec({ token: OTHER_TOKEN })).expect(200);

    expect(body.status).toMatchObject({ phase: 'Unverified', verifiedAt: null, project: null });
  });

  it('uses the ref as the default name', async () => {
    const { body } = await on.put('main', { provider: 'hcloud', token: TOKEN }).expect(201);

    expect(body.metadata.name).toBe('main');
  });

  it('requires a token', async () => {
    const { body } = await on.put('main', { provider: 'hcloud' }).expect(422);

    expect([body.code, body.errors]).toEqual([
      'validation_failed',
      [
        {
          pointer: '/spec/token',
          code: 'validation_failed',
          message: 'is required for a new connection',
          detail: 'spec.token is required for a new connection.',
        },
      ],
    ]);
    expect([on.provider.shown, await on.auditOf()]).toEqual([[], []]);
  });

  it.each([
    ['with capitals', 'Main'],
    ['that begins with a hyphen', '-main'],
    ['of 41 characters', 'a'.repeat(41)],
    ['with a dot', 'a.b'],
    ['with a slash in it', 'a%2Fb'],
  ])('refuses a ref %s', async (_what, ref) => {
    await on.put(ref).expect(422);
  });

  it('refuses unknown provider settings', async () => {
    const { body } = await on.put('main', spec({ providerConfig: { placement: 'spread' } })).expect(422);

    expect(body.errors[0].pointer).toBe('/spec/providerConfig/placement');
  });

  it.each([
    ['NUL', { providerConfig: { a: ['x\0'] } }, '/spec/providerConfig/a/0'],
    ['half a surrogate pair', { name: '\ud800' }, '/spec/name'],
    ['NUL in the name of a member', { providerConfig: { 'a\0': 1 } }, '/spec/providerConfig'],
  ])('refuses %s, which Postgres cannot store', async (_what, more, pointer) => {
    const { body } = await on.put('main', spec(more)).expect(422);

    expect([body.code, body.errors[0].pointer]).toEqual(['validation_failed', pointer]);
  });

  it('is created by one of two concurrent requests and replaced by the other', async () => {
    const answers = await Promise.all([on.put('main'), on.put('main', spec({ token: OTHER_TOKEN }))]);

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 201]);
    expect((await on.rowOf('main')).tokenVersion).toBe(2);
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
  it('keeps an omitted name', async () => {
    await on.put('main');

    const { body } = await on.put('main', { provider: 'hcloud' }).expect(200);

    expect(body.metadata.name).toBe('Production');
  });

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
    const running = await givenCluster(on.test.db, {
      team: on.team,
      ref: 'main',
      name: 'running',
      startedAt: new Date(),
    });
    await givenCluster(on.test.db, { team: on.team, ref: 'main', name: 'draft', startedAt: null });
    await givenCluster(on.test.db, { team: on.team, ref: 'other', name: 'beside', startedAt: new Date() });
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
  it('is shown in the status of a rejected token, which is still stored', async () => {
    on.provider.verdict = 'rejected';

    const { body } = await on.put('main').expect(201);

    expect(body.status).toMatchObject({ phase: 'Rejected', verifiedAt: null });
    expect(body.status.message).toContain('Replace it with a valid token');
  });

  it('is requested again soon after an unusable answer', async () => {
    on.provider.verdict = 'unknown';
    const before = Date.now();

    const { body } = await on.put('main').expect(201);

    expect(body.status).toMatchObject({ phase: 'Unverified', verifiedAt: null });
    const { verifyAt, verifyFailures } = await on.rowOf('main');
    expect(verifyFailures).toBe(1);
    expect(Math.abs(Number(verifyAt) - before)).toBeLessThan(60_000);
  });

  it('keeps an accepted token Ready when it is inconclusive', async () => {
    await on.put('main');
    on.provider.verdict = 'unknown';

    const { body } = await on.put('main').expect(200);

    expect(body.status.phase).toBe('Ready');
  });

  it('leaves a new token Unverified when it is inconclusive', async () => {
    await on.put('main');
    on.provider.verdict = 'unknown';

    const { body } = await on.put('main', spec({ token: OTHER_TOKEN })).expect(200);

    expect(body.status).toMatchObject({ phase: 'Unverified', verifiedAt: null });
  });

  it('makes a rejected connection Ready and wakes its clusters', async () => {
    on.provider.verdict = 'rejected';
    await on.put('main');
    const cluster = await givenCluster(on.test.db, { team: on.team, ref: 'main', name: 'web', startedAt: new Date() });
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

  it('keeps the keys of different users apart', async () => {
    const colleague = await on.test.createUser(`second@${on.team.slug}.test`, [{ team: on.team, role: 'admin' }]);
    await post(spec(), 'k1').expect(201);

    const sent = on.test.api.as(colleague).post(on.path()).set('Idempotency-Key', 'k1');
    await sent.send({ spec: spec() }).expect(201);

    expect(await on.test.db.connection.count({ where: { teamId: on.team.id } })).toBe(2);
  });

  it('refuses a key that was sent with another body', async () => {
    await post(spec(), 'k1').expect(201);

    const { body } = await post(spec({ name: 'Other' }), 'k1').expect(422);

    expect(body.code).toBe('idempotency_key_reused');
  });

  it('does not create a deleted connection again for the same key', async () => {
    const { body } = await post(spec(), 'k1').expect(201);
    await on.test.api.as(on.team.admin).delete(on.path(body.metadata.ref)).expect(204);

    await post(spec(), 'k1').expect(404);
  });

  it('treats a key as new when it is deleted during the look-up', async () => {
    const { body: first } = await post(spec(), 'k-old').expect(201);
    await on.test.pool.query(
      `CREATE SEQUENCE claims;
       CREATE FUNCTION sweep_key() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF nextval('claims') = 1 THEN DELETE FROM idempotency_key WHERE key = 'k-old'; END IF; RETURN NULL; END $$;
       CREATE TRIGGER sweep AFTER INSERT ON idempotency_key FOR EACH STATEMENT EXECUTE FUNCTION sweep_key()`,
    );
    try {
      const { body } = await post(spec(), 'k-old').expect(201);

      expect(body.metadata.ref).not.toBe(first.metadata.ref);
    } finally {
      await on.test.pool.query('DROP TRIGGER sweep ON idempotency_key; DROP FUNCTION sweep_key; DROP SEQUENCE claims');
    }
  });

  it.each(['', 'x'.repeat(256), 'two words', 'ümlaut'])('refuses the key %j', async (key) => {
    await post(spec(), Buffer.from(key).toString('latin1')).expect(422);
  });

  it('requires a token', async () => {
    const { body } = await post({ provider: 'hcloud' }).expect(422);

    const [code, detail] = ['validation_failed', 'spec.token is required.'];
    expect(body.errors).toEqual([{ pointer: '/spec/token', code, message: 'is required', detail }]);
  });
});
