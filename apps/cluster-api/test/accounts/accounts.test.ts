import { createHmac } from 'node:crypto';
import { memoryBuckets } from '@corral/admission';
import { hashAccountToken } from '@corral/auth';
import type { AccountAction } from '@corral/contracts';
import { callGuard, createMetrics } from '@corral/service';
import { waitFor } from '@corral/testing';
import { startTokenIssuer, type TokenIssuer } from '@corral/testing/token-issuer';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { exportSPKI, importJWK, UnsecuredJWT } from 'jose';
import { type AppConfig, type AppDeps, buildApp } from '../../src/build-app.js';
import { issuerCalls } from '../../src/token-exchange/issuer-calls.js';
import { issuerKeys, type KeysOf } from '../../src/token-exchange/issuer-keys.js';
import { refusalLog } from '../../src/token-exchange/refusal-log.js';
import { recordRefusals } from '../../src/token-exchange/store.js';
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
  team = await test.createTeam();
});

const accounts = (rest = '') => `/service-accounts/${rest}`;
const put = (name: string, spec: object) => team.asAdmin.put(accounts(`${name}/`)).send({ spec });
const newToken = (name: string, expiresInDays = 1) =>
  team.asAdmin.post(accounts(`${name}/tokens/`)).send({ expiresInDays });
const clusters = (token: string) => test.api.withToken(token).get(team.path('/clusters/'));
const audits = () => test.db.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } });

describe('a service account', () => {
  it('is declared, changed, listed and deleted by administrators', async () => {
    const created = await put('ci', { role: 'member' }).expect(201);
    const dns = { withinName: null, withinTypes: [] };
    const all = { clusters: ['*'], actions: ['read', 'change', 'delete', 'kubeconfig'], dns };
    expect(created.body.spec).toEqual({ role: 'member', narrowing: all });
    await team.asAdmin.put(accounts('ci/')).send(created.body).expect(200);
    const changed = await put('ci', { role: 'viewer', narrowing: { clusters: ['ci-*'] } }).expect(200);

    expect((await team.asAdmin.get(accounts()).expect(200)).body.items).toEqual([changed.body]);
    expect((await team.asAdmin.get(accounts('ci/')).expect(200)).body).toEqual(changed.body);
    await team.asAdmin.delete(accounts('ci/')).expect(204);
    await team.asAdmin.get(accounts('ci/')).expect(404);
    expect((await audits()).map(({ action }) => action)).toEqual([
      'service_account.create',
      'service_account.change',
      'service_account.delete',
    ]);
  });

  it('keeps a narrowing that is left out: silence widens nothing', async () => {
    const dns = { withinName: `ci.${team.slug}`, withinTypes: ['TXT'] };
    const narrowing = { clusters: ['ci-*'], actions: ['read'], dns };
    await put('ci', { role: 'viewer', narrowing }).expect(201);

    expect((await put('ci', { role: 'member' }).expect(200)).body.spec).toEqual({ role: 'member', narrowing });
    expect((await put('ci', { role: 'member', narrowing: { clusters: ['*'] } })).body.spec).toEqual({
      role: 'member',
      narrowing: { clusters: ['*'], actions: ['read'], dns },
    });
    const withoutTypes = { role: 'member', narrowing: { dns: { withinTypes: [] } } };
    expect((await put('ci', withoutTypes)).body.spec.narrowing.dns).toEqual({ ...dns, withinTypes: [] });
  });

  it('cannot have names of other teams', async () => {
    const { body } = await put('ci', { role: 'viewer', narrowing: { dns: { withinName: 'ci.globex' } } }).expect(422);

    expect(body.errors).toMatchObject([{ pointer: '/spec/narrowing/dns/withinName' }]);
  });

  it('is one of at most 20 of the team', async () => {
    const of = {
      teamId: team.id,
      createdById: team.admin.id,
      role: 'viewer' as const,
      clusters: ['*'],
      actions: ['read'],
    };
    const data = Array.from({ length: 20 }, (_, at) => ({ ...of, name: `a${at}` }));
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
    await declare(team, 'web', spec('a', 'b'));
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
    const list = await team.asAdmin.get(accounts('ci/tokens/')).expect(200);
    expect(list.body.items).toEqual([expect.objectContaining({ id: body.id, expiresAt: body.expiresAt })]);
    expect(
      JSON.stringify([list.body, await audits()], (_, value) => (typeof value === 'bigint' ? '' : value)),
    ).not.toContain(body.token);
  });

  it('is one of two active ones, so that one can replace the other', async () => {
    await put('ci', { role: 'viewer' });
    const { body: first } = await newToken('ci').expect(201);
    await newToken('ci').expect(201);
    expect((await newToken('ci').expect(403)).body.code).toBe('quota_exceeded');

    await team.asAdmin.delete(accounts(`ci/tokens/${first.id}/`)).expect(204);
    await team.asAdmin.delete(accounts(`ci/tokens/${first.id}/`)).expect(204);

    await newToken('ci').expect(201);
  });

  it('keeps no more than 20 rows of ended tokens', async () => {
    await put('ci', { role: 'viewer' });
    await test.pool.query(
      `INSERT INTO service_account_token (team_id, account_id, created_by, hash, expires_at)
       SELECT team_id, id, $2::uuid, sha256((n || id::text)::bytea), now() FROM service_account, generate_series(1, 30) AS n
       WHERE team_id = $1`,
      [team.id, team.admin.id],
    );
    await newToken('ci').expect(201);

    expect(await test.db.serviceAccountToken.count({ where: { teamId: team.id } })).toBe(20);
  });

  it.each([
    ['revoked', (id: string) => team.asAdmin.delete(accounts(`ci/tokens/${id}/`))],
    ['of a deleted account', () => team.asAdmin.delete(accounts('ci/'))],
    ['expired', (id: string) => test.db.serviceAccountToken.update({ where: { id }, data: { expiresAt: new Date() } })],
  ])('gives no access once it is %s', async (_how, end) => {
    await put('ci', { role: 'viewer' });
    const { body } = await newToken('ci').expect(201);
    await clusters(body.token).expect(200);

    await end(body.id);

    expect((await clusters(body.token).expect(401)).body.code).toBe('authentication_required');
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

    const { body } = await test.api.get(team.path('/clusters/')).set(headers(token)).expect(401);

    expect(body.detail).toContain('not both');
  });

  it('is not subject to the rules for requests of other sites, which are about cookies', async () => {
    const token = await test.createAccount(team, 'ci', { role: 'member' });
    const from = (origin: string) =>
      test.api.withToken(token).put(team.path('/clusters/web/')).set('Origin', origin).send({});

    await from('https://elsewhere.test').expect(422);
    await from(PUBLIC_URL).expect(422);
    const both = await team.asAdmin
      .put('/clusters/web/')
      .set({ Origin: 'https://elsewhere.test', Authorization: `Bearer ${token}` })
      .send({})
      .expect(403);
    expect(both.body.code).toBe('cross_site_request');
  });

  it('leaves the authorization of proxies in front of the service alone', async () => {
    await test.api.as(team.member).get(team.path('/clusters/')).set('Authorization', 'Basic dTpw').expect(200);
  });
});

describe('a narrowed service account', () => {
  beforeEach(async () => {
    await addConnection(test, team);
    for (const name of ['ci-one', 'ci-two', 'live']) await declare(team, name);
  });

  it('sees only clusters and operations that its patterns cover', async () => {
    const token = await test.createAccount(team, 'ci', { role: 'member', clusters: ['ci-*', 'later'] });
    const get = (path: string) => test.api.withToken(token).get(team.path(path));
    const everything = await team.asAdmin.get('/operations/').expect(200);
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
    const { body: account } = await team.asAdmin.get(accounts('ci/'));
    await team.asAdmin.delete(accounts('ci/')).expect(204);

    const log = await team.asAdmin.get('/audit/?actor=account').expect(200);

    expect(log.body.items).toEqual([
      expect.objectContaining({
        action: 'cluster.declare',
        actor: { kind: 'account', id: account.metadata.id, name: 'ci' },
        detail: expect.objectContaining({
          credential: { tokenId: expect.any(String), issuer: null, subject: null },
        }),
      }),
    ]);
    const ofService = await team.asAdmin.get('/audit/?actor=service').expect(200);
    expect(ofService.body.items).toEqual([]);
  });

  it('has idempotency keys of its own', async () => {
    await addConnection(test, team);
    await declare(team, 'web');
    const path = team.path('/clusters/web/hibernate/');
    const machine = test.api.withToken(await test.createAccount(team, 'ci', { role: 'member' }));

    const first = await machine.post(path).set('Idempotency-Key', 'once').expect(202);
    const again = await machine.post(path).set('Idempotency-Key', 'once').expect(202);
    await test.api.as(team.admin).post(path).set('Idempotency-Key', 'once').expect(200);

    expect(again.body.operation.id).toBe(first.body.operation.id);
  });
});

it('limits the requests of an account over all its tokens, and not those of others, as operators allow its team', async () => {
  const limits = { ...test.deps.config.limits, perPersonPerMinute: 2 };
  const metrics = createMetrics({ service: 'test' });
  const config = { ...test.deps.config, limits };
  const buckets = memoryBuckets(() => 1_000_000);
  const limited = checkedClient(buildApp({ ...test.deps, config, buckets, metrics }), PUBLIC_URL);
  const [one, other] = [
    await test.createAccount(team, 'ci', { role: 'viewer' }),
    await test.createAccount(team, 'cd', { role: 'viewer' }),
  ];
  const { body: second } = await newToken('ci').expect(201);
  const get = (token: string) => limited.withToken(token).get(team.path('/clusters/'));

  await get(one).expect(200);
  await get(second.token).expect(200);

  expect((await get(one).expect(429)).body.code).toBe('rate_limit_exceeded');
  await get(other).expect(200);
  await test.db.team.update({ where: { id: team.id }, data: { accountRequestsMax: 3 } });
  expect((await get(other).expect(200)).headers).toMatchObject({ 'ratelimit-limit': '3', 'ratelimit-remaining': '0' });
});

/* Tokens of a real issuer, over real sockets: docs/service-accounts.md. */
describe('an account that trusts an issuer', () => {
  let issuer: TokenIssuer;
  beforeAll(async () => {
    issuer = await startTokenIssuer();
  });
  afterAll(() => issuer.close());
  beforeEach(async () => {
    issuer.answer = null;
    await put('ci', { role: 'member' }).expect(201);
    await putIssuer().expect(201);
  });

  const AUDIENCE = 'https://clusters.example.org';
  const trust = (more: object = {}) => ({
    issuer: issuer.url,
    audience: AUDIENCE,
    claims: { sub: 'repo:acme/infra:*', ref: 'refs/heads/main' },
    serviceAccount: 'ci',
    ...more,
  });
  const putIssuer = (more: object = {}, name = 'github') =>
    team.asAdmin.put(`/trusted-issuers/${name}/`).send({ spec: trust(more) });
  const sign = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
    issuer.sign({ aud: AUDIENCE, ref: 'refs/heads/main', ...claims }, header);
  const exchange = (token: string, more: Record<string, string> = {}, api = test.api) =>
    api
      .post('/auth/token/')
      .type('form')
      .send({
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        audience: `${team.slug}/ci`,
        subject_token: token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        ...more,
      });
  const tokenOf = async (): Promise<string> => (await exchange(await sign()).expect(200)).body.access_token;
  const audit = async (action: string) =>
    (await team.asAdmin.get(`/audit/?action=${action}`)).body.items as Record<string, unknown>[];
  /** Refused exchanges in the audit log of the team. No answer waits for them. */
  const logged = (entries: number) =>
    waitFor(`${entries} entries`, async () => {
      const found = await audit('service_account.refuse_exchange');
      return found.length === entries && found;
    });
  const countOf = async (outcome: string): Promise<number> => {
    const text = await test.deps.metrics.registry.metrics();
    return Number(
      new RegExp(`corral_token_exchanges_total{[^}]*outcome="${outcome}"[^}]*} (\\d+)`).exec(text)?.[1] ?? 0,
    );
  };

  describe('a trusted issuer', () => {
    it('is declared, changed, listed and deleted by administrators', async () => {
      const { body } = await team.asAdmin.get('/trusted-issuers/github/').expect(200);
      expect(body.spec).toEqual(trust());
      await team.asAdmin.put('/trusted-issuers/github/').send(body).expect(200);
      const changed = await putIssuer({ audience: 'other' }).expect(200);

      const list = await team.asAdmin.get('/trusted-issuers/').expect(200);
      expect(list.body.items).toEqual([changed.body]);
      await team.asAdmin.delete('/trusted-issuers/github/').expect(204);
      await team.asAdmin.get('/trusted-issuers/github/').expect(404);
      const actions = await test.db.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } });
      expect(actions.map(({ action }) => action).slice(1)).toEqual([
        'service_account.trust_issuer',
        'service_account.change_issuer',
        'service_account.distrust_issuer',
      ]);
    });

    it.each<[string, object, string]>([
      ['a private address', { issuer: 'https://169.254.169.254' }, '/spec/issuer'],
      ['no condition on the subject', { claims: { ref: 'main' } }, '/spec/claims/sub'],
      ['any subject', { claims: { sub: '*' } }, '/spec/claims/sub'],
      ['an account that does not exist', { serviceAccount: 'none' }, '/spec/serviceAccount'],
    ])('cannot have %s', async (_what, spec, pointer) => {
      const { body } = await putIssuer(spec, 'other').expect(422);

      expect(body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
    });

    it('is one of at most 20 of the team', async () => {
      const account = await test.db.serviceAccount.findFirstOrThrow({ where: { teamId: team.id } });
      const own = { teamId: team.id, accountId: account.id, createdById: team.admin.id };
      const columns = { issuer: 'https://id.test', audience: 'a', claims: { sub: 'me' } };
      const data = Array.from({ length: 19 }, (_, at) => ({ ...own, ...columns, name: `i${at}` }));
      await test.db.trustedIssuer.createMany({ data });

      expect((await putIssuer({}, 'another').expect(403)).body.code).toBe('quota_exceeded');
      await putIssuer({ audience: 'other' }).expect(200);
    });
  });

  describe('an exchange', () => {
    it('gives 15 minutes as the service account, once the conditions hold', async () => {
      const before = await countOf('issued');
      const { body, headers } = await exchange(await sign()).expect(200);

      expect(body).toEqual({
        access_token: expect.stringMatching(/^corral_[\w-]{43}$/),
        issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        token_type: 'Bearer',
        expires_in: 900,
      });
      expect(headers['cache-control']).toBe('no-store');
      await clusters(body.access_token).expect(200);
      const row = await test.db.serviceAccountToken.findFirstOrThrow({ where: { teamId: team.id } });
      expect(Buffer.from(row.hash)).toEqual(hashAccountToken(body.access_token));
      expect(row.expiresAt.getTime() - row.createdAt.getTime()).toBe(900_000);
      expect(await countOf('issued')).toBe(before + 1);
      const tokens = await team.asAdmin.get('/service-accounts/ci/tokens/').expect(200);
      expect(tokens.body.items).toEqual([]);
    });

    it('accepts an ID token, several audiences, and the second of two issuers of the same URL', async () => {
      await putIssuer({ audience: 'other', claims: { sub: 'repo:acme/infra:*' } }, 'second').expect(201);
      const token = await sign({ aud: ['x', 'other'], ref: null });

      await exchange(token, { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' }).expect(200);
    });

    it('is in the audit log with account, issuer and subject, as is everything that its token does', async () => {
      await addConnection(test, team);
      const token = await tokenOf();
      const spec = { connectionRef: 'main', region: 'hel1', kubernetesVersion: '1.33' };
      expect([200, 202]).toContain(
        (await test.api.withToken(token).put(team.path('/clusters/web/')).send({ spec })).status,
      );

      const entries = [...(await audit('service_account.exchange_token')), ...(await audit('cluster.declare'))];

      const credential = {
        tokenId: expect.any(String),
        issuer: issuer.url,
        subject: 'repo:acme/infra:ref:refs/heads/main',
      };
      expect(entries).toHaveLength(2);
      for (const entry of entries) {
        expect(entry).toMatchObject({ actor: { kind: 'account', name: 'ci' }, detail: { credential } });
      }
    });

    it('accepts a key that the issuer has rotated to, without a restart', async () => {
      await tokenOf();
      await issuer.rotate();

      await tokenOf();
    });
  });

  describe('a token that does not fit', () => {
    /** Signs a token with a public key as the secret of HMAC. */
    const hmac = async () => {
      const parts = (await sign({}, {})).split('.').slice(0, 2) as [string, string];
      const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: '0' })).toString('base64url');
      const key = await exportSPKI(
        (await importJWK({ ...issuer.publicKey(), ext: true }, 'ES256', { extractable: true })) as never,
      );
      const input = `${header}.${parts[1]}`;
      return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`;
    };
    const unsecured = async () =>
      new UnsecuredJWT({ aud: AUDIENCE, ref: 'refs/heads/main', sub: 'repo:acme/infra:x' })
        .setIssuer(issuer.url)
        .setIssuedAt()
        .setExpirationTime('5m')
        .encode();
    const altered = async () => {
      const [header, , signature] = (await sign()).split('.');
      const claims = {
        iss: issuer.url,
        aud: AUDIENCE,
        sub: 'repo:acme/infra:x',
        ref: 'refs/heads/main',
        iat: 1,
        exp: 2e9,
      };
      return [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.');
    };
    const now = () => Math.floor(Date.now() / 1_000);

    it.each<[string, string, () => Promise<string>]>([
      ['another audience', 'audience', () => sign({ aud: 'https://elsewhere.test' })],
      ['no audience', 'audience', () => sign({ aud: null })],
      ['another subject', 'claims', () => sign({ sub: 'repo:evil/infra:ref:refs/heads/main' })],
      ['another branch', 'claims', () => sign({ ref: 'refs/heads/other' })],
      ['a claim missing', 'claims', () => sign({ ref: null })],
      ['an issuer that is not trusted', 'unknown_issuer', () => sign({ iss: 'https://evil.test' })],
      ['the issuer with a slash', 'unknown_issuer', () => sign({ iss: `${issuer.url}/` })],
      ['the algorithm none', 'algorithm', unsecured],
      ['HMAC with the public key', 'algorithm', hmac],
      ['claims of somebody else', 'signature', altered],
      ['an unknown key', 'signature', () => sign({}, { kid: 'unknown' })],
      ['its end behind it', 'expired', () => sign({ iat: now() - 700, exp: now() - 60 })],
      ['its beginning before it', 'not_yet_valid', () => sign({ nbf: now() + 120 })],
      ['a time of issue in the future', 'not_yet_valid', () => sign({ iat: now() + 120, exp: now() + 600 })],
      ['no end', 'malformed', () => sign({ exp: null })],
      ['no time of issue', 'malformed', () => sign({ iat: null })],
      ['no subject', 'malformed', () => sign({ sub: null })],
      ['a beginning that is no time', 'malformed', () => sign({ nbf: 'soon' })],
      ['a time of issue that is no time', 'malformed', () => sign({ iat: 'now' })],
      ['a subject that cannot be stored', 'malformed', () => sign({ sub: 'repo:acme/infra:\0' })],
      ['two days to live', 'lifetime', () => sign({ exp: now() + 172_800 })],
      ['too many characters', 'too_long', () => sign({ more: 'x'.repeat(9_000) })],
      ['no form of a token', 'malformed', async () => 'a.b'],
    ])('with %s is refused, counted and logged (%s)', async (_what, reason, make) => {
      const [token, before] = [await make(), await countOf(reason)];

      const { body } = await exchange(token).expect(400);

      expect(answerOf(body)).toEqual(refusal);
      expect(await countOf(reason)).toBe(before + 1);
      const [entry] = await logged(1);
      expect(entry).toMatchObject({ outcome: 'refused', actor: { kind: 'service' }, target: { name: 'ci' } });
      expect(entry?.detail).toMatchObject({ reason });
      expect(await test.db.serviceAccountToken.count({ where: { teamId: team.id } })).toBe(0);
    });

    it.each<[string, () => string]>([
      ['a team that does not exist', () => 'no-such-team/ci'],
      ['an account that does not exist', () => `${team.slug}/none`],
      ['another team', () => 'globex/ci'],
      ['no account', () => team.slug],
      ['a path', () => `${team.slug}/ci/../ci`],
    ])('for %s is refused with the same answer', async (_what, audience) => {
      const { body } = await exchange(await sign(), { audience: audience() }).expect(400);

      expect(answerOf(body)).toEqual(refusal);
    });

    it('does not fit the issuer of another team', async () => {
      const other = team;
      team = await test.createTeam();
      await put('ci', { role: 'admin' }).expect(201);

      const { body } = await exchange(await sign()).expect(400);

      expect(answerOf(body)).toEqual(refusal);
      team = other;
      await tokenOf();
    });

    const answerOf = ({ instance: _instance, ...rest }: Record<string, unknown>) => rest;
    const detail =
      'The token is not valid, or no trusted issuer fits it. The audit log of the team has the reason, if the team exists.';
    const refusal = {
      type: 'http://corral.test/problems/invalid_grant',
      title: 'The grant is not accepted',
      status: 400,
      code: 'invalid_grant',
      operationId: null,
      detail,
      error: 'invalid_grant',
      error_description: detail,
    };
  });

  describe('a request of an exchange', () => {
    it.each<[string, Record<string, string>, string]>([
      ['another type of token', { subject_token_type: 'urn:ietf:params:oauth:token-type:saml2' }, 'invalid_request'],
      ['another wish', { requested_token_type: 'urn:ietf:params:oauth:token-type:jwt' }, 'invalid_request'],
      ['a scope', { scope: 'read' }, 'invalid_scope'],
      ['a resource', { resource: 'https://corral.test/' }, 'invalid_target'],
      ['an actor', { actor_token: 'a.b.c' }, 'invalid_request'],
      ['no token', { subject_token: '' }, 'invalid_request'],
    ])('with %s is refused', async (_what, more, error) => {
      const { body } = await exchange(await sign(), more).expect(400);

      expect([body.code, body.error]).toEqual(['invalid_token_request', error]);
    });
  });

  describe('strangers', () => {
    /** A replica whose buckets do not fill up. */
    const withLimits = (limits: Partial<AppConfig['limits']> = {}) =>
      startReplica({
        buckets: memoryBuckets(() => 1_000_000),
        config: { ...test.deps.config, limits: { ...test.deps.config.limits, ...limits } },
      });

    it('do not use up the exchanges of an account, whose own are limited', async () => {
      const api = withLimits();
      for (let time = 0; time < 70; time += 1) await exchange('a.b', {}, api).expect(400);
      const token = await sign();
      for (let time = 0; time < 60; time += 1) await exchange(token, {}, api).expect(200);

      const { body, headers } = await exchange(token, {}, api).expect(429);

      expect([body.error, headers['retry-after']]).toEqual(['temporarily_unavailable', '1']);
      await exchange('a.b', {}, api).expect(400);
    });

    it('are limited per address, where exchanges that succeed do not count', async () => {
      const api = withLimits({ signInRequestsPerAddressPerMinute: 2, perAddressPerMinute: 3 });
      for (let time = 0; time < 5; time += 1) await exchange(await sign(), {}, api).expect(200);
      for (let time = 0; time < 2; time += 1) await exchange('a.b', {}, api).expect(400);

      const { body } = await exchange('a.b', {}, api).expect(429);

      expect(body.detail).toContain('this address');
    });

    it('learn from no call to the issuer whether team and account exist', async () => {
      const asked: string[] = [];
      const ask = (url: string) => {
        asked.push(url);
        return test.deps.issuerKeys(url);
      };
      const api = startReplica({ issuerKeys: ask });
      const token = await sign({ aud: 'elsewhere' });
      const audiences = [`${team.slug}/ci`, `${team.slug}/none`, 'no-such-team/ci'];
      for (const audience of audiences) await exchange(token, { audience }, api).expect(400);

      expect(asked).toEqual([issuer.url, issuer.url, issuer.url]);
    });

    it('leave one entry per minute and account in the audit log, with their number', async () => {
      const ends: (() => void)[] = [];
      const api = startReplica({
        refusals: refusalLog({
          write: (entry) => recordRefusals(test.db, entry),
          after(_ms, run) {
            ends.push(run);
            return () => undefined;
          },
          onError: () => undefined,
        }),
      });
      const endMinute = () => ends.splice(0).forEach((end) => void end());
      await exchange('a.b', {}, api).expect(400);
      endMinute();
      await logged(1);
      for (let time = 0; time < 9; time += 1) await exchange('a.b', {}, api).expect(400);
      await exchange(await sign({ ref: 'refs/heads/other' }), {}, api).expect(400);
      await exchange('a.b', {}, api).expect(400);
      endMinute();

      const [second, first] = await logged(2);

      expect(first?.detail).toMatchObject({ reason: 'malformed', count: 1 });
      expect(second?.detail).toMatchObject({
        reason: 'claims',
        count: 11,
        subject: 'repo:acme/infra:ref:refs/heads/main',
      });
    });
  });

  describe('a token by exchange', () => {
    it.each<[string, () => PromiseLike<unknown>]>([
      ['the issuer is deleted', () => team.asAdmin.delete('/trusted-issuers/github/').expect(204)],
      ['its conditions change', () => putIssuer({ claims: { sub: 'repo:acme/infra:*' } }).expect(200)],
      ['its audience changes', () => putIssuer({ audience: 'other' }).expect(200)],
      ['the account is deleted', () => team.asAdmin.delete('/service-accounts/ci/').expect(204)],
      ['the role is narrowed', () => put('ci', { role: 'viewer' }).expect(200)],
      ['the clusters are narrowed', () => put('ci', { role: 'member', narrowing: { clusters: ['a*'] } }).expect(200)],
    ])('ends at once when %s', async (_what, change) => {
      const token = await tokenOf();
      await clusters(token).expect(200);

      await change();

      await clusters(token).expect(401);
    });

    it('gets DNS tokens, which end with the trust in its issuer, and writes are logged with the subject', async () => {
      const start = async () => {
        const token = await tokenOf();
        const { body } = await test.api.withToken(token).post(team.path('/dns-session/')).send().expect(201);
        return body;
      };
      const { expiresAt } = await start();
      const tokens = () => test.db.dnsToken.findMany({ where: { teamId: team.id } });

      const [before] = await tokens();
      expect(before).toMatchObject({
        revokedAt: null,
        account: { name: 'ci', issuer: issuer.url, subject: 'repo:acme/infra:ref:refs/heads/main' },
      });
      expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(900_000);
      await team.asAdmin.delete('/trusted-issuers/github/').expect(204);

      expect((await tokens()).map(({ revokedAt }) => revokedAt)).toEqual([expect.any(Date)]);
    });

    it('survives a declaration that changes nothing', async () => {
      const token = await tokenOf();

      await putIssuer().expect(200);
      await put('ci', { role: 'member' }).expect(200);

      await clusters(token).expect(200);
    });

    it('leaves no rows of ended ones behind', async () => {
      await tokenOf();
      await test.db.serviceAccountToken.updateMany({ where: { teamId: team.id }, data: { expiresAt: new Date(0) } });
      await tokenOf();

      expect(await test.db.serviceAccountToken.count({ where: { teamId: team.id } })).toBe(1);
    });

    it('is not issued for conditions that change while it is checked', async () => {
      let goOn: (() => void) | undefined;
      issuer.answer = (path, res) => {
        if (path !== '/keys') return false;
        goOn = () => res.end(JSON.stringify({ keys: [issuer.publicKey()] }));
        return true;
      };
      const calls = issuerCalls(callGuard({ privateHosts: [], allowLoopback: true }));
      const api = startReplica({ issuerKeys: issuerKeys({ calls }) }); // knows no keys yet
      const waiting = exchange(await sign(), {}, api);
      const answered = waiting.then((answer) => answer);
      await waitFor('the keys to be asked for', () => goOn !== undefined);
      await putIssuer({ claims: { sub: 'repo:acme/other:*' } }).expect(200);
      goOn?.();

      expect((await answered).status).toBe(400);
      expect(await test.db.serviceAccountToken.count({ where: { teamId: team.id } })).toBe(0);
    });
  });

  /** A second replica on the same database. */
  const startReplica = (deps: Partial<AppDeps>) =>
    checkedClient(
      buildApp({
        ...test.deps,
        health: { ...test.deps.health, draining: new AbortController().signal },
        metrics: createMetrics({ service: 'test' }),
        ...deps,
      }),
      'http://corral.test',
    );

  describe('the keys of an issuer', () => {
    const calls = issuerCalls(callGuard({ privateHosts: [], allowLoopback: true }));
    const findKey = async (keysOf: KeysOf) => {
      const find = await keysOf(issuer.url);
      return find({ alg: 'ES256', kid: 'unknown' }, { payload: '', signature: '' });
    };

    it('are read once for many tokens with unknown keys, until the cool-down is over', async () => {
      const keysOf = issuerKeys({ calls });
      issuer.asked.length = 0;

      for (let time = 0; time < 20; time += 1) {
        await expect(findKey(keysOf)).rejects.toThrow();
      }

      expect(issuer.asked).toEqual(['/.well-known/openid-configuration', '/keys']);
    });

    it.each<[string, NonNullable<TokenIssuer['answer']>]>([
      ['redirect', (_path, res) => void res.writeHead(302, { Location: `${issuer.url}/keys` }).end() === undefined],
      ['are too large', (_path, res) => void res.end(`{"keys":["${'x'.repeat(300_000)}"]}`) === undefined],
      ['are not JSON', (_path, res) => void res.end('<html>') === undefined],
      [
        'name another issuer',
        (_path, res) =>
          void res.end(JSON.stringify({ issuer: 'https://evil.test', jwks_uri: `${issuer.url}/keys` })) === undefined,
      ],
      [
        'are at a private address',
        (_path, res) =>
          void res.end(JSON.stringify({ issuer: issuer.url, jwks_uri: 'https://10.0.0.1/keys' })) === undefined,
      ],
    ])('are not taken from answers that %s, and the issuer is left alone for a while', async (_what, answer) => {
      const keysOf = issuerKeys({ calls });
      issuer.answer = answer;
      issuer.asked.length = 0;

      for (let time = 0; time < 3; time += 1) {
        await expect(findKey(keysOf)).rejects.toThrow(/read failed|another issuer/);
      }

      expect(issuer.asked.length).toBeLessThanOrEqual(1);
    });
  });
});
