import { memoryBuckets } from '@corral/admission';
import { sessionStore, startDnsSession, userStore } from '@corral/auth';
import { checkDnsAnswer, coversName, coversType, ownerLabelOf, type TokenBody } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addCourse, createSet, createWithCode, makeDemo } from './support/demos.js';
import { startHoldingUpstream } from './support/holding-upstream.js';
import { DEMO_ZONE, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

const limits = { perAddressPerMinute: 100_000, perTokenPerMinute: 5_000, perTeamPerMinute: 9_000 };
const publicUrl = 'https://dns.example.test/v1';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ config: { publicUrl, limits }, buckets: memoryBuckets(() => 0) });
});
afterAll(() => gateway.close());

async function tokenOf(token: string, through = gateway): Promise<TokenBody> {
  const answer = await through.call('GET', '/token', { token });
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  checkDnsAnswer.token(answer.json);
  return answer.json.token;
}

const addresses = (count: number) => Array.from({ length: count }, (_, at) => ({ value: `192.0.2.${at + 1}` }));
const create = (token: string, name: string, count: number, through = gateway) =>
  through.call('POST', `/zones/${ZONE}/rrsets`, { token, body: { name, type: 'A', records: addresses(count) } });

describe('a token of a team', () => {
  it('says whose it is, what it may write, where, and what is left', async () => {
    const { token, tokenId } = await gateway.createTeam('whole');
    await create(token, 'www.whole', 3);

    const own = await tokenOf(token);

    expect(own).toEqual({
      id: tokenId,
      name: 'test',
      kind: 'team',
      scopes: ['dns'],
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      expires_at: null,
      team: 'whole',
      demo: null,
      endpoint: publicUrl,
      zone: { id: gateway.zoneId, name: ZONE },
      names: ['whole'],
      types: ['A', 'AAAA', 'CNAME', 'TXT'],
      requests: {
        per_token: { limit: 5_000, remaining: 4_998, reset_at: expect.any(String) },
        per_team: { limit: 9_000, remaining: 8_998, reset_at: expect.any(String) },
      },
      records: { used: 3, reserved: 0, limit: 200, limit_per_rrset: 50 },
    });
    expect(Date.parse(own.requests.per_token.reset_at)).toBeGreaterThan(Date.now() - 60_000);
  });

  it('is told its narrowing and its expiry', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000);
    const team = await gateway.createTeam('narrow');
    const wanted = { withinName: '_acme-challenge.narrow', withinTypes: ['TXT'], expiresAt, name: 'certificates' };
    const { token } = await gateway.issueToken(team, wanted);

    expect(await tokenOf(token)).toMatchObject({
      name: 'certificates',
      names: ['_acme-challenge.narrow'],
      types: ['TXT'],
      expires_at: expiresAt.toISOString(),
    });
  });

  it('that belongs to a session says so, and not whose session it is', async () => {
    const { id: teamId } = await gateway.createTeam('seated');
    const user = await userStore(gateway.prisma).createUser({ email: 'eve@example.test' });
    await gateway.prisma.membership.create({ data: { teamId, userId: user.id, role: 'member' } });
    const sessions = sessionStore(gateway.pool, { idleMs: 3_600_000, absoluteMs: 3_600_000 });
    const { secret } = await sessions.start(user.id, null);
    const { id: sessionId } = (await sessions.find(secret)) as { id: string };
    const started = await startDnsSession(gateway.prisma, { sessionId, userId: user.id, teamId });

    const own = await tokenOf(started?.token as string);

    expect(own).toMatchObject({ kind: 'session', name: 'session', team: 'seated', names: ['seated'] });
    expect(JSON.stringify(own)).not.toMatch(new RegExp(`eve|${user.id}|${sessionId}`));
  });

  it('without the scope dns says that it can do nothing', async () => {
    const team = await gateway.createTeam('elsewhere');
    const { token } = await gateway.issueToken(team, { scopes: ['clusters'] });

    expect(await tokenOf(token)).toMatchObject({
      team: 'elsewhere',
      scopes: ['clusters'],
      names: [],
      types: [],
      records: null,
    });
  });

  it('may do exactly what it says', async () => {
    const inside = fc.constantFrom('exact', 'a.exact', 'b.a.exact', '*.exact', '_acme-challenge.exact');
    const types = fc.uniqueArray(fc.constantFrom('A', 'AAAA', 'CNAME', 'TXT'), { maxLength: 3 });
    const team = await gateway.createTeam('exact');
    const isRefused = async (token: string, name: string, type: string) => {
      const { status } = await gateway.call('DELETE', `/zones/${ZONE}/rrsets/${name}/${type}`, { token });
      expect([403, 404]).toContain(status); // 404: may be written, but does not exist
      return status === 403;
    };

    await fc.assert(
      fc.asyncProperty(fc.option(inside), types, async (withinName, withinTypes) => {
        await gateway.pool.query('UPDATE dns_token SET revoked_at = now() WHERE team_id = $1', [team.id]);
        const { token } = await gateway.issueToken(team, { withinName, withinTypes });
        const said = await tokenOf(token);
        const [root = ''] = said.names;
        const coverage = { ownerLabel: ownerLabelOf(root), withinName: root, withinTypes: said.types };
        for (const name of ['exact', 'a.exact', 'c.b.a.exact', 'xexact', 'acme']) {
          for (const type of ['A', 'TXT', 'MX']) {
            const isAllowed = coversName(coverage, name) && coversType(coverage, type);
            expect([name, type, await isRefused(token, name, type)]).toEqual([name, type, !isAllowed]);
          }
        }
      }),
      { numRuns: 8 },
    );
  });
});

describe('a token of a demo', () => {
  it('says what it may write in the demo zone, and nothing about the team that gave it away', async () => {
    const { label, token } = await makeDemo(gateway, { name: 'Given Away' });
    await createSet(gateway, token, `www.${label}`, 2);

    const own = await tokenOf(token);

    expect(own).toMatchObject({
      kind: 'demo',
      team: null,
      demo: label,
      zone: { id: gateway.demoZoneId, name: DEMO_ZONE },
      names: [label],
      records: { used: 2, reserved: 0, limit: 20, limit_per_rrset: 50 },
    });
    expect(Date.parse(own.expires_at as string)).toBeGreaterThan(Date.now());
    expect(JSON.stringify(own)).not.toContain('acme');
  });

  it('of a course has its own quota, and shares the requests of the course', async () => {
    await addCourse(gateway, 'SHARED-CODE');
    const made = await createWithCode(gateway, { course_code: 'SHARED-CODE' });
    const other = await createWithCode(gateway, { course_code: 'SHARED-CODE' });
    await tokenOf(other.json.token);

    expect(await tokenOf(made.json.token)).toMatchObject({
      team: null,
      demo: made.json.demo.label,
      requests: { per_token: { remaining: 4_999 }, per_team: { remaining: 8_998 } },
      records: { used: 0, limit: 20 },
    });
  });
});

describe('the quota', () => {
  it('is that of the team, whichever of its tokens asks', async () => {
    const team = await gateway.createTeam('sized');
    await gateway.pool.query('UPDATE team SET dns_records_max = 7 WHERE id = $1', [team.id]);
    const { token } = await gateway.issueToken(team, { withinName: 'other.sized' });
    await create(team.token, 'www.sized', 5);

    expect((await tokenOf(token)).records).toMatchObject({ used: 5, limit: 7 });
    expect((await create(token, 'other.sized', 3)).status).toBe(403);
    expect((await create(token, 'other.sized', 2)).status).toBe(201);
  });

  it('counts records of writes whose outcome is open, and of deletions that may still fail', async () => {
    const upstream = await startHoldingUpstream(gateway.cloud.apiUrl);
    const beside = await startGateway({ beside: gateway, upstreamUrl: upstream.url });
    const { token } = await gateway.createTeam('pending');
    await create(token, 'old.pending', 4);
    const release = upstream.hold('/rrsets');
    const writing = create(token, 'new.pending', 3, beside);
    await waitFor('the write', () => upstream.calls('/rrsets') > 0);

    expect((await tokenOf(token, beside)).records).toMatchObject({ used: 4, reserved: 3 });
    release();
    expect((await writing).status).toBe(201);
    expect((await tokenOf(token, beside)).records).toMatchObject({ used: 7, reserved: 0 });
    await gateway.call('DELETE', `/zones/${ZONE}/rrsets/old.pending/A`, { token });
    expect((await tokenOf(token, beside)).records).toMatchObject({ used: 3, reserved: 4 });
    await beside.close();
    await upstream.close();
  });
});

describe('GET /v1/token', () => {
  it('costs no upstream call, and is never cached', async () => {
    const before = gateway.upstreamCalls();

    const answer = await gateway.call('GET', '/token');

    expect([gateway.upstreamCalls(), answer.headers.get('cache-control')]).toEqual([before, 'no-store']);
  });

  it('counts as a read: beyond the limit of its token it is refused, and says nothing', async () => {
    const beside = await startGateway({
      beside: gateway,
      buckets: memoryBuckets(() => 0),
      config: { limits: { ...limits, perTokenPerMinute: 2 } },
    });
    const left = [await tokenOf(gateway.acme.token, beside), await tokenOf(gateway.acme.token, beside)];

    const refused = await beside.call('GET', '/token');

    expect(left.map(({ requests }) => requests.per_token.remaining)).toEqual([1, 0]);
    expect([refused.status, refused.json.error.code]).toEqual([429, 'rate_limit_exceeded']);
    await beside.close();
  });

  it('names no endpoint if the installation does not state it', async () => {
    const beside = await startGateway({ beside: gateway });

    expect((await tokenOf(gateway.acme.token, beside)).endpoint).toBeNull();
    await beside.close();
  });
});
