import { createHmac, randomUUID } from 'node:crypto';
import { memoryBuckets } from '@corral/admission';
import { hashAccountToken } from '@corral/auth';
import { createMetrics } from '@corral/service';
import { waitFor } from '@corral/testing';
import { startTokenIssuer, type TokenIssuer } from '@corral/testing/token-issuer';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { exportSPKI, importJWK, UnsecuredJWT } from 'jose';
import { type AppConfig, type AppDeps, buildApp } from '../../src/build-app.js';
import { issuerCalls } from '../../src/tokens/issuer-calls.js';
import { issuerKeys, type KeysOf } from '../../src/tokens/issuer-keys.js';
import { refusalLog } from '../../src/tokens/refusal-log.js';
import { recordRefusals } from '../../src/tokens/store.js';
import { checkedClient } from '../support/checked-client.js';
import { addConnection } from '../support/clusters.js';
import { hearStatements } from '../support/hear-statements.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

/* Exchange of tokens of a real issuer, over real sockets: docs/service-accounts.md. */

let issuer: TokenIssuer;
let test: TestClusterApi;
beforeAll(async () => {
  issuer = await startTokenIssuer();
  test = await startClusterApi();
});
afterAll(async () => {
  await test.close();
  await issuer.close();
});
let team: TestTeam;
beforeEach(async () => {
  issuer.answer = null;
  team = await test.createTeam(`t-${randomUUID().slice(0, 8)}`);
  await putAccount({ role: 'member' }).expect(201);
  await putIssuer().expect(201);
});

const AUDIENCE = 'https://clusters.example.org';
const putAccount = (spec: object, name = 'ci') =>
  test.api
    .as(team.admin)
    .put(team.path(`/service-accounts/${name}/`))
    .send({ spec });
const trust = (more: object = {}) => ({
  issuer: issuer.url,
  audience: AUDIENCE,
  claims: { sub: 'repo:acme/infra:*', ref: 'refs/heads/main' },
  serviceAccount: 'ci',
  ...more,
});
const putIssuer = (more: object = {}, name = 'github') =>
  test.api
    .as(team.admin)
    .put(team.path(`/trusted-issuers/${name}/`))
    .send({ spec: trust(more) });
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
const clusters = (token: string) => test.api.withToken(token).get(team.path('/clusters/'));
const audit = async (action: string) =>
  (await test.api.as(team.admin).get(team.path(`/audit/?action=${action}`))).body.items as Record<string, unknown>[];
/** Refused exchanges in the audit log of the team. No answer waits for them. */
const logged = (entries: number) =>
  waitFor(`${entries} entries`, async () => {
    const found = await audit('service_account.refuse_exchange');
    return found.length === entries && found;
  });
const countOf = async (outcome: string): Promise<number> => {
  const text = await test.deps.metrics.registry.metrics();
  return Number(new RegExp(`corral_token_exchanges_total{[^}]*outcome="${outcome}"[^}]*} (\\d+)`).exec(text)?.[1] ?? 0);
};

describe('a trusted issuer', () => {
  it('is declared, changed, listed and deleted by administrators', async () => {
    const { body } = await test.api.as(team.admin).get(team.path('/trusted-issuers/github/')).expect(200);
    expect(body.spec).toEqual(trust());
    await test.api.as(team.admin).put(team.path('/trusted-issuers/github/')).send(body).expect(200);
    const changed = await putIssuer({ audience: 'other' }).expect(200);

    const list = await test.api.as(team.admin).get(team.path('/trusted-issuers/')).expect(200);
    expect(list.body.items).toEqual([changed.body]);
    await test.api.as(team.admin).delete(team.path('/trusted-issuers/github/')).expect(204);
    await test.api.as(team.admin).get(team.path('/trusted-issuers/github/')).expect(404);
    const actions = await test.db.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } });
    expect(actions.map(({ action }) => action).slice(1)).toEqual([
      'service_account.trust_issuer',
      'service_account.change_issuer',
      'service_account.distrust_issuer',
    ]);
  });

  it.each<[string, object, string]>([
    ['a plain-text URL elsewhere', { issuer: 'http://id.example.org' }, '/spec/issuer'],
    ['a private address', { issuer: 'https://169.254.169.254' }, '/spec/issuer'],
    ['a query', { issuer: 'https://id.example.org/?a=b' }, '/spec/issuer'],
    ['no condition on the subject', { claims: { ref: 'main' } }, '/spec/claims/sub'],
    ['any subject', { claims: { sub: '*' } }, '/spec/claims/sub'],
    ['a condition that is no text', { claims: { sub: 'me', admin: true } }, '/spec/claims/admin'],
    ['too many stars', { claims: { sub: 'me', ref: '*a*b*c*' } }, '/spec/claims/ref'],
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
    const tokens = await test.api.as(team.admin).get(team.path('/service-accounts/ci/tokens/')).expect(200);
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
  /** With a public key as the secret of HMAC. */
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
    team = await test.createTeam(`t-${randomUUID().slice(0, 8)}`);
    await putAccount({ role: 'admin' }).expect(201);

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

  it('cause the same work whether or not team, account and trust exist', async () => {
    const asked: string[] = [];
    const api = startReplica({
      issuerKeys: (url) => {
        asked.push(url);
        return test.deps.issuerKeys(url);
      },
    });
    const trustless = await test.createTeam(`t-${randomUUID().slice(0, 8)}`);
    await test.api
      .as(trustless.admin)
      .put(trustless.path('/service-accounts/ci/'))
      .send({ spec: { role: 'viewer' } })
      .expect(201);
    const audiences = [`${team.slug}/ci`, `${team.slug}/none`, `${trustless.slug}/ci`, 'no-such-team/ci'];
    const work = async (token: string): Promise<unknown[]> => {
      const done: unknown[] = [];
      for (const audience of audiences) {
        asked.length = 0;
        const statements: string[] = [];
        const stop = hearStatements((text) => statements.push(text));
        await exchange(token, { audience }, api).expect(400);
        stop();
        // The entry of an earlier one may be written meanwhile.
        done.push({ statements: statements.filter((text) => !text.includes('INTO audit_entry')), asked: [...asked] });
      }
      return done;
    };

    for (const token of [
      await sign({ aud: 'elsewhere' }),
      await sign({}, { kid: 'x' }),
      await sign({ iss: 'x' }),
      'a',
    ]) {
      const [first, ...others] = await work(token);
      expect(first).toMatchObject({ statements: [expect.stringContaining('trusted_issuer')] });
      for (const other of others) expect(other).toEqual(first);
    }
  });

  it.each([
    ['ends within a surrogate pair', `${'x'.repeat(254)}\u{1f600}`],
    ['has a half of a surrogate pair', 'https://id.test/\ud83d'],
    ['has a NUL', 'https://id.test/\0'],
  ])('get the same answer for an issuer that %s', async (_what, iss) => {
    const { body: known } = await exchange(await sign({ iss })).expect(400);
    const { body: unknown } = await exchange(await sign({ iss }), { audience: 'no-such-team/ci' }).expect(400);

    expect({ ...known, instance: null }).toEqual({ ...unknown, instance: null });
    await logged(1);
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
    ['the issuer is deleted', () => test.api.as(team.admin).delete(team.path('/trusted-issuers/github/')).expect(204)],
    ['its conditions change', () => putIssuer({ claims: { sub: 'repo:acme/infra:*' } }).expect(200)],
    ['its audience changes', () => putIssuer({ audience: 'other' }).expect(200)],
    ['the account is deleted', () => test.api.as(team.admin).delete(team.path('/service-accounts/ci/')).expect(204)],
    ['the role is narrowed', () => putAccount({ role: 'viewer' }).expect(200)],
    ['the clusters are narrowed', () => putAccount({ role: 'member', narrowing: { clusters: ['a*'] } }).expect(200)],
  ])('ends at once when %s', async (_what, change) => {
    const token = await tokenOf();
    await clusters(token).expect(200);

    await change();

    await clusters(token).expect(401);
  });

  it('survives a declaration that changes nothing', async () => {
    const token = await tokenOf();

    await putIssuer().expect(200);
    await putAccount({ role: 'member' }).expect(200);

    await clusters(token).expect(200);
  });

  it('is not issued for conditions that change while it is checked', async () => {
    let goOn: (() => void) | undefined;
    issuer.answer = (path, res) => {
      if (path !== '/keys') return false;
      goOn = () => res.end(JSON.stringify({ keys: [issuer.publicKey()] }));
      return true;
    };
    const calls = issuerCalls({ privateHosts: [], allowLoopback: true });
    const api = startReplica({ issuerKeys: issuerKeys({ calls }) }); // knows no keys yet
    const waiting = exchange(await sign(), {}, api);
    const answered = waiting.then((answer) => answer);
    await waitFor('the keys to be asked for', () => goOn !== undefined);
    await putIssuer({ claims: { sub: 'repo:acme/other:*' } }).expect(200);
    goOn?.();

    expect((await answered).status).toBe(400);
    expect(await test.db.serviceAccountToken.count({ where: { teamId: team.id } })).toBe(0);
  });

  it('leaves no rows of ended ones behind', async () => {
    await tokenOf();
    await test.db.serviceAccountToken.updateMany({ where: { teamId: team.id }, data: { expiresAt: new Date(0) } });

    await tokenOf();

    expect(await test.db.serviceAccountToken.count({ where: { teamId: team.id } })).toBe(1);
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
  const calls = issuerCalls({ privateHosts: [], allowLoopback: true });
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
