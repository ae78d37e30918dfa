import { checkDnsAnswer, dnsDemoRoutes, dnsLimits } from '@corral/contracts';
import { courseStore } from '@corral/dns-data';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addCourse, ageDemo, createSet, createWithCode, entriesOf, makeDemo, type TestDemo } from './support/demos.js';
import { expectError, expectRefusal, fieldsOf } from './support/expect-refusal.js';
import { type Answer, DEMO_ZONE, startGateway, type TestGateway } from './support/start-gateway.js';

describe('creation', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
    await addCourse(gateway, 'WORKSHOP');
  });
  afterAll(() => gateway.close());

  const create = (body: unknown, token: string | null = gateway.acme.token): Promise<Answer> =>
    gateway.call('POST', '/demos', { body, token });
  const hoursUntil = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 3_600_000;

  describe('POST /demos of a team', () => {
    it('creates a demo and its token, without an upstream call', async () => {
      const before = gateway.upstreamCalls();

      const answer = await create({ name: 'My Shop', ttl: 3_600 });

      expect(answer.status).toBe(201);
      checkDnsAnswer.createdDemo(answer.json);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      const { demo } = answer.json;
      expect(demo).toMatchObject({ label: 'my-shop', name: 'My Shop', zone: DEMO_ZONE, ttl: 3_600, records: 0 });
      expect(hoursUntil(demo.created_at, demo.expires_at)).toBe(1);
      expect(hoursUntil(demo.created_at, demo.max_expires_at)).toBe(7 * 24);
      expect(gateway.upstreamCalls()).toBe(before);
    });

    it('creates a demo of 4 hours with a readable label by default', async () => {
      const { demo } = (await create({})).json;

      expect(demo.label).toMatch(/^[a-z]+(-[a-z]+)+$/);
      expect(demo.name).toBe(demo.label);
      expect(demo.ttl).toBe(14_400);
      expect(hoursUntil(demo.created_at, demo.expires_at)).toBe(4);
    });

    it('stores only a hash of the token, and adds an audit entry for the team', async () => {
      const { label, token } = await makeDemo(gateway, {}, gateway.globex.token);

      const { rows } = await gateway.pool.query<{ dump: string }>(
        `SELECT string_agg(t::text, '') AS dump FROM (SELECT to_jsonb(dns_token) FROM dns_token
           UNION ALL SELECT to_jsonb(dns_audit_entry) FROM dns_audit_entry UNION ALL SELECT to_jsonb(demo) FROM demo) AS t`,
      );
      expect(rows[0]?.dump).not.toContain(token);
      expect(await entriesOf(gateway, label)).toEqual([
        {
          actor: 'token',
          operation: 'create',
          name: label,
          type: 'DEMO',
          state: 'completed',
          team_id: gateway.globex.id,
          token_id: gateway.globex.tokenId,
        },
      ]);
    });

    it('takes a token before a course code next to it', async () => {
      expect((await create({ course_code: 'NO-SUCH-CODE' }, gateway.globex.token)).status).toBe(201);
      expect((await create({ course_code: 'WORKSHOP' }, 'x'.repeat(64))).status).toBe(401);
    });

    it('is refused to the token of a demo, and to restricted tokens, which a demo would bypass', async () => {
      const tokens = [
        await makeDemo(gateway),
        await gateway.issueToken(gateway.acme, { withinName: 'ci.acme' }),
        await gateway.issueToken(gateway.acme, { withinTypes: ['TXT'] }),
      ];

      for (const { token } of tokens) await expectRefusal(gateway, () => create({}, token), 403, 'forbidden');
    });
  });

  it.each(['!!!', 'WWW', ' mail '])('the name of a demo cannot be %j', async (name) => {
    const answer = await expectRefusal(gateway, () => create({ name }), 400, 'invalid_input');

    expect(fieldsOf(answer)).toEqual(['name']);
  });

  describe('a label', () => {
    it('of any other demo is refused', async () => {
      await makeDemo(gateway, { name: 'taken' }, gateway.globex.token);

      const refused = (name: string, token?: string) =>
        expectRefusal(gateway, () => create({ name }, token), 409, 'uniqueness_error');

      const answer = await refused('TAKEN');
      expect(fieldsOf(answer)).toEqual(['name']);
      expect((await refused('taken', gateway.globex.token)).text).toBe(answer.text);
    });

    it('with foreign records in the zone is refused', async () => {
      gateway.cloud.admin.putRrset(DEMO_ZONE, 'www.by-hand', 'A', { records: [{ value: '192.0.2.1' }] });
      await gateway.syncZone();

      await expectRefusal(gateway, () => create({ name: 'by hand' }), 409, 'uniqueness_error');
    });

    it('is free again no earlier than an hour after the end', async () => {
      const { label } = await makeDemo(gateway, { name: 'held' }, gateway.globex.token);
      expect((await gateway.call('DELETE', `/demos/${label}`, { token: gateway.globex.token })).status).toBe(204);
      const again = () => create({ name: 'held' }, gateway.globex.token);
      await expectRefusal(gateway, again, 409, 'uniqueness_error');

      await ageDemo(gateway, label, dnsLimits.demoLabelHeldSeconds - 30);
      await expectRefusal(gateway, again, 409, 'uniqueness_error');
      await ageDemo(gateway, label, 30);

      expect((await again()).status).toBe(201);
    });
  });

  it('the body may have at most 4 KiB', async () => {
    const empty = JSON.stringify({ ttl: 0, padding: '' }).length;
    const sized = (bytes: number) => () => create({ ttl: 0, padding: 'x'.repeat(bytes - empty) });

    await expectRefusal(gateway, sized(4_096), 400, 'invalid_input');
    await expectRefusal(gateway, sized(4_097), 413, 'payload_too_large');
  });

  describe('POST /demos without a token', () => {
    it('creates a demo with a course code, invisible to teams', async () => {
      const answer = await createWithCode(gateway, { course_code: 'WORKSHOP', name: 'by course', ttl: 600 });

      expect(answer.status).toBe(201);
      checkDnsAnswer.createdDemo(answer.json);
      const own = await gateway.call('GET', '/demos/by-course', { token: answer.json.token });
      expect([own.status, own.json.demo]).toEqual([200, answer.json.demo]);
      const list = await gateway.call('GET', '/demos');
      expect(list.text).not.toContain('by-course');
      await expectRefusal(gateway, () => gateway.call('GET', '/demos/by-course'), 404, 'not_found');
      expect(await entriesOf(gateway, 'by-course')).toMatchObject([
        { actor: 'course', operation: 'create', team_id: null, token_id: null },
      ]);
    });

    it('needs a course code', async () => {
      await expectRefusal(gateway, () => createWithCode(gateway, {}), 401, 'unauthorized');
      await expectRefusal(gateway, () => createWithCode(gateway, { course_code: null }), 401, 'unauthorized');
    });

    it('gives the same answer for a wrong and a deactivated code', async () => {
      await addCourse(gateway, 'LAST-YEAR');
      await createWithCode(gateway, { course_code: 'WORKSHOP', name: 'wrong 1' });
      expect(await courseStore(gateway.prisma).deactivateCourse('LAST-YEAR')).toBe(true);
      const texts = new Set<string>();

      for (const code of ['LAST-YEAR', 'NO-SUCH-CODE', 'workshop', 'WORKSHOP ', '', 'W', 'x'.repeat(1_000), '\u0000']) {
        const send = () => createWithCode(gateway, { course_code: code, name: `wrong ${texts.size}` });
        texts.add((await expectRefusal(gateway, send, 403, 'forbidden')).text);
      }

      expect(texts.size).toBe(1);
    });

    it('counts against the limit of its address first', async () => {
      const narrow = await startGateway({
        beside: gateway,
        config: { limits: { perAddressPerMinute: 5 } },
      });
      const guess = () => narrow.call('POST', '/demos', { token: null, body: { course_code: 'GUESSED' } });
      for (let count = 0; count < 5; count += 1) expectError(await guess(), 403, 'forbidden');

      expectError(await guess(), 429, 'rate_limit_exceeded');
      const right = await narrow.call('POST', '/demos', { token: null, body: { course_code: 'WORKSHOP' } });
      expectError(right, 429, 'rate_limit_exceeded');
      await narrow.close();
    });
  });
});

describe('limits', () => {
  let gateway: TestGateway;
  let replica: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
    replica = await startGateway({ beside: gateway });
  });
  afterAll(async () => {
    await replica.close();
    await gateway.close();
  });

  const create = (token: string | null, body: object, at = gateway): Promise<Answer> =>
    at.call('POST', '/demos', { token, body });
  const tally = (answers: readonly Answer[]): Record<number, number> => {
    const counts: Record<number, number> = {};
    for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  };
  /** Sends concurrent requests to both replicas alternately. */
  const atOnce = (count: number, send: (at: TestGateway, index: number) => Promise<Answer>): Promise<Answer[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => send(index % 2 === 0 ? gateway : replica, index)));
  const limitsOf = (answer: Answer): string[] =>
    answer.json.error.details.limits.map((limit: { name: string }) => limit.name);
  /** Asserts that so many of these creations passed, and that this limit refused the others. */
  function expectAdmitted(answers: readonly Answer[], count: number, limit: string): void {
    expect(tally(answers)).toEqual({ 201: count, 403: answers.length - count });
    const refused = answers.find(({ status }) => status === 403) as Answer;
    expect([refused.json.error.code, limitsOf(refused)]).toEqual(['resource_limit_exceeded', [limit]]);
  }

  describe('the limit of 10 live demos per team', () => {
    it('is reached and never exceeded by concurrent requests', async () => {
      const { token } = await gateway.createTeam('many');

      const answers = await atOnce(40, (at) => create(token, {}, at));

      expectAdmitted(answers, 10, 'demos_per_team');
      const { json } = await gateway.call('GET', '/demos', { token });
      expect(json.demos).toHaveLength(10);
    });

    it('counts no demos of other teams and no ended ones', async () => {
      const { token } = await gateway.createTeam('full');
      const demos = [];
      for (let count = 0; count < 10; count += 1) demos.push(await makeDemo(gateway, { ttl: 300 }, token));
      await expectRefusal(gateway, () => create(token, {}), 403, 'resource_limit_exceeded');
      await makeDemo(gateway, {}, gateway.globex.token);

      await ageDemo(gateway, demos[0]?.label as string, 300);
      await gateway.call('DELETE', `/demos/${demos[1]?.label}`, { token });

      expect([(await create(token, {})).status, (await create(token, {})).status]).toEqual([201, 201]);
      await expectRefusal(gateway, () => create(token, {}), 403, 'resource_limit_exceeded');
    });
  });

  it('the limit of live demos per course is reached and never exceeded by concurrent requests', async () => {
    await addCourse(gateway, 'CROWDED', 5);
    await addCourse(gateway, 'ANOTHER');

    const answers = await atOnce(15, (at) => create(null, { course_code: 'CROWDED' }, at));

    expectAdmitted(answers, 5, 'demos_per_course');
    expect((await createWithCode(gateway, { course_code: 'ANOTHER' })).status).toBe(201);
  });

  it('the limit of live demos per address holds within a course for concurrent requests, and forgets addresses of ended demos', async () => {
    const trusting = await startGateway({ beside: gateway, config: { trustProxy: ['loopback'] } });
    await addCourse(gateway, 'SHARED', 20, 3);
    const from = (address: string) =>
      trusting.call('POST', '/demos', {
        token: null,
        body: { course_code: 'SHARED' },
        headers: { 'X-Forwarded-For': address },
      });

    const answers = await Promise.all(Array.from({ length: 12 }, () => from('192.0.2.1')));

    expectAdmitted(answers, 3, 'demos_per_address');
    expect((await from('192.0.2.2')).status).toBe(201);
    // All addresses of an IPv6 network count as one client.
    const network = await Promise.all([1, 2, 3, 4].map((host) => from(`2001:db8:1:2::${host}`)));
    expect(tally(network)).toEqual({ 201: 3, 403: 1 });

    const one = answers.find(({ status }) => status === 201)?.json;
    await trusting.call('DELETE', `/demos/${one.demo.label}`, { token: one.token });
    expect((await from('192.0.2.1')).status).toBe(201);
    const { rows } = await gateway.pool.query('SELECT made_from FROM demo WHERE label = $1', [one.demo.label]);
    expect(rows).toEqual([{ made_from: null }]);
    await trusting.close();
  });

  describe('a label', () => {
    it('is given to one of many concurrent requests', async () => {
      const teams = await Promise.all(
        ['one', 'two', 'three', 'four'].map((slug) => gateway.createTeam(`race-${slug}`)),
      );

      const answers = await atOnce(40, (at, index) => create(teams[index % 4]?.token as string, { name: 'prize' }, at));

      expect(tally(answers)).toEqual({ 201: 1, 409: 39 });
    });

    it('is not free while records of its previous demo are left, even a day later', async () => {
      const { label, token } = await makeDemo(gateway, { name: 'left behind' });
      await createSet(gateway, token, label);
      gateway.cloud.admin.addFaults({ match: { method: 'DELETE' }, effect: { status: 423, code: 'protected' } });
      await gateway.call('DELETE', `/demos/${label}`);
      gateway.cloud.admin.clearFaults();
      await ageDemo(gateway, label, 86_400);

      await expectRefusal(gateway, () => create(gateway.acme.token, { name: label }), 409, 'uniqueness_error');
    });
  });

  it('the limit of 20 records per demo is reached by any write and exceeded by none', async () => {
    const { label, token } = await makeDemo(gateway, {}, gateway.globex.token);
    expect((await createSet(gateway, token, label, 19)).status).toBe(201);
    const refuse = async (send: () => Promise<Answer>) => {
      const answer = await expectRefusal(gateway, send, 403, 'resource_limit_exceeded');
      expect(limitsOf(answer)).toEqual(['records_per_demo']);
    };

    await refuse(() => createSet(gateway, token, `two.${label}`, 2));
    expect((await createSet(gateway, token, `one.${label}`, 1)).status).toBe(201);
    await refuse(() => createSet(gateway, token, `more.${label}`, 1));
    const path = `/zones/${DEMO_ZONE}/rrsets/${label}/A`;
    const remove = { records: [{ value: '192.0.2.1' }] };
    expect((await gateway.call('POST', `${path}/actions/remove_records`, { token, body: remove })).status).toBe(201);
    expect((await createSet(gateway, token, `more.${label}`, 1)).status).toBe(201);
  });

  it('the requests of demos count for their team, and for a course like for one team', async () => {
    const limited = await startGateway({ beside: gateway, config: { limits: { perTeamPerMinute: 12 } } });
    const team = await gateway.createTeam('counted');
    await addCourse(gateway, 'COUNTED');
    const made = [await makeDemo(gateway, {}, team.token), await makeDemo(gateway, {}, team.token)];
    const joined: string[] = [];
    for (let count = 0; count < 2; count += 1) {
      joined.push((await createWithCode(gateway, { course_code: 'COUNTED' })).json.token);
    }
    const use = async (tokens: readonly string[]): Promise<Record<number, number>> => {
      const answers = [];
      for (let turn = 0; turn < 18; turn += 1) {
        answers.push(await limited.call('GET', '/zones', { token: tokens[turn % tokens.length] as string }));
      }
      return tally(answers);
    };

    expect((await use([team.token, ...made.map(({ token }) => token)]))[429]).toBeGreaterThan(0);
    expect((await use(joined))[429]).toBeGreaterThan(0);
    await limited.close();
  });
});

describe('the switch', () => {
  let gateway: TestGateway;
  let off: TestGateway;
  let demo: TestDemo;
  beforeAll(async () => {
    gateway = await startGateway();
    off = await startGateway({ beside: gateway, config: { demos: null } });
    await addCourse(gateway, 'WORKSHOP');
    demo = await makeDemo(gateway);
  });
  afterAll(async () => {
    await off.close();
    await gateway.close();
  });

  it('hides routes, course codes, tokens and documentation of demos', async () => {
    const unknown = await off.call('GET', '/no/such/path');
    for (const { method, path } of dnsDemoRoutes) {
      const body = method === 'post' ? { body: { ttl: 300 } } : {};
      const ask = () => off.call(method.toUpperCase(), path.replace('{label}', demo.label), body);
      expect((await expectRefusal(off, ask, 404, 'not_found')).text).toBe(unknown.text);
    }
    const join = () => off.call('POST', '/demos', { token: null, body: { course_code: 'WORKSHOP' } });
    await expectRefusal(off, join, 404, 'not_found');
    for (const path of ['/zones', `/zones/${DEMO_ZONE}/rrsets`]) {
      await expectRefusal(off, () => off.call('GET', path, { token: demo.token }), 401, 'unauthorized');
    }
    const { paths } = (await off.call('GET', '/../openapi.json')).json;
    expect(Object.keys(paths).filter((path) => path.startsWith('/demos'))).toEqual([]);
  });
});
