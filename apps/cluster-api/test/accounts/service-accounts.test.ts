import { randomUUID } from 'node:crypto';
import { memoryBuckets } from '@corral/admission';
import { accountVerifier, hashAccountToken } from '@corral/auth';
import type { AccountAction } from '@corral/contracts';
import { createMetrics } from '@corral/service';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { buildApp } from '../../src/build-app.js';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { checkedClient } from '../support/checked-client.js';
import { addConnection, declare } from '../support/clusters.js';
import { PUBLIC_URL, startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

let test: TestClusterApi;
beforeAll(async () => {
  test = await startClusterApi();
});
afterAll(() => test.close());
let team: TestTeam;
beforeEach(async () => {
  team = await test.createTeam(`t-${randomUUID().slice(0, 8)}`);
});

const accounts = (rest = '') => team.path(`/service-accounts/${rest}`);
const asAdmin = () => test.api.as(team.admin);
const put = (name: string, spec: object) =>
  asAdmin()
    .put(accounts(`${name}/`))
    .send({ spec });
const newToken = (name: string, expiresInDays = 1) =>
  asAdmin()
    .post(accounts(`${name}/tokens/`))
    .send({ expiresInDays });
const clusters = () => team.path('/clusters/');
const audits = () => test.db.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } });

describe('a service account', () => {
  it('is declared, changed, listed and deleted by administrators', async () => {
    const created = await put('ci', { role: 'member' }).expect(201);
    const all = { clusters: ['*'], actions: ['read', 'change', 'delete', 'kubeconfig'] };
    expect(created.body.spec).toEqual({ role: 'member', narrowing: all });
    await asAdmin().put(accounts('ci/')).send(created.body).expect(200);
    const changed = await put('ci', { role: 'viewer', narrowing: { clusters: ['ci-*'] } }).expect(200);

    expect((await asAdmin().get(accounts()).expect(200)).body.items).toEqual([changed.body]);
    expect((await asAdmin().get(accounts('ci/')).expect(200)).body).toEqual(changed.body);
    await asAdmin().delete(accounts('ci/')).expect(204);
    await asAdmin().get(accounts('ci/')).expect(404);
    expect((await audits()).map(({ action }) => action)).toEqual([
      'service_account.create',
      'service_account.change',
      'service_account.delete',
    ]);
  });

  it('keeps a narrowing that is left out: silence widens nothing', async () => {
    const narrowing = { clusters: ['ci-*'], actions: ['read'] };
    await put('ci', { role: 'viewer', narrowing }).expect(201);

    expect((await put('ci', { role: 'member' }).expect(200)).body.spec).toEqual({ role: 'member', narrowing });
    expect((await put('ci', { role: 'member', narrowing: { clusters: ['*'] } })).body.spec).toEqual({
      role: 'member',
      narrowing: { clusters: ['*'], actions: ['read'] },
    });
  });

  it.each([
    ['no role', {}, '/spec/role'],
    ['an unknown role', { role: 'owner' }, '/spec/role'],
    ['a star in the middle', { role: 'viewer', narrowing: { clusters: ['a*b'] } }, '/spec/narrowing/clusters/0'],
    ['no cluster', { role: 'viewer', narrowing: { clusters: [] } }, '/spec/narrowing/clusters'],
    ['an unknown action', { role: 'viewer', narrowing: { actions: ['write'] } }, '/spec/narrowing/actions/0'],
  ])('cannot have %s', async (_what, spec, pointer) => {
    const { body } = await put('ci', spec).expect(422);

    expect(body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
  });

  it('is one of at most 20 of the team', async () => {
    const { id: createdById } = team.admin;
    const data = Array.from({ length: 20 }, (_, at) => ({
      teamId: team.id,
      name: `a${at}`,
      role: 'viewer' as const,
      clusters: ['*'],
      actions: ['read'],
      createdById,
    }));
    await test.db.serviceAccount.createMany({ data });

    expect((await put('another', { role: 'viewer' }).expect(403)).body.code).toBe('quota_exceeded');
    await put('a3', { role: 'viewer' }).expect(200);
  });
});

describe('deletion, an action of its own', () => {
  const web = (rest = '') => team.path(`/clusters/web/${rest}`);
  const spec = (...names: string[]) => aClusterSpec({ nodePools: names.map((name) => aPool({ name })) });
  const clientFor = async (actions: AccountAction[]) =>
    test.api.withToken(await test.createAccount(team, 'ci', { role: 'member', actions }));
  beforeEach(async () => {
    await addConnection(test, team);
    await declare(test, team, 'web', spec('a', 'b'));
  });

  it('is not part of what an account may change, in whatever request it is', async () => {
    const client = await clientFor(['read', 'change']);

    await client
      .put(web())
      .send({ spec: spec('a', 'b', 'c') })
      .expect(202);
    expect((await client.delete(web()).expect(403)).body.code).toBe('permission_denied');
    await client.delete(web('node-pools/b/')).expect(403);
    const { body } = await client
      .put(web())
      .send({ spec: spec('a') })
      .expect(403);

    expect(body).toMatchObject({ code: 'permission_denied', errors: [{ pointer: '/spec/nodePools' }] });
    expect(body.detail).toContain('may not delete: b, c.');
    expect(
      (
        await client
          .put(`${web()}?dryRun=true`)
          .send({ spec: spec('a') })
          .expect(200)
      ).body.effects,
    ).toContainEqual(expect.objectContaining({ pool: 'b', kind: 'removed' }));
  });

  it('can be all that an account may do besides reading', async () => {
    const client = await clientFor(['read', 'delete']);

    await client
      .put(web())
      .send({ spec: spec('a', 'b', 'c') })
      .expect(403);
    await client.delete(web('node-pools/b/')).expect(204);
    await client.delete(web()).expect(204);
  });
});

describe('a token of a service account', () => {
  it('is shown once and stored as its digest', async () => {
    await put('ci', { role: 'viewer' });
    const { body, headers } = await newToken('ci', 365).expect(201);
    expect(headers['cache-control']).toBe('no-store');

    const [row] = await test.db.serviceAccountToken.findMany({ where: { teamId: team.id } });
    expect(Buffer.from(row?.hash ?? [])).toEqual(hashAccountToken(body.token));
    const list = await asAdmin().get(accounts('ci/tokens/')).expect(200);
    expect(list.body.items).toEqual([expect.objectContaining({ id: body.id, expiresAt: body.expiresAt })]);
    expect(
      JSON.stringify([list.body, await audits()], (_, value) => (typeof value === 'bigint' ? '' : value)),
    ).not.toContain(body.token);
  });

  it.each([0, 366, 1.5, null])('is not created for %p days', async (days) => {
    await put('ci', { role: 'viewer' });

    await newToken('ci', days as number).expect(422);
  });

  it('is one of two active ones, so that one can replace the other', async () => {
    await put('ci', { role: 'viewer' });
    const { body: first } = await newToken('ci').expect(201);
    await newToken('ci').expect(201);
    expect((await newToken('ci').expect(403)).body.code).toBe('quota_exceeded');

    await asAdmin()
      .delete(accounts(`ci/tokens/${first.id}/`))
      .expect(204);
    await asAdmin()
      .delete(accounts(`ci/tokens/${first.id}/`))
      .expect(204);

    await newToken('ci').expect(201);
  });

  it('keeps no more than 20 rows of ended tokens', async () => {
    await put('ci', { role: 'viewer' });
    const { id: accountId } = await test.db.serviceAccount.findFirstOrThrow({ where: { teamId: team.id } });
    const data = Array.from({ length: 30 }, () => ({
      teamId: team.id,
      accountId,
      hash: new Uint8Array(hashAccountToken(randomUUID())),
      createdById: team.admin.id,
      expiresAt: new Date(0),
    }));
    await test.db.serviceAccountToken.createMany({ data });
    await newToken('ci').expect(201);

    expect(await test.db.serviceAccountToken.count({ where: { accountId } })).toBe(20);
  });

  it.each([
    ['revoked', (id: string) => asAdmin().delete(accounts(`ci/tokens/${id}/`))],
    ['of a deleted account', () => asAdmin().delete(accounts('ci/'))],
    ['expired', (id: string) => test.db.serviceAccountToken.update({ where: { id }, data: { expiresAt: new Date() } })],
  ])('gives no access once it is %s', async (_how, end) => {
    await put('ci', { role: 'viewer' });
    const { body } = await newToken('ci').expect(201);
    await test.api.withToken(body.token).get(clusters()).expect(200);

    await end(body.id);

    expect((await test.api.withToken(body.token).get(clusters()).expect(401)).body.code).toBe(
      'authentication_required',
    );
  });

  it('is refused by every replica as soon as one has revoked it', async () => {
    await put('ci', { role: 'viewer' });
    const { body } = await newToken('ci').expect(201);
    const accountsThere = accountVerifier(test.pool);
    const metrics = createMetrics({ service: 'test' });
    const there = checkedClient(buildApp({ ...test.deps, accounts: accountsThere, metrics }), PUBLIC_URL);
    await there.withToken(body.token).get(clusters()).expect(200);

    await asAdmin()
      .delete(accounts(`ci/tokens/${body.id}/`))
      .expect(204);

    await there.withToken(body.token).get(clusters()).expect(401);
  });

  it('follows a change of its account with the next request', async () => {
    const token = await test.createAccount(team, 'ci', { role: 'member' });
    const declareIt = () => test.api.withToken(token).put(team.path('/clusters/web/')).send({});
    await declareIt().expect(422);

    await put('ci', { role: 'viewer' }).expect(200);

    await declareIt().expect(403);
  });

  it.each<[string, (token: string) => Record<string, string>]>([
    ['a session', (token) => ({ Authorization: `Bearer ${token}`, Cookie: team.admin.cookie })],
    ['a session that does not exist', (token) => ({ Authorization: `Bearer ${token}`, Cookie: 'sessionid=x' })],
  ])('is refused together with %s', async (_what, headers) => {
    const token = await test.createAccount(team, 'ci', { role: 'admin' });

    const { body } = await test.api.get(clusters()).set(headers(token)).expect(401);

    expect(body.detail).toContain('not both');
  });

  it('is not subject to the rules for requests of other sites, which are about cookies', async () => {
    const token = await test.createAccount(team, 'ci', { role: 'member' });
    const from = (origin: string) =>
      test.api.withToken(token).put(team.path('/clusters/web/')).set('Origin', origin).send({});

    await from('https://elsewhere.test').expect(422);
    await from(PUBLIC_URL).expect(422);
    const both = await test.api
      .as(team.admin)
      .put(team.path('/clusters/web/'))
      .set({ Origin: 'https://elsewhere.test', Authorization: `Bearer ${token}` })
      .send({})
      .expect(403);
    expect(both.body.code).toBe('cross_site_request');
  });

  it('leaves the authorization of proxies in front of the service alone', async () => {
    await test.api.as(team.member).get(clusters()).set('Authorization', 'Basic dTpw').expect(200);
  });
});

describe('a narrowed service account', () => {
  beforeEach(async () => {
    await addConnection(test, team);
    for (const name of ['ci-one', 'ci-two', 'live']) await declare(test, team, name);
  });

  it('sees only clusters and operations that its patterns cover', async () => {
    const token = await test.createAccount(team, 'ci', { role: 'member', clusters: ['ci-*', 'later'] });
    const get = (path: string) => test.api.withToken(token).get(team.path(path));
    const everything = await asAdmin().get(team.path('/operations/')).expect(200);
    const ofLive = everything.body.items.find(({ target }: { target: { name: string } }) => target.name === 'live');

    const listed = await get('/clusters/').expect(200);
    expect(listed.body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual([
      'ci-one',
      'ci-two',
    ]);
    const operations = await get('/operations/').expect(200);
    expect(operations.body.items.map(({ target }: { target: { name: string } }) => target.name).sort()).toEqual([
      'ci-one',
      'ci-two',
    ]);
    await get(`/operations/${operations.body.items[0].id}/`).expect(200);
    await get(`/operations/${ofLive.id}/`).expect(404);
    await get('/clusters/ci-one/').expect(200);
    for (const path of ['/clusters/live/', '/clusters/absent/', '/connections/', '/usage/']) {
      expect((await get(path).expect(403)).body.code).toBe('permission_denied');
    }
  });

  it.each([
    [['read'], [200, 403, 403]],
    [['change'], [403, 202, 403]],
    [['kubeconfig'], [403, 403, 409]],
    [
      ['read', 'kubeconfig'],
      [200, 403, 409],
    ],
  ] as const)('with %j does no other kind of action', async (actions, expected) => {
    const token = await test.createAccount(team, 'ci', { role: 'member', actions });
    const machine = test.api.withToken(token);

    const statuses = [
      await machine.get(team.path('/clusters/live/')),
      await machine.post(team.path('/clusters/live/hibernate/')),
      await machine.post(team.path('/clusters/live/kubeconfig/')),
    ].map(({ status }) => status);

    expect(statuses).toEqual(expected);
  });
});

describe('what a service account does', () => {
  it('is in the audit log with its name, also when it is deleted', async () => {
    await addConnection(test, team);
    const token = await test.createAccount(team, 'ci', { role: 'member' });
    const accepted = await test.api
      .withToken(token)
      .put(team.path('/clusters/web/'))
      .send({ spec: { connectionRef: 'main', region: 'hel1', kubernetesVersion: '1.33' } });
    expect([200, 202]).toContain(accepted.status);
    const { body: account } = await asAdmin().get(accounts('ci/'));
    await asAdmin().delete(accounts('ci/')).expect(204);

    const log = await asAdmin().get(team.path('/audit/?actor=account')).expect(200);

    expect(log.body.items).toEqual([
      expect.objectContaining({
        action: 'cluster.declare',
        actor: { kind: 'account', id: account.metadata.id, name: 'ci' },
        detail: expect.objectContaining({
          credential: { tokenId: expect.any(String), issuer: null, subject: null },
        }),
      }),
    ]);
    const ofService = await asAdmin().get(team.path('/audit/?actor=service')).expect(200);
    expect(ofService.body.items).toEqual([]);
  });

  it('has idempotency keys of its own', async () => {
    await addConnection(test, team);
    await declare(test, team, 'web');
    const hibernate = (client: typeof test.api | ReturnType<typeof asAdmin>) =>
      client.post(team.path('/clusters/web/hibernate/')).set('Idempotency-Key', 'once');
    const machine = test.api.withToken(await test.createAccount(team, 'ci', { role: 'member' }));

    const first = await hibernate(machine as typeof test.api);
    const again = await hibernate(machine as typeof test.api);
    await hibernate(asAdmin());

    expect([first.status, again.status]).toEqual([202, 202]);
    expect(again.body.operation.id).toBe(first.body.operation.id);
    expect(await test.db.idempotencyKey.count({ where: { teamId: team.id, key: 'once' } })).toBe(2);
  });
});

it('limits the requests of an account over all its tokens, and not those of others, as operators allow its team', async () => {
  const limited = await startClusterApi({
    config: {
      limits: { perAddressPerMinute: 1_000, perPersonPerMinute: 2, signInRequestsPerAddressPerMinute: 1_000 },
    },
    deps: { buckets: memoryBuckets(() => 1_000_000) },
  });
  try {
    const { id: teamId } = limited.acme;
    const makeAccount = async (name: string, texts: readonly string[]) => {
      const created = { teamId, createdById: limited.acme.admin.id };
      const { id: accountId } = await limited.db.serviceAccount.create({
        data: { ...created, name, role: 'viewer', clusters: ['*'], actions: ['read'] },
      });
      const expiresAt = new Date(Date.now() + 60_000);
      const data = texts.map((text) => ({
        ...created,
        accountId,
        hash: new Uint8Array(hashAccountToken(text)),
        expiresAt,
      }));
      await limited.db.serviceAccountToken.createMany({ data });
    };
    const [one, two, other] = ['a', 'b', 'c'].map((letter) => `corral_${letter.repeat(43)}`) as [
      string,
      string,
      string,
    ];
    await makeAccount('ci', [one, two]);
    await makeAccount('cd', [other]);
    const get = (token: string) => limited.api.withToken(token).get(limited.acme.path('/clusters/'));

    await get(one).expect(200);
    await get(two).expect(200);

    expect((await get(one).expect(429)).body.code).toBe('rate_limit_exceeded');
    await get(other).expect(200);
    await limited.db.team.update({ where: { id: teamId }, data: { accountRequestsMax: 3 } });
    expect((await get(other).expect(200)).headers).toMatchObject({
      'ratelimit-limit': '3',
      'ratelimit-remaining': '0',
    });
  } finally {
    await limited.close();
  }
});
