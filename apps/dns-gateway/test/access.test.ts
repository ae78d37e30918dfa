import { memoryBuckets } from '@corral/admission';
import {
  accountVerifier,
  type CallingAccount,
  hashAccountToken,
  mintAccountToken,
  type NewDnsToken,
  sessionStore,
  startDnsSession,
  startDnsSessionOfAccount,
  userStore,
} from '@corral/auth';
import {
  checkDnsAnswer,
  coversName,
  coversType,
  type DnsOperationId,
  type DnsRoute,
  dnsRoutes,
  dnsStrangerVerdictOf,
  ownerLabelOf,
  type TokenBody,
} from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createSet, makeDemo } from './support/demos.js';
import { expectRefusal } from './support/expect-refusal.js';
import { startHoldingUpstream } from './support/holding-upstream.js';
import { type Answer, DEMO_ZONE, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

describe('access', () => {
  /*
   * Iterates over the route table, so that no route can be forgotten: a route that is missing in `howToCall` fails here and does not
   * compile. Each route is called without a token, by another team and by the owner, and compared with the table in
   * docs/access.md.
   */

  interface Own {
    readonly zone: string;
    readonly name: string;
    readonly actionId: number;
    /** Label of a demo. */
    readonly label: string;
  }
  const absent: Own = { zone: 'other.test', name: 'none.acme', actionId: 4_000_000_000, label: 'none' };
  interface Filled {
    readonly path: string;
    readonly body?: object | undefined;
  }
  /** The call for these resources. */
  type Call = (own: Own) => Filled;

  const records = [{ value: '192.0.2.7' }];
  const onSet =
    (below: string, body?: object): Call =>
    ({ name }) => ({ path: `/zones/${ZONE}/rrsets/${name}/A${below}`, body });
  const onDemo =
    (below: string, body?: object): Call =>
    ({ label }) => ({ path: `/demos/${label}${below}`, body });

  const howToCall: Record<DnsOperationId, Call> = {
    listZones: () => ({ path: '/zones' }),
    getZone: ({ zone }) => ({ path: `/zones/${zone}` }),
    listRrsets: ({ zone }) => ({ path: `/zones/${zone}/rrsets` }),
    createRrset: ({ name }) => ({ path: `/zones/${ZONE}/rrsets`, body: { name: `new.${name}`, type: 'A', records } }),
    getRrset: onSet(''),
    updateRrset: onSet('', { labels: { env: 'prod' } }),
    deleteRrset: onSet(''),
    setRecords: onSet('/actions/set_records', { records }),
    addRecords: onSet('/actions/add_records', { records }),
    removeRecords: onSet('/actions/remove_records', { records: [{ value: '192.0.2.1' }] }),
    changeTtl: onSet('/actions/change_ttl', { ttl: 600 }),
    listActions: ({ actionId }) => ({ path: `/actions?id=${actionId}` }),
    getAction: ({ actionId }) => ({ path: `/actions/${actionId}` }),
    listZoneActions: ({ actionId }) => ({ path: `/zones/actions?id=${actionId}` }),
    listActionsOfZone: ({ actionId }) => ({ path: `/zones/${ZONE}/actions?id=${actionId}` }),
    getZoneAction: ({ actionId }) => ({ path: `/zones/actions/${actionId}` }),
    getActionOfZone: ({ actionId }) => ({ path: `/zones/${ZONE}/actions/${actionId}` }),
    getToken: () => ({ path: '/token' }),
    createDemo: () => ({ path: '/demos', body: {} }),
    listDemos: () => ({ path: '/demos' }),
    getDemo: onDemo(''),
    deleteDemo: onDemo(''),
    extendDemo: onDemo('/actions/extend', { ttl: 600 }),
  };

  let gateway: TestGateway;
  /** A token of acme that only reads. */
  let reader: string;
  let calls = 0;
  /** What requests are about that change nothing. */
  let own: Own;
  beforeAll(async () => {
    gateway = await startGateway({ recordsPerTeam: 1_000 });
    reader = (await gateway.issueToken(gateway.acme, { scopes: ['dns:read'] })).token;
    own = await makeOwn(await makeDemo(gateway, { name: 'acme' }));
  });
  afterAll(() => gateway.close());

  /** A set of acme with its creation, and a demo. */
  async function makeOwn({ label }: { label: string }): Promise<Own> {
    calls += 1;
    const name = `own-${calls}.acme`;
    const body = { name, type: 'A', records: [{ value: '192.0.2.1' }] };
    const created = await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body });
    expect(created.status).toBe(201);
    return { zone: ZONE, name, actionId: created.json.action.id, label };
  }

  /** Checks an answer against the documented shape of its route. */
  function checkShape({ answer: shape }: DnsRoute, answer: Answer): void {
    if (shape === null) expect(answer.text).toBe('');
    else checkDnsAnswer[shape](answer.json);
  }

  function send(route: DnsRoute, { path, body }: Filled, token: string | null): Promise<Answer> {
    return gateway.call(route.method.toUpperCase(), path, { token, body });
  }

  describe.each(dnsRoutes.map((route) => [route.operationId, route as DnsRoute] as const))(
    '%s',
    (operationId, route) => {
      const call = howToCall[operationId];

      it('reveals nothing without a token', async () => {
        const answer = await expectRefusal(gateway, () => send(route, call(own), null), 401, 'unauthorized');

        const elsewhere = await gateway.call('GET', '/no/such/path', { token: null });
        // Where a course code is accepted too, the refusal says so. Otherwise no path reveals whether it exists.
        if (route.tokenless === undefined) expect(answer.text).toBe(elsewhere.text);
        expect((await send(route, call(absent), null)).text).toBe(answer.text);
      });

      it(route.anyScope ? 'serves any valid token' : 'is forbidden to a token without the scope dns', async () => {
        const team = await gateway.createTeam(`scoped-${operationId.toLowerCase()}`);
        const { token } = await gateway.issueToken(team, { scopes: ['clusters'] });
        const ask = () => send(route, call(own), token);

        if (route.anyScope) checkShape(route, await ask());
        else await expectRefusal(gateway, ask, 403, 'forbidden');
      });

      it(`${route.kind === 'read' ? 'serves' : 'is forbidden to'} a token that only reads`, async () => {
        const ask = () => send(route, call(own), reader);

        if (route.kind === 'read') checkShape(route, await ask());
        else await expectRefusal(gateway, ask, 403, 'forbidden');
      });

      it('answers another team like for a resource that does not exist', async () => {
        const stranger = dnsStrangerVerdictOf(route);
        const { token } = gateway.globex;
        const ask = () => send(route, call(own), token);
        const missing = await send(route, call(absent), token);

        if (stranger === 'hidden' || stranger === 'forbidden') {
          const [status, code] = stranger === 'hidden' ? [404, 'not_found'] : [403, 'forbidden'];
          const answer = await expectRefusal(gateway, ask, status as number, code as string);
          expect(answer.text).toBe(missing.text);
        } else {
          const before = gateway.upstreamCalls();
          const answer = await ask();
          expect([answer.status, gateway.upstreamCalls()]).toEqual([route.status, before]);
          checkShape(route, answer);
          expect(answer.text).not.toContain('acme');
          expect(answer.text).not.toContain(String(own.actionId));
        }
      });

      it('serves the owner', async () => {
        // A demo that is deleted is another one: acme may have at most ten.
        const mine = await makeOwn(operationId === 'deleteDemo' ? await makeDemo(gateway, { name: 'mine' }) : own);

        const answer = await send(route, call(mine), gateway.acme.token);

        expect([answer.status, answer.text]).toEqual([route.status, expect.anything()]);
        checkShape(route, answer);
      });
    },
  );

  it.each(['revoked', 'expired', 'unknown'])('nothing is revealed to a token that is %s', async (why) => {
    const token = await uselessToken(why);

    await expectRefusal(gateway, () => gateway.call('GET', '/zones', { token }), 401, 'unauthorized');
  });

  it('every path refuses other methods, and names the allowed ones', async () => {
    for (const [path, routes] of Map.groupBy(dnsRoutes as readonly DnsRoute[], (route) => route.path)) {
      const methods = routes.map(({ method }) => method.toUpperCase());
      const served = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
      const filled = howToCall[routes[0]?.operationId as DnsOperationId](own).path;
      for (const method of ['PATCH', served.includes('DELETE') ? 'PROPFIND' : 'DELETE']) {
        const answer = await expectRefusal(gateway, () => gateway.call(method, filled), 405, 'method_not_allowed');
        expect([path, answer.headers.get('allow')]).toEqual([path, served.join(', ')]);
      }
    }
  });

  it('every GET route answers HEAD with the same headers and no body', async () => {
    await waitFor('the end of the action', async () => {
      const { json } = await gateway.call('GET', `/actions/${own.actionId}`);
      return json.action.status === 'success';
    });
    for (const route of dnsRoutes.filter(({ method }) => method === 'get') as DnsRoute[]) {
      const { path } = howToCall[route.operationId as DnsOperationId](own);

      const [head, get] = [await gateway.call('HEAD', path), await gateway.call('GET', path)];

      expect([route.path, head.status, head.text]).toEqual([route.path, 200, '']);
      expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
      expect(head.headers.get('content-type')).toBe('application/json; charset=utf-8');
    }
  });

  async function uselessToken(why: string): Promise<string> {
    if (why === 'unknown') return `${gateway.acme.token.slice(0, -1)}${gateway.acme.token.endsWith('a') ? 'b' : 'a'}`;
    const { token, tokenId } = await gateway.issueToken(gateway.acme);
    const column = why === 'revoked' ? 'revoked_at' : 'expires_at';
    await gateway.pool.query(`UPDATE dns_token SET ${column} = now() - interval '1 second' WHERE id = $1`, [tokenId]);
    return token;
  }
});

describe('what a token says of itself', () => {
  const limits = { perTokenPerMinute: 5_000, perTeamPerMinute: 9_000 };
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
      const before = gateway.upstreamCalls();

      const { headers } = await gateway.call('GET', '/token', { token });
      const own = await tokenOf(token);

      expect([gateway.upstreamCalls(), headers.get('cache-control')]).toEqual([before, 'no-store']);
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
          per_token: { limit: 5_000, remaining: 4_997, reset_at: expect.any(String) },
          per_team: { limit: 9_000, remaining: 8_997, reset_at: expect.any(String) },
        },
        records: { used: 3, reserved: 0, limit: 200, limit_per_rrset: 50 },
      });
      expect(Date.parse(own.requests.per_token.reset_at)).toBeGreaterThan(Date.now() - 60_000);
    });

    it('that belongs to a session says so, and not whose session it is', async () => {
      const { id: teamId } = await gateway.createTeam('seated');
      const user = await userStore(gateway.prisma).createUser({ email: 'eve@example.test' });
      await gateway.prisma.membership.create({ data: { teamId, userId: user.id, role: 'member' } });
      const sessions = sessionStore(gateway.pool, gateway.prisma, { idleMs: 3_600_000, absoluteMs: 3_600_000 });
      const { secret } = await sessions.start(user.id, null);
      const { id: sessionId } = (await sessions.find(secret)) as { id: string };
      const started = await startDnsSession(gateway.prisma, { sessionId, userId: user.id, teamId });

      const own = await tokenOf(started?.token as string);

      expect(own).toMatchObject({ kind: 'session', name: 'session', team: 'seated', names: ['seated'] });
      expect(JSON.stringify(own)).not.toMatch(new RegExp(`eve|${user.id}|${sessionId}`));
    });

    it('that belongs to a service account reads and writes what the account is narrowed to, until the account ends', async () => {
      const { id: teamId } = await gateway.createTeam('piped');
      const { id: createdById } = await userStore(gateway.prisma).createUser({ email: 'ada@example.test' });
      const { id: accountId } = await gateway.prisma.serviceAccount.create({
        data: {
          teamId,
          createdById,
          name: 'ci',
          role: 'member',
          clusters: ['*'],
          actions: ['read', 'change', 'delete'],
          dnsWithinName: 'ci.piped',
          dnsWithinTypes: ['A'],
        },
      });
      const text = mintAccountToken();
      const [hash, expiresAt] = [new Uint8Array(hashAccountToken(text)), new Date(Date.now() + 3_600_000)];
      await gateway.prisma.serviceAccountToken.create({ data: { teamId, accountId, createdById, hash, expiresAt } });
      const account = (await accountVerifier(gateway.pool).find(text)) as CallingAccount;
      const { token } = (await startDnsSessionOfAccount(gateway.prisma, account)) as { token: string };
      const post = (name: string, type = 'A') =>
        gateway.call('POST', `/zones/${ZONE}/rrsets`, { token, body: { name, type, records } });
      const records = [{ value: '192.0.2.1' }];

      expect(await tokenOf(token)).toMatchObject({ kind: 'session', name: 'ci', names: ['ci.piped'], types: ['A'] });
      expect((await post('web.ci.piped')).status).toBe(201);
      expect((await post('web.piped')).status).toBe(403);
      expect((await post('txt.ci.piped', 'TXT')).status).toBe(403);
      expect((await gateway.call('GET', `/zones/${ZONE}/rrsets`, { token })).json.rrsets).toHaveLength(1);
      await gateway.prisma.team.update({ where: { id: teamId }, data: { suspendedAt: new Date() } });
      expect((await post('late.ci.piped')).json.error.message).toContain('suspended');
      expect((await gateway.call('GET', '/token', { token })).status).toBe(200);

      await gateway.prisma.serviceAccount.delete({ where: { id: accountId } });

      await waitFor(
        'the end of the token',
        async () => (await gateway.call('GET', '/token', { token })).status === 401,
      );
    });

    it('says how it is narrowed', async () => {
      const expiresAt = new Date(Date.now() + 3_600_000);
      const team = await gateway.createTeam('narrow');
      const within = { withinName: '_acme-challenge.narrow', withinTypes: ['TXT'] };
      const told = async (wanted: Partial<NewDnsToken>) => tokenOf((await gateway.issueToken(team, wanted)).token);

      expect(await told({ ...within, expiresAt, name: 'certificates' })).toMatchObject({
        name: 'certificates',
        names: ['_acme-challenge.narrow'],
        types: ['TXT'],
        expires_at: expiresAt.toISOString(),
      });
      expect(await told({ scopes: ['clusters'] })).toMatchObject({ names: [], types: [], records: null });
      expect(await told({ scopes: ['dns:read'] })).toMatchObject({
        names: ['narrow'],
        types: [],
        records: { used: 0 },
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
        { numRuns: 4 },
      );
    });
  });

  it('a token of a demo says what it may write in the demo zone, and nothing about the team that gave it away', async () => {
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

  it('the quota counts records of writes whose outcome is open, and of deletions that may still fail', async () => {
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
