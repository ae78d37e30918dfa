import { randomUUID } from 'node:crypto';
import type { KeptReading } from '@corral/admission';
import { dnsTokenStore, dnsTokenVerifier, isWellFormedDnsToken, requestCounter } from '@corral/auth';
import type { AccountNarrowing, Role } from '@corral/contracts';
import { createMetrics } from '@corral/service';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { buildApp } from '../../src/build-app.js';
import { checkedClient, type TestUser } from '../support/checked-client.js';
import { givenDnsEntry, givenToken, givenZone, ZONE_ID } from '../support/given-audit.js';
import { recordedLog } from '../support/recorded-log.js';
import { PUBLIC_URL, startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

let test: TestClusterApi;
const written = recordedLog();
let team: TestTeam;
/** Reads the upstream's budget. */
let readAll: () => Promise<Record<string, KeptReading>>;
beforeAll(async () => {
  test = await startClusterApi({
    log: written.log,
    config: { dnsRecordsPerTeam: 150, dnsRequestsPerTeamPerMinute: 90 },
    deps: { readBudgets: () => readAll() },
  });
  await givenZone(test);
});
afterAll(() => test.close());
beforeEach(async () => {
  readAll = async () => ({});
  team = await test.createTeam();
});

describe('dns tokens', () => {
  const HOUR_MS = 3_600_000;
  const path = (id = '') => team.path(`/dns-tokens/${id === '' ? '' : `${id}/`}`);
  const post = (body: object = { name: 'ci' }, { user = team.member, key }: { user?: TestUser; key?: string } = {}) => {
    const sent = test.api.as(user).post(path());
    return (key === undefined ? sent : sent.set('Idempotency-Key', key)).send(body);
  };
  const get = (rest = '', user = team.member) => test.api.as(user).get(`${path()}${rest}`);
  const revoke = (id: string, user = team.member) => test.api.as(user).delete(path(id));
  const namesOf = ({ body }: { body: { items: { name: string }[] } }) => body.items.map(({ name }) => name);
  const rowOf = (id: string) => test.db.dnsToken.findUniqueOrThrow({ where: { id } });
  const auditOf = async () =>
    (await test.db.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } })).map(
      ({ action, targetName, userId }) => ({ action, targetName, userId }),
    );
  const byOperator = (name: string) => dnsTokenStore(test.db).issueToken(team, { name });
  describe('POST /dns-tokens/', () => {
    it('answers the token’s text once, with its location', async () => {
      const answer = await post({ name: 'ci' }).expect(201);

      const { token, ...rest } = answer.body;
      expect(isWellFormedDnsToken(token)).toBe(true);
      expect(rest).toEqual({
        id: expect.any(String),
        name: 'ci',
        state: 'active',
        scopes: ['dns'],
        withinName: null,
        withinTypes: [],
        createdBy: { id: expect.any(Number), email: team.member.email, displayName: team.member.email },
        createdAt: expect.any(String),
        expiresAt: null,
        lastUsedAt: null,
        revokedAt: null,
      });
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(answer.headers.location).toBe(path(rest.id));
      expect((await get(`${rest.id}/`).expect(200)).body).toEqual(rest);
    });

    it('restricts it to a name, types and a time', async () => {
      const expiresAt = new Date(Date.now() + HOUR_MS).toISOString();
      const withinName = `ci.${team.slug}`;

      const { body } = await post({ name: 'acme', withinName, withinTypes: ['TXT', 'CNAME'], expiresAt }).expect(201);

      expect(body).toMatchObject({ withinName, withinTypes: ['TXT', 'CNAME'], expiresAt });
      expect(await rowOf(body.id)).toMatchObject({ withinName, withinTypes: ['TXT', 'CNAME'] });
    });

    it.each<[string, (slug: string) => object, string]>([
      ['another scope', () => ({ name: 'ci', scopes: ['clusters'] }), '/scopes/0'],
      ['a name of another team', () => ({ name: 'ci', withinName: 'ci.globex' }), '/withinName'],
      ['a type that cannot be written', () => ({ name: 'ci', withinTypes: ['MX'] }), '/withinTypes/0'],
      ['a time in the past', () => ({ name: 'ci', expiresAt: '2020-01-01T00:00:00Z' }), '/expiresAt'],
    ])('answers 422 for %s and creates none', async (_what, bodyFor, pointer) => {
      const { body } = await post(bodyFor(team.slug)).expect(422);

      expect([body.code, body.errors.map((wrong: { pointer: string }) => wrong.pointer)]).toEqual([
        'validation_failed',
        [pointer],
      ]);
      expect(await test.db.dnsToken.count({ where: { teamId: team.id } })).toBe(0);
      expect(await auditOf()).toEqual([]);
    });

    it('answers 403 for the sixth active token of a team, and 201 after one is revoked or has expired', async () => {
      await byOperator('one');
      await post({ name: 'two' }, { user: team.admin }).expect(201);
      for (const name of ['three', 'four', 'five']) await post({ name }).expect(201);

      const { body } = await post({ name: 'six' }).expect(403);
      await revoke((await get()).body.items[0].id).expect(204);
      await post({ name: 'six' }).expect(201);
      await test.db.dnsToken.updateMany({ where: { teamId: team.id, name: 'one' }, data: { expiresAt: new Date(0) } });
      await post({ name: 'seven' }).expect(201);

      expect(body.code).toBe('quota_exceeded');
      expect(body.detail).toContain('5 active tokens');
    });

    it('creates five of twenty concurrent ones', async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => post({ name: `t${at}` })));

      expect(answers.map(({ status }) => status).sort()).toEqual([...Array(5).fill(201), ...Array(15).fill(403)]);
      expect(await auditOf()).toHaveLength(5);
    });
  });

  describe('an Idempotency-Key', () => {
    it('creates one token, whose text is in the first answer only', async () => {
      const first = await post({ name: 'ci' }, { key: 'k' }).expect(201);
      const again = await post({ name: 'ci' }, { key: 'k' }).expect(201);

      expect(again.body).toEqual({ ...first.body, token: null });
      expect(again.headers.location).toBe(first.headers.location);
      expect(await auditOf()).toHaveLength(1);
    });

    it('creates one token for concurrent requests, and exactly one of them gets its text', async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => post({ name: 'ci' }, { key: 'k' })));

      expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1);
      expect(answers.filter(({ body }) => body.token !== null)).toHaveLength(1);
    });

    it('belongs to one request and one user', async () => {
      await post({ name: 'ci' }, { key: 'k' }).expect(201);

      const { body } = await post({ name: 'other' }, { key: 'k' }).expect(422);
      const theirs = await post({ name: 'ci' }, { key: 'k', user: team.admin }).expect(201);

      expect(body.code).toBe('idempotency_key_reused');
      expect(theirs.body.token).not.toBeNull();
    });
  });

  it('GET /dns-tokens/ filters by state', async () => {
    for (const name of ['active', 'expired', 'revoked', 'both']) await post({ name }).expect(201);
    const past = new Date(Date.now() - HOUR_MS);
    const change = (names: string[], data: object) =>
      test.db.dnsToken.updateMany({ where: { teamId: team.id, name: { in: names } }, data });
    await change(['expired', 'both'], { expiresAt: past });
    await change(['revoked', 'both'], { revokedAt: past });

    const listed = await Promise.all(['active', 'expired', 'revoked'].map((state) => get(`?state=${state}`)));

    expect(listed.map((answer) => namesOf(answer).sort())).toEqual([['active'], ['expired'], ['both', 'revoked']]);
    for (const [at, state] of ['active', 'expired', 'revoked'].entries()) {
      expect(listed[at]?.body.items.every((item: { state: string }) => item.state === state)).toBe(true);
    }
  });

  it('DELETE /dns-tokens/{id}/ answers 204 when it is repeated, without an effect', async () => {
    const { body: made } = await post().expect(201);

    await Promise.all([revoke(made.id).expect(204), revoke(made.id).expect(204)]);
    const { revokedAt } = await rowOf(made.id);
    await revoke(made.id).expect(204);

    expect((await rowOf(made.id)).revokedAt).toEqual(revokedAt);
    expect((await auditOf()).map(({ action }) => action)).toEqual(['dns_token.create', 'dns_token.revoke']);
  });

  describe('access to tokens', () => {
    let colleague: TestUser;
    let mine: string;
    let theirs: string;
    let adminsOwn: string;
    let operators: string;
    beforeEach(async () => {
      colleague = await test.createUser(`second@${team.slug}.test`, [{ team, role: 'member' }]);
      mine = (await post({ name: 'mine' })).body.id;
      theirs = (await post({ name: 'theirs' }, { user: colleague })).body.id;
      adminsOwn = (await post({ name: 'admin’s' }, { user: team.admin })).body.id;
      operators = (await byOperator('operator’s')).record.id;
    });

    it('members see and revoke only the tokens that they created', async () => {
      expect(namesOf(await get().expect(200))).toEqual(['mine']);
      await get(`${mine}/`).expect(200);
      const absent = await get(`${randomUUID()}/`).expect(404);
      for (const id of [theirs, adminsOwn, operators]) {
        const hidden = await get(`${id}/`).expect(404);
        await revoke(id).expect(404);

        expect({ ...hidden.body, instance: null }).toEqual({ ...absent.body, instance: null });
        expect((await rowOf(id)).revokedAt).toBeNull();
      }
      await revoke(mine).expect(204);
    });

    it('administrators see and revoke all tokens of the team', async () => {
      expect(namesOf(await get('', team.admin).expect(200)).sort()).toEqual([
        'admin’s',
        'mine',
        'operator’s',
        'theirs',
      ]);
      for (const id of [mine, theirs, adminsOwn, operators]) {
        await get(`${id}/`, team.admin).expect(200);
        await revoke(id, team.admin).expect(204);
      }
    });
  });
});

describe('dns session', () => {
  let verifier: ReturnType<typeof dnsTokenVerifier>;
  beforeAll(() => {
    verifier = dnsTokenVerifier({
      pool: test.pool,
      databaseUrl: test.databaseUrl,
      applicationName: 'gateway',
      onListenError: () => undefined,
      cachedMs: 0,
    });
  });
  afterAll(() => verifier.close());

  const start = (user = team.member, of = team) => test.api.as(user).post(of.path('/dns-session/')).send();
  const started = async (user = team.member): Promise<string> => (await start(user).expect(201)).body.token;
  const rowsOf = () => test.db.dnsToken.findMany({ where: { teamId: team.id }, orderBy: { createdAt: 'asc' } });

  describe('POST /dns-session/', () => {
    it('answers a token of 15 minutes for all names of the team, and where to use it', async () => {
      const before = Date.now();

      const { body, headers } = await start().expect(201);

      expect(body).toEqual({
        endpoint: 'https://dns.test/v1',
        zone: 'example.test',
        token: expect.any(String),
        expiresAt: expect.any(String),
      });
      expect(headers['cache-control']).toBe('no-store');
      expect(isWellFormedDnsToken(body.token)).toBe(true);
      expect(Math.abs(Date.parse(body.expiresAt) - before - 900_000)).toBeLessThan(60_000);
      expect(await verifier.verify(body.token)).toMatchObject({
        kind: 'team',
        ownerLabel: team.slug,
        scopes: ['dns'],
        withinName: null,
        withinTypes: [],
      });
    });

    it('only reads for a viewer, and ends when the role gives or takes the right to write', async () => {
      const roleOf = (role: 'viewer' | 'member' | 'admin') =>
        test.db.membership.updateMany({ where: { userId: team.member.id, teamId: team.id }, data: { role } });
      await roleOf('viewer');
      const ofViewer = [await started(), await started()] as const;
      expect(await verifier.verify(ofViewer[0])).toMatchObject({ ownerLabel: team.slug, scopes: ['dns:read'] });
      await roleOf('member');
      expect(await verifier.verify(ofViewer[1])).toBeNull();

      const ofMember = [await started(), await started()] as const;
      await roleOf('admin');
      expect(await verifier.verify(ofMember[0])).toMatchObject({ scopes: ['dns'] });
      await roleOf('viewer');
      expect(await verifier.verify(ofMember[1])).toBeNull();
    });

    it('is neither counted nor listed among the tokens of the team, and cannot be revoked as one of them', async () => {
      await started();
      const [row] = await rowsOf();

      for (let time = 0; time < 5; time += 1) {
        await team.asMember.post('/dns-tokens/').send({ name: 'ci' }).expect(201);
      }
      const { items } = (await team.asAdmin.get('/dns-tokens/').expect(200)).body;
      expect(items.map(({ name }: { name: string }) => name)).toEqual(['ci', 'ci', 'ci', 'ci', 'ci']);
      expect((await team.asMember.get('/dns-usage/')).body.tokens.active).toBe(5);
      await team.asMember.delete(`/dns-tokens/${row?.id}/`).expect(404);
    });

    it('keeps the ten newest tokens of a session', async () => {
      const tokens: string[] = [];
      for (let time = 0; time < 11; time += 1) tokens.push(await started());

      expect(await verifier.verify(tokens[0] as string)).toBeNull();
      for (const token of tokens.slice(1)) expect(await verifier.verify(token)).not.toBeNull();
    });

    it('does not outlive the session', async () => {
      await test.db.session.updateMany({
        where: { userId: team.member.id },
        data: { expiresAt: new Date(Date.now() + 120_000) },
      });

      const { body } = await start().expect(201);

      expect(Date.parse(body.expiresAt)).toBeLessThanOrEqual(Date.now() + 120_000);
    });

    it.each([
      ['the person signs out', () => test.api.as(team.member).post('/auth/logout/').send().expect(204)],
      ['all sessions are ended', () => test.api.as(team.member).post('/auth/logout/everywhere/').send().expect(204)],
      ['the session is deleted', () => test.db.session.deleteMany({ where: { userId: team.member.id } })],
      [
        'the person leaves the team',
        () => test.db.membership.deleteMany({ where: { userId: team.member.id, teamId: team.id } }),
      ],
    ])('ends when %s', async (_what, end) => {
      const [token, kept] = [await started(), await started(team.admin)];

      await end();

      expect(await verifier.verify(token)).toBeNull();
      expect(await verifier.verify(kept)).not.toBeNull();
    });

    it('is not handed over to the team with the other tokens of a person who leaves', async () => {
      const token = await started();
      const { number } = await test.db.membership.findFirstOrThrow({
        where: { teamId: team.id, userId: team.member.id },
      });

      const { body } = await test.api
        .as(team.admin)
        .delete(`/a/${team.slug}/team/api/members/${number}/?dns_tokens=hand_over`)
        .expect(200);

      expect(body.dns_tokens).toEqual({ revoked: [], handed_over: [] });
      expect(await verifier.verify(token)).toBeNull();
    });

    it('does not exist where the installation does not state its DNS API', async () => {
      const config = { ...test.deps.config, dnsApi: null };
      const metrics = createMetrics({ service: 'test' });
      const other = checkedClient(buildApp({ ...test.deps, config, metrics }), PUBLIC_URL);

      await other.as(team.member).post(team.path('/dns-session/')).send().expect(404);
    });
  });

  describe('POST /dns-session/ with the token of a service account', () => {
    const account = (spec: Partial<AccountNarrowing> & { role: Role }) => test.createAccount(team, 'ci', spec);
    const startAs = (token: string) => test.api.withToken(token).post(team.path('/dns-session/')).send();
    const dns = { withinName: null, withinTypes: [] };

    it.each<[string, Partial<AccountNarrowing> & { role: Role }, string]>([
      ['a member', { role: 'member' }, 'dns'],
      ['an administrator', { role: 'admin' }, 'dns'],
      ['a viewer', { role: 'viewer' }, 'dns:read'],
      ['one that may only read', { role: 'member', actions: ['read'] }, 'dns:read'],
      ['one that may not delete', { role: 'member', actions: ['read', 'change'] }, 'dns:read'],
    ])('gives the account of %s a token with the right to write or not', async (_what, spec, scope) => {
      const { body } = await startAs(await account(spec)).expect(201);

      const found = await verifier.verify(body.token);
      expect(found).toMatchObject({ ownerLabel: team.slug, scopes: [scope], withinName: null, withinTypes: [] });
      expect((await rowsOf())[0]).toMatchObject({ name: 'ci', createdById: null });
    });

    it('is narrowed as the account is', async () => {
      const withinName = `ci.${team.slug}`;
      const token = await account({ role: 'member', dns: { withinName, withinTypes: ['TXT'] } });

      const { body } = await startAs(token).expect(201);

      expect(await verifier.verify(body.token)).toMatchObject({ withinName, withinTypes: ['TXT'] });
    });

    it('needs a name in the narrowing of an account that is narrowed to clusters', async () => {
      await startAs(await account({ role: 'member', clusters: ['ci-*'] })).expect(403);
      const withName = { clusters: ['ci-*'], dns: { ...dns, withinName: team.slug } };
      await startAs(await test.createAccount(team, 'names', { role: 'member', ...withName })).expect(201);
    });

    const put = (spec: object) =>
      team.asAdmin
        .put('/service-accounts/ci/')
        .send({ spec: { role: 'member', ...spec } })
        .expect(200);
    it.each<[string, () => PromiseLike<unknown>]>([
      ['its token is revoked', () => test.db.serviceAccountToken.updateMany({ data: { revokedAt: new Date() } })],
      ['the account is deleted', () => team.asAdmin.delete('/service-accounts/ci/').expect(204)],
      ['its role changes', () => put({ role: 'viewer' })],
      ['its names are narrowed', () => put({ narrowing: { dns: { withinName: `a.${team.slug}` } } })],
      ['it may do less', () => put({ narrowing: { actions: ['read'] } })],
    ])('ends when %s', async (_what, end) => {
      const { body } = await startAs(await account({ role: 'member' })).expect(201);
      const kept = await started();

      await end();

      expect(await verifier.verify(body.token)).toBeNull();
      expect(await verifier.verify(kept)).not.toBeNull();
    });
  });

  describe('the audit log', () => {
    it('names the service account that writes, and its credential, also when the account is deleted', async () => {
      const token = await test.createAccount(team, 'ci', { role: 'member' });
      await test.api.withToken(token).post(team.path('/dns-session/')).send().expect(201);
      const [row] = await rowsOf();
      await givenDnsEntry(test, team, { tokenId: row?.id as string });
      await team.asAdmin.delete('/service-accounts/ci/').expect(204);
      const log = async (actor: string) =>
        (await team.asAdmin.get(`/audit/?kind=dns&actor=${actor}`).expect(200)).body.items;

      expect(await log('account')).toEqual([
        expect.objectContaining({
          actor: { kind: 'account', id: expect.any(String), name: 'ci' },
          detail: { credential: { tokenId: row?.sessionId, issuer: null, subject: null } },
        }),
      ]);
      expect([await log('user'), await log('token')]).toEqual([[], []]);
    });

    it('names the person who writes with the token of a session', async () => {
      await started();
      const [row] = await rowsOf();
      await givenDnsEntry(test, team, { tokenId: row?.id as string });
      const log = async (query = '') => (await team.asAdmin.get(`/audit/?kind=dns${query}`).expect(200)).body.items;

      const [entry] = await log();
      expect(entry.actor).toEqual({ kind: 'user', id: expect.stringMatching(/^\d+$/), name: team.member.email });
      expect(await log('&actor=user')).toHaveLength(1);
      expect(await log(`&actor=${encodeURIComponent(team.member.email)}`)).toHaveLength(1);
      expect(await log(`&actor=${encodeURIComponent(team.admin.email)}`)).toHaveLength(0);
      expect(await log('&actor=token')).toHaveLength(0);
    });
  });
});

it('GET /record-set-changes/ says when each record set of the team was last changed, and by whom, and shows none of others', async () => {
  const changedAt = '2026-11-21T12:00:00.000Z';
  for (const [name, { slug }] of [
    ['a', team],
    ['b', team],
    ['c', test.globex],
  ] as const) {
    await test.pool.query(
      `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body, updated_at)
         VALUES ($1, $2, 'A', $3, 1, '{}', $4)`,
      [ZONE_ID, `${name}.${slug}`, slug, changedAt],
    );
  }
  const of = { tokenId: await givenToken(test, team, 'ci'), name: `a.${team.slug}` };
  await givenDnsEntry(test, team, { ...of, tokenId: null });
  await givenDnsEntry(test, team, of);
  for (const state of ['refused', 'pending'] as const) await givenDnsEntry(test, team, { ...of, tokenId: null, state });
  await givenDnsEntry(test, team, { ...of, tokenId: null, operation: 'remind', actor: 'service' });

  const { body } = await team.asMember.get('/record-set-changes/').expect(200);

  const changedBy = { kind: 'token', id: of.tokenId, name: 'ci' };
  expect(body).toEqual({
    items: [
      { name: `a.${team.slug}`, type: 'A', changedAt, changedBy },
      { name: `b.${team.slug}`, type: 'A', changedAt, changedBy: null },
    ],
  });
});

describe('GET /dns-usage/', () => {
  const usage = async (of = team, user = of.member) =>
    (await test.api.as(user).get(of.path('/dns-usage/')).expect(200)).body;
  const givenRrset = (name: string, owner: TestTeam, records: number) =>
    test.pool.query(
      `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body) VALUES ($1, $2, 'A', $3, $4, '{}')`,
      [ZONE_ID, name, owner.slug, records],
    );
  const unknown = { limit: null, remaining: null, resetAt: null, observedAt: null };
  it('is zero for a new team', async () => {
    expect(await usage()).toEqual({
      records: { used: 0, reserved: 0, limit: 150 },
      tokens: { active: 0, limit: 5 },
      requests: { lastHour: 0, limitPerMinute: 90 },
      upstream: unknown,
    });
  });

  it('counts records in the zone and those reserved by pending writes', async () => {
    await givenRrset(`www.${team.slug}`, team, 3);
    await givenRrset(`api.${team.slug}`, team, 4);
    const tokenId = await givenToken(test, team, 'ci');
    await givenDnsEntry(test, team, { tokenId, state: 'pending' });
    await test.pool.query('UPDATE dns_audit_entry SET reserved_records = 5 WHERE team_id = $1', [team.id]);

    expect((await usage()).records).toEqual({ used: 7, reserved: 5, limit: 150 });
  });

  it('counts the requests to all gateways in the last hour', async () => {
    const gateways = [1, 2].map(() => requestCounter(test.pool, () => undefined));
    for (const gateway of gateways) {
      for (let time = 0; time < 4; time += 1) gateway.note(team.id);
      gateway.note(test.acme.id);
      await gateway.close();
    }

    expect((await usage()).requests).toEqual({ lastHour: 8, limitPerMinute: 90 });
    expect((await usage(test.acme)).requests).toEqual({ lastHour: 2, limitPerMinute: 90 });
  });

  it('shows the budget of the project that was used last', async () => {
    const waiting = { write: 0, cleanup: 0, settle: 0, recheck: 0, poll: 0, sync: 0 };
    const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 12, minute));
    const reading = (remaining: number, minute: number): KeptReading => ({
      limit: 3_600,
      remaining,
      resetAt: at(59),
      waiting,
      flows: [],
      observedAt: at(minute),
    });
    readAll = async () => ({ old: reading(1, 1), used: reading(2, 3), other: reading(3, 2) });

    const times = { resetAt: '2026-11-21T12:59:00.000Z', observedAt: '2026-11-21T12:03:00.000Z' };
    expect((await usage()).upstream).toEqual({ limit: 3_600, remaining: 2, ...times });
  });

  it.each<[string, () => Promise<never>]>([['cannot be read', () => Promise.reject(new Error('Redis is away'))]])(
    'works without the budget when that %s, and logs why',
    async (_what, read) => {
      const reports = async () => (await written.text()).split('upstream budget not read').length;
      const before = await reports();
      readAll = read;

      expect(await usage()).toMatchObject({ tokens: { limit: 5 }, upstream: unknown });
      expect(await reports()).toBe(before + 1);
    },
  );
});
