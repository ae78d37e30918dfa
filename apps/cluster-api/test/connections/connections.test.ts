import { randomUUID } from 'node:crypto';
import { connectionMessages, type TokenVerdict } from '@corral/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { givenCluster } from '../support/clusters.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

const TOKEN = 'token-of-the-project-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
const OTHER_TOKEN = 'token-of-the-project-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb';

let test: TestClusterApi;
/** The provider's verdict on the next tokens, and the tokens that it was asked about. */
let verdict: TokenVerdict;
let shown: string[];
let team: TestTeam;
beforeAll(async () => {
  test = await startClusterApi({
    deps: {
      verifyToken: async (token) => {
        shown.push(token);
        return verdict;
      },
    },
  });
});
afterAll(() => test.close());
beforeEach(async () => {
  verdict = 'valid';
  shown = [];
  test.wakeups.length = 0;
  team = await test.createTeam(`t-${randomUUID().slice(0, 8)}`);
});

const spec = (more: object = {}) => ({ name: 'Production', provider: 'hcloud', token: TOKEN, ...more });
const path = (ref = '') => team.path(`/connections/${ref === '' ? '' : `${ref}/`}`);
const put = (ref: string, body: object = spec()) => test.api.as(team.admin).put(path(ref)).send({ spec: body });
const rowOf = (ref: string) =>
  test.db.connection.findUniqueOrThrow({ where: { teamId_ref: { teamId: team.id, ref } } });
const auditOf = async () =>
  (await test.db.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } })).map(
    ({ action, targetName, userId, detail, requestId }) => ({ action, targetName, userId, detail, requestId }),
  );

describe('PUT /connections/{ref}/ at a new ref', () => {
  it('answers 201 with the connection but without its token', async () => {
    const { body, text } = await put('main', spec({ providerConfig: {} })).expect(201);

    expect(body).toMatchObject({
      apiVersion: 'clusters.corral.dev/v1',
      kind: 'Connection',
      metadata: { ref: 'main', name: 'Production', team: team.slug },
      spec: { name: 'Production', provider: 'hcloud', providerConfig: {} },
      status: { phase: 'Ready', message: '', project: { reachable: true, readOnly: false, currency: null } },
    });
    expect(body.status.verifiedAt).toBe(body.metadata.createdAt);
    expect(text).not.toContain(TOKEN);
  });

  it('encrypts the token for its row', async () => {
    const { body } = await put('main').expect(201);

    const row = await rowOf('main');
    expect(Buffer.from(row.sealedToken).includes(TOKEN)).toBe(false);
    expect(test.secrets.open({ keyId: row.tokenKeyId, bytes: row.sealedToken }, body.metadata.id)).toBe(TOKEN);
  });

  it('writes an audit entry without the token', async () => {
    const answer = await put('main').expect(201);

    const entries = await auditOf();
    expect(entries).toEqual([
      {
        action: 'connection.create',
        targetName: 'main',
        userId: team.admin.id,
        detail: { phase: 'Ready' },
        requestId: answer.headers['x-correlation-id'],
      },
    ]);
  });

  it('rejects a read-only token with an explanation', async () => {
    verdict = 'read-only';

    const { body } = await put('main').expect(201);

    expect(body.status).toEqual({
      phase: 'Rejected',
      verifiedAt: null,
      message: connectionMessages.ReadOnly,
      project: { reachable: true, readOnly: true, currency: null },
    });
  });

  it('has no project before the provider’s first answer', async () => {
    verdict = 'unknown';

    expect((await put('main').expect(201)).body.status).toMatchObject({ phase: 'Unverified', project: null });
  });

  it('shows the currency of its prices, which are read again after a new token', async () => {
    const { body } = await put('main').expect(201);
    const connectionId = body.metadata.id;
    await test.db.priceList.create({ data: { connectionId, currency: 'EUR', dueAt: new Date('2030-01-01') } });
    expect((await test.api.as(team.member).get(path('main')).expect(200)).body.status.project.currency).toBe('EUR');

    await put('main', spec({ token: OTHER_TOKEN })).expect(200);

    const { dueAt } = await test.db.priceList.findUniqueOrThrow({ where: { connectionId } });
    expect(dueAt.getTime()).toBeLessThan(Date.parse('2030-01-01'));
  });

  it('forgets the project when a new token gets no verdict', async () => {
    await put('main').expect(201);
    verdict = 'unknown';

    const { body } = await put('main', spec({ token: OTHER_TOKEN })).expect(200);

    expect(body.status).toMatchObject({ phase: 'Unverified', verifiedAt: null, project: null });
  });

  it('uses the ref as the default name', async () => {
    const { body } = await put('main', { provider: 'hcloud', token: TOKEN }).expect(201);

    expect(body.metadata.name).toBe('main');
  });

  it('requires a token', async () => {
    const { body } = await put('main', { provider: 'hcloud' }).expect(422);

    expect([body.code, body.errors]).toEqual([
      'validation_failed',
      [{ pointer: '/spec/token', message: 'is required for a new connection' }],
    ]);
    expect([shown, await auditOf()]).toEqual([[], []]);
  });

  it.each([
    ['with capitals', 'Main'],
    ['that begins with a hyphen', '-main'],
    ['of 41 characters', 'a'.repeat(41)],
    ['with a dot', 'a.b'],
    ['with a slash in it', 'a%2Fb'],
  ])('refuses a ref %s', async (_what, ref) => {
    await put(ref).expect(422);
  });

  it('refuses unknown provider settings', async () => {
    const { body } = await put('main', spec({ providerConfig: { placement: 'spread' } })).expect(422);

    expect(body.errors[0].pointer).toBe('/spec/providerConfig/placement');
  });

  it.each([
    ['NUL', { providerConfig: { a: ['x\0'] } }, '/spec/providerConfig/a/0'],
    ['half a surrogate pair', { name: '\ud800' }, '/spec/name'],
    ['NUL in the name of a member', { providerConfig: { 'a\0': 1 } }, '/spec/providerConfig'],
  ])('refuses %s, which Postgres cannot store', async (_what, more, pointer) => {
    const { body } = await put('main', spec(more)).expect(422);

    expect([body.code, body.errors[0].pointer]).toEqual(['validation_failed', pointer]);
  });

  it('is created by one of two concurrent requests and replaced by the other', async () => {
    const answers = await Promise.all([put('main'), put('main', spec({ token: OTHER_TOKEN }))]);

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 201]);
    expect((await rowOf('main')).tokenVersion).toBe(2);
  });

  it('limits a team to 50 connections', async () => {
    const row = { teamId: team.id, name: 'x', provider: 'hcloud', providerConfig: {}, tokenKeyId: 'test' };
    await test.db.connection.createMany({
      data: Array.from({ length: 50 }, (_, at) => ({ ...row, ref: `c${at}`, sealedToken: new Uint8Array(30) })),
    });

    expect((await put('one-more').expect(403)).body.code).toBe('quota_exceeded');
    await put('c7').expect(200);
  });
});

describe('PUT /connections/{ref}/ at an existing ref', () => {
  it('answers 200, replaces the name and keeps an omitted token', async () => {
    await put('main');
    shown = [];

    const { body } = await put('main', { provider: 'hcloud', name: 'Renamed', providerConfig: {} }).expect(200);

    expect([body.metadata.name, body.spec.providerConfig, body.status.phase]).toEqual(['Renamed', {}, 'Ready']);
    expect([shown, await rowOf('main')]).toMatchObject([[], { tokenVersion: 1, generation: 2 }]);
    expect((await auditOf())[1]).toMatchObject({
      action: 'connection.replace',
      detail: { phase: 'Ready', tokenReplaced: false },
    });
  });

  it('writes nothing when nothing changes', async () => {
    const { body: before } = await put('main');

    const { body: unchanged } = await put('main', { provider: 'hcloud', name: 'Production' }).expect(200);
    const { body: sameToken } = await put('main').expect(200);

    expect(unchanged).toEqual(before);
    // `verifiedAt` is part of the answer and therefore of its entity tag.
    expect(sameToken.metadata).toEqual({ ...before.metadata, etag: expect.any(String) });
    expect(await rowOf('main')).toMatchObject({ tokenVersion: 1, generation: 1 });
    expect(await auditOf()).toHaveLength(1);
  });

  it('stores a new token and wakes only the started clusters that use it', async () => {
    await put('main');
    await put('other');
    const running = await givenCluster(test.db, { team, ref: 'main', name: 'running', startedAt: new Date() });
    await givenCluster(test.db, { team, ref: 'main', name: 'draft', startedAt: null });
    await givenCluster(test.db, { team, ref: 'other', name: 'beside', startedAt: new Date() });
    const before = await rowOf('main');

    await put('main', spec({ token: OTHER_TOKEN })).expect(200);

    const row = await rowOf('main');
    expect(test.secrets.open({ keyId: row.tokenKeyId, bytes: row.sealedToken }, row.id)).toBe(OTHER_TOKEN);
    expect([row.tokenVersion, row.generation, row.gardenName]).toEqual([2, 2, before.gardenName]);
    expect(test.wakeups).toEqual([{ job: 'reconcile-cluster', payload: { clusterId: running.id } }]);
    const due = await test.db.cluster.findMany({ where: { teamId: team.id, dueAt: { not: null } } });
    expect(due.map(({ id }) => id)).toEqual([running.id]);
    expect((await auditOf()).at(-1)).toMatchObject({ detail: { tokenReplaced: true } });
  });

  it('stores a new token when the old one can no longer be decrypted', async () => {
    await put('main');
    await test.db.connection.updateMany({ where: { teamId: team.id }, data: { tokenKeyId: 'lost' } });

    await put('main').expect(200);

    expect(await rowOf('main')).toMatchObject({ tokenVersion: 2, tokenKeyId: 'test' });
  });
});

describe('the provider’s verdict on a token', () => {
  it('is shown in the status of a rejected token, which is still stored', async () => {
    verdict = 'rejected';

    const { body } = await put('main').expect(201);

    expect(body.status).toMatchObject({ phase: 'Rejected', verifiedAt: null });
    expect(body.status.message).toContain('Replace it with a valid token');
  });

  it('is requested again soon after an unusable answer', async () => {
    verdict = 'unknown';
    const before = Date.now();

    const { body } = await put('main').expect(201);

    expect(body.status).toMatchObject({ phase: 'Unverified', verifiedAt: null });
    const { verifyAt, verifyFailures } = await rowOf('main');
    expect(verifyFailures).toBe(1);
    expect(Math.abs(Number(verifyAt) - before)).toBeLessThan(60_000);
  });

  it('keeps an accepted token Ready when it is inconclusive', async () => {
    await put('main');
    verdict = 'unknown';

    const { body } = await put('main').expect(200);

    expect(body.status.phase).toBe('Ready');
  });

  it('leaves a new token Unverified when it is inconclusive', async () => {
    await put('main');
    verdict = 'unknown';

    const { body } = await put('main', spec({ token: OTHER_TOKEN })).expect(200);

    expect(body.status).toMatchObject({ phase: 'Unverified', verifiedAt: null });
  });

  it('makes a rejected connection Ready and wakes its clusters', async () => {
    verdict = 'rejected';
    await put('main');
    const cluster = await givenCluster(test.db, { team, ref: 'main', name: 'web', startedAt: new Date() });
    verdict = 'valid';

    const { body } = await put('main').expect(200);

    expect(body.status.phase).toBe('Ready');
    expect(test.wakeups).toEqual([{ job: 'reconcile-cluster', payload: { clusterId: cluster.id } }]);
  });
});

describe('POST /connections/', () => {
  const post = (body: object = spec(), key?: string) => {
    const sent = test.api.as(team.admin).post(path());
    return (key === undefined ? sent : sent.set('Idempotency-Key', key)).send({ spec: body });
  };

  it('creates a connection at a generated ref and answers its location', async () => {
    const answer = await post().expect(201);

    expect(answer.body.metadata.ref).toMatch(/^conn-[a-z0-9]{8}$/);
    expect(answer.headers.location).toBe(path(answer.body.metadata.ref));
    await test.api
      .as(team.member)
      .get(answer.headers.location as string)
      .expect(200);
  });

  it('creates one connection per idempotency key, also for concurrent requests', async () => {
    const answers = [...(await Promise.all([post(spec(), 'k1'), post(spec(), 'k1')])), await post(spec(), 'k1')];

    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.metadata.ref)).size).toBe(1);
    expect(await test.db.connection.count({ where: { teamId: team.id } })).toBe(1);
    expect(await auditOf()).toHaveLength(1);
  });

  it('keeps the keys of different users apart', async () => {
    const colleague = await test.createUser(`second@${team.slug}.test`, [{ team, role: 'admin' }]);
    await post(spec(), 'k1').expect(201);

    const sent = test.api.as(colleague).post(path()).set('Idempotency-Key', 'k1');
    await sent.send({ spec: spec() }).expect(201);

    expect(await test.db.connection.count({ where: { teamId: team.id } })).toBe(2);
  });

  it('refuses a key that was sent with another body', async () => {
    await post(spec(), 'k1').expect(201);

    const { body } = await post(spec({ name: 'Other' }), 'k1').expect(422);

    expect(body.code).toBe('idempotency_key_reused');
  });

  it('does not create a deleted connection again for the same key', async () => {
    const { body } = await post(spec(), 'k1').expect(201);
    await test.api.as(team.admin).delete(path(body.metadata.ref)).expect(204);

    await post(spec(), 'k1').expect(404);
  });

  it('treats a key as new when it is deleted during the look-up', async () => {
    const { body: first } = await post(spec(), 'k-old').expect(201);
    await test.pool.query(
      `CREATE SEQUENCE claims;
       CREATE FUNCTION sweep_key() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF nextval('claims') = 1 THEN DELETE FROM idempotency_key WHERE key = 'k-old'; END IF; RETURN NULL; END $$;
       CREATE TRIGGER sweep AFTER INSERT ON idempotency_key FOR EACH STATEMENT EXECUTE FUNCTION sweep_key()`,
    );
    try {
      const { body } = await post(spec(), 'k-old').expect(201);

      expect(body.metadata.ref).not.toBe(first.metadata.ref);
    } finally {
      await test.pool.query('DROP TRIGGER sweep ON idempotency_key; DROP FUNCTION sweep_key; DROP SEQUENCE claims');
    }
  });

  it.each(['', 'x'.repeat(256), 'two words', 'ümlaut'])('refuses the key %j', async (key) => {
    await post(spec(), Buffer.from(key).toString('latin1')).expect(422);
  });

  it('requires a token', async () => {
    const { body } = await post({ provider: 'hcloud' }).expect(422);

    expect(body.errors).toEqual([{ pointer: '/spec/token', message: 'is required' }]);
  });
});

describe('reading connections', () => {
  it('lists them by ref, inside the documented array', async () => {
    await put('b');
    verdict = 'rejected';
    await put('a');

    const { body } = await test.api.as(team.member).get(path()).expect(200);
    const ready = await test.api.as(team.member).get(`${path()}?phase=Ready`).expect(200);

    const refsOf = (list: { items: { metadata: { ref: string } }[] }[]) =>
      list.map(({ items }) => items.map(({ metadata }) => metadata.ref));
    expect([refsOf(body), refsOf(ready.body)]).toEqual([[['a', 'b']], [['b']]]);
  });

  it('answers an empty list inside the array when there are none', async () => {
    const { body } = await test.api.as(team.member).get(path()).expect(200);

    expect(body).toEqual([{ items: [] }]);
  });

  it('refuses an unknown phase', async () => {
    await test.api.as(team.member).get(`${path()}?phase=ready`).expect(422);
  });

  it.each(['none', 'Main', 'a%00b', 'a%2Fb', '..%2f..', 'a'.repeat(300)])('answers 404 to the ref %s', async (ref) => {
    await test.api.as(team.member).get(path(ref)).expect(404);
    await test.api.as(team.admin).delete(path(ref)).expect(404);
  });
});

describe('DELETE /connections/{ref}/', () => {
  it('deletes the connection and its token', async () => {
    await put('main');

    await test.api.as(team.admin).delete(path('main')).expect(204);

    await test.api.as(team.admin).get(path('main')).expect(404);
    expect((await auditOf()).map(({ action }) => action)).toEqual(['connection.create', 'connection.delete']);
  });

  it('schedules the removal of its credentials from the garden', async () => {
    await test.db.team.update({ where: { id: team.id }, data: { projectNamespace: 'garden-t1' } });
    await put('main');
    const { gardenName } = await rowOf('main');

    await test.api.as(team.admin).delete(path('main')).expect(204);

    const cleanups = await test.db.gardenCleanup.findMany({ where: { teamId: team.id } });
    expect(cleanups).toEqual([expect.objectContaining({ namespace: 'garden-t1', name: gardenName, failures: 0 })]);
  });

  it('schedules nothing when the team has no namespace on the garden', async () => {
    await put('main');

    await test.api.as(team.admin).delete(path('main')).expect(204);

    expect(await test.db.gardenCleanup.count({ where: { teamId: team.id } })).toBe(0);
  });

  it('schedules nothing when it is refused', async () => {
    await test.db.team.update({ where: { id: team.id }, data: { projectNamespace: 'garden-t2' } });
    await put('main');
    await givenCluster(test.db, { team, ref: 'main', name: 'web', startedAt: null });

    await test.api.as(team.admin).delete(path('main')).expect(409);

    expect(await test.db.gardenCleanup.count({ where: { teamId: team.id } })).toBe(0);
  });

  it('is refused with the names of clusters and servers that use it', async () => {
    const { body: connection } = await put('main');
    await givenCluster(test.db, { team, ref: 'main', name: 'web', startedAt: null });
    await test.db.adoptedServer.create({
      data: {
        teamId: team.id,
        connectionId: connection.metadata.id,
        serverId: BigInt(Date.now()),
        serverType: 'cpx31',
        location: 'hel1',
        architecture: 'amd64',
        serverKind: 'cloud',
      },
    });

    const { body } = await test.api.as(team.admin).delete(path('main')).expect(409);

    expect(body.code).toBe('connection_in_use');
    expect(body.detail).toMatch(/cluster web, server \d+/);
    await test.api.as(team.admin).get(path('main')).expect(200);
  });
});

describe('access to connections', () => {
  it('allows changes by administrators only', async () => {
    await put('main');
    const member = test.api.as(team.member);

    for (const refused of [
      member.put(path('main')).send({ spec: spec() }),
      member.post(path()).send({ spec: spec() }),
      member.delete(path('main')),
    ]) {
      expect((await refused.expect(403)).body.code).toBe('permission_denied');
    }
    expect(await auditOf()).toHaveLength(1);
  });

  it('separates teams that use the same ref', async () => {
    const other = await test.createTeam(`o-${randomUUID().slice(0, 8)}`);
    await put('main');
    await test.api.as(other.admin).get(other.path('/connections/main/')).expect(404);

    await test.api.as(other.admin).put(other.path('/connections/main/')).send({ spec: spec() }).expect(201);

    await test.api.as(other.admin).delete(other.path('/connections/main/')).expect(204);
    await test.api.as(team.admin).get(path('main')).expect(200);
  });
});

describe('POST /connections/{ref}/verify/', () => {
  const verify = (ref = 'main') => test.api.as(team.admin).post(path(ref).concat('verify/'));
  const operations = () => test.db.operation.findMany({ where: { teamId: team.id } });

  it('answers 202 with an operation and marks the verification as due', async () => {
    const { body: made } = await put('main').expect(201);

    const { body, headers } = await verify().expect(202);

    expect(body).toMatchObject({
      operation: { kind: 'connection.verify', state: 'queued', target: { kind: 'Connection', name: 'main' } },
      resource: { metadata: { id: made.metadata.id } },
    });
    expect(headers['operation-location']).toBe(body.operation.self);
    expect((await rowOf('main')).verifyAt?.getTime()).toBeLessThanOrEqual(Date.now());
    expect((await auditOf()).at(-1)).toMatchObject({ action: 'connection.verify', targetName: 'main' });
    const polled = await test.api
      .as(team.member)
      .get(team.path(`/operations/${body.operation.id}/`))
      .expect(200);
    expect(polled.body).toEqual(body.operation);
  });

  it('answers 200 with the same operation while a verification is open', async () => {
    await put('main').expect(201);
    const { operation } = (await verify().expect(202)).body;

    const { body, headers } = await verify().expect(200);

    expect(headers['operation-location']).toBe(operation.self);
    expect(body.kind).toBe('Connection');
    expect(await operations()).toHaveLength(1);
  });

  it('creates one operation per idempotency key', async () => {
    await put('main').expect(201);
    const { operation } = (await verify().set('Idempotency-Key', 'v1').expect(202)).body;
    await test.db.operation.updateMany({ data: { state: 'succeeded', progress: 100 }, where: { id: operation.id } });

    const again = await verify().set('Idempotency-Key', 'v1').expect(202);

    expect(again.body.operation).toMatchObject({ id: operation.id, state: 'succeeded' });
  });

  it('stays open and verifies the new token after a replacement', async () => {
    await put('main').expect(201);
    await verify().expect(202);

    await put('main', spec({ token: OTHER_TOKEN })).expect(200);

    expect((await rowOf('main')).verifyAt?.getTime()).toBeLessThanOrEqual(Date.now());
    expect(await operations()).toMatchObject([{ state: 'queued' }]);
  });

  it('is cancelled when its connection is deleted', async () => {
    await put('main').expect(201);
    await verify().expect(202);

    await test.api.as(team.admin).delete(path('main')).expect(204);

    expect(await operations()).toMatchObject([{ state: 'cancelled' }]);
  });

  it('answers 404 for an unknown connection', async () => {
    await verify('none').expect(404);
    await verify('No!').expect(404);
  });
});

describe('the entity tag of a connection', () => {
  const get = () => test.api.as(team.member).get(path('main')).expect(200);
  const remove = () => test.api.as(team.admin).delete(path('main'));

  it('is in every answer and allows conditional reads', async () => {
    const made = await put('main').expect(201);
    const { headers, body } = await get();

    expect(headers.etag).toBe(body.metadata.etag);
    expect(made.headers.etag).toBe(headers.etag);
    await test.api
      .as(team.member)
      .get(path('main'))
      .set('If-None-Match', headers.etag as string)
      .expect(304);
  });

  it('matches the same declaration after the status has changed', async () => {
    const { etag } = (await put('main').expect(201)).headers;
    await test.db.connection.updateMany({ where: { teamId: team.id }, data: { phase: 'Rejected', message: 'no' } });
    expect((await get()).headers.etag).not.toBe(etag);

    await put('main', spec({ name: 'Another' }))
      .set('If-Match', etag as string)
      .expect(200);
  });

  it('refuses an outdated declaration with 412, before the provider is asked', async () => {
    const { etag } = (await put('main').expect(201)).headers;
    await put('main', spec({ name: 'Another' })).expect(200);
    shown = [];

    const { body } = await put('main', spec({ name: 'Third' }))
      .set('If-Match', etag as string)
      .expect(412);
    await remove()
      .set('If-Match', etag as string)
      .expect(412);

    expect(body.code).toBe('precondition_failed');
    expect(shown).toEqual([]);
    expect((await get()).body.metadata).toMatchObject({ name: 'Another', generation: 2 });
    await remove().set('If-Match', '*').expect(204);
  });

  it('with If-None-Match: * creates a connection but never changes one', async () => {
    await put('main').set('If-None-Match', '*').expect(201);

    await put('main', spec({ name: 'Another' }))
      .set('If-None-Match', '*')
      .expect(412);
  });
});

describe('the body of a GET', () => {
  it('can be sent back unchanged without an effect', async () => {
    await put('main').expect(201);
    const { body } = await test.api.as(team.admin).get(path('main')).expect(200);
    const row = await rowOf('main');

    const again = await test.api.as(team.admin).put(path('main')).send(body).expect(200);

    expect(again.body).toEqual(body);
    expect(await rowOf('main')).toEqual(row);
  });

  it('is refused at another ref', async () => {
    await put('main').expect(201);
    const { body } = await test.api.as(team.admin).get(path('main')).expect(200);

    const answer = await test.api.as(team.admin).put(path('other')).send(body).expect(422);

    expect(answer.body).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/metadata/ref' }] });
  });
});
