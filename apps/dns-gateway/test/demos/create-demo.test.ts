import { checkDnsAnswer, dnsLimits, reservedSlugs } from '@corral/contracts';
import { courseStore } from '@corral/dns-data';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addCourse, ageDemo, createWithCode, entriesOf, makeDemo } from '../support/demos.js';
import { expectError, expectRefusal, fieldsOf } from '../support/expect-refusal.js';
import { type Answer, DEMO_ZONE, startGateway, type TestGateway, type TestTeam } from '../support/start-gateway.js';

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
    expect(Object.keys(demo)).toEqual([
      'label',
      'name',
      'zone',
      'ttl',
      'created_at',
      'expires_at',
      'max_expires_at',
      'records',
    ]);
    expect(gateway.upstreamCalls()).toBe(before);
  });

  it('creates a demo of 4 hours with a readable label by default', async () => {
    const { demo } = (await create({})).json;

    expect(demo.label).toMatch(/^[a-z]+(-[a-z]+)+$/);
    expect(demo.name).toBe(demo.label);
    expect(demo.ttl).toBe(14_400);
    expect(hoursUntil(demo.created_at, demo.expires_at)).toBe(4);
  });

  it('draws a different label each time', async () => {
    const [one, other] = [(await create({})).json, (await create({ name: null, ttl: null })).json];

    expect(one.demo.label).not.toBe(other.demo.label);
    expect(one.token).not.toBe(other.token);
  });

  it.each([300, 604_800])('accepts a ttl of %i', async (ttl) => {
    const team = await gateway.createTeam(`ttl-${ttl}`);
    const { demo } = (await create({ ttl }, team.token)).json;

    expect([demo.ttl, hoursUntil(demo.created_at, demo.expires_at) * 3_600]).toEqual([ttl, ttl]);
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

  it('ignores a course code next to a token', async () => {
    const { token } = await gateway.createTeam('both');

    expect((await create({ course_code: 'NO-SUCH-CODE' }, token)).status).toBe(201);
    expect((await create({ course_code: 'WORKSHOP' }, 'x'.repeat(64))).status).toBe(401);
  });

  it('is refused to the token of a demo', async () => {
    const demo = await makeDemo(gateway);

    await expectRefusal(gateway, () => create({}, demo.token), 403, 'forbidden');
  });

  it.each([{ withinName: 'ci.acme' }, { withinTypes: ['TXT'] }])(
    'is refused to a token restricted to %j, which a demo would bypass',
    async (narrowing) => {
      const { token } = await gateway.issueToken(gateway.acme, narrowing);

      await expectRefusal(gateway, () => create({}, token), 403, 'forbidden');
      await gateway.pool.query('UPDATE dns_token SET revoked_at = now() WHERE within_name IS NOT NULL');
    },
  );
});

describe('the name of a demo', () => {
  let team: TestTeam;
  let teams = 0;
  const named = async (name: string): Promise<Answer> => {
    // A team can have at most ten live demos.
    if (teams % 10 === 0) team = await gateway.createTeam(`names-${teams}`);
    teams += 1;
    return create({ name }, team.token);
  };

  it.each([
    ['Caf\u00e9 \u00dcber 2', 'cafe-uber-2'],
    ['  --a__b..c--  ', 'a-b-c'],
    ['\u65e5\u672c 7', '7'],
    ['x'.repeat(100), 'x'.repeat(63)],
    [`${'y'.repeat(62)}-z`, 'y'.repeat(62)],
    ['UPPER', 'upper'],
  ])('%j becomes the label %s', async (name, label) => {
    const { status, json } = await named(name);

    expect([status, json.demo?.label, json.demo?.name]).toEqual([201, label, name]);
  });

  it.each(['', '-', '!!!', '\u65e5\u672c', 'x'.repeat(101), 'a\u0000b', 7, ['a'], { a: 1 }, true])(
    'cannot be %j',
    async (name) => {
      const answer = await expectRefusal(gateway, () => create({ name }), 400, 'invalid_input');

      expect(fieldsOf(answer)).toEqual(['name']);
    },
  );

  it('cannot be a reserved word', async () => {
    for (const name of [...reservedSlugs, 'WWW', ' mail ']) {
      const answer = await create({ name });
      expect([name, answer.status, fieldsOf(answer)]).toEqual([name, 400, ['name']]);
    }
  });
});

describe('a label', () => {
  it('of any other demo is refused', async () => {
    await makeDemo(gateway, { name: 'taken' }, gateway.globex.token);

    const answer = await expectRefusal(gateway, () => create({ name: 'TAKEN' }), 409, 'uniqueness_error');

    expect(fieldsOf(answer)).toEqual(['name']);
    const own = await expectRefusal(
      gateway,
      () => create({ name: 'taken' }, gateway.globex.token),
      409,
      'uniqueness_error',
    );
    expect(own.text).toBe(answer.text);
  });

  it('with foreign records in the zone is refused', async () => {
    gateway.cloud.admin.putRrset(DEMO_ZONE, 'www.by-hand', 'A', { records: [{ value: '192.0.2.1' }] });
    await gateway.syncZone();

    await expectRefusal(gateway, () => create({ name: 'by hand' }), 409, 'uniqueness_error');
  });

  it('equal to a team’s label is allowed, since the zones differ', async () => {
    const team = await gateway.createTeam('twin');
    expect((await create({ name: 'twin' }, team.token)).status).toBe(201);
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

describe('the body', () => {
  it.each(['', '{', '[]', 'null', '"x"', '7', '{"ttl":300,"ttl":600}'])('cannot be %j', async (body) => {
    await expectRefusal(gateway, () => create(body), 400, 'invalid_input');
    await expectRefusal(gateway, () => create(body, null), 400, 'invalid_input');
  });

  it.each([299, 604_801, 0, -1, 300.5, '3600', [300], true])('cannot have the ttl %j', async (ttl) => {
    const answer = await expectRefusal(gateway, () => create({ ttl }), 400, 'invalid_input');

    expect(fieldsOf(answer)).toEqual(['ttl']);
  });

  it('may have at most 4 KiB', async () => {
    const empty = JSON.stringify({ ttl: 0, padding: '' }).length;
    const sized = (bytes: number) => () => create({ ttl: 0, padding: 'x'.repeat(bytes - empty) });

    await expectRefusal(gateway, sized(4_096), 400, 'invalid_input');
    await expectRefusal(gateway, sized(4_097), 413, 'payload_too_large');
  });
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

  it('rejects a course code that is not a string', async () => {
    const answer = await expectRefusal(
      gateway,
      () => createWithCode(gateway, { course_code: ['WORKSHOP'] }),
      400,
      'invalid_input',
    );
    expect(fieldsOf(answer)).toEqual(['course_code']);
  });

  it('gives the same answer for a wrong and a deactivated code', async () => {
    await addCourse(gateway, 'LAST-YEAR');
    expect(await courseStore(gateway.prisma).deactivateCourse('LAST-YEAR')).toBe(true);
    const texts = new Set<string>();

    for (const code of ['LAST-YEAR', 'NO-SUCH-CODE', 'workshop', 'WORKSHOP ', '', 'W', 'x'.repeat(1_000), '\u0000']) {
      const send = () => createWithCode(gateway, { course_code: code, name: `wrong ${texts.size}` });
      texts.add((await expectRefusal(gateway, send, 403, 'forbidden')).text);
    }

    expect(texts.size).toBe(1);
  });

  it('does not reveal taken labels without a valid code', async () => {
    await createWithCode(gateway, { course_code: 'WORKSHOP', name: 'secret' });

    const send = () => createWithCode(gateway, { course_code: 'NO-SUCH-CODE', name: 'secret' });

    await expectRefusal(gateway, send, 403, 'forbidden');
  });

  it('counts against the limit of its address first', async () => {
    const narrow = await startGateway({
      beside: gateway,
      config: { limits: { perAddressPerMinute: 5, perTokenPerMinute: 100, perTeamPerMinute: 100 } },
    });
    const guess = () => narrow.call('POST', '/demos', { token: null, body: { course_code: 'GUESSED' } });
    for (let count = 0; count < 5; count += 1) expectError(await guess(), 403, 'forbidden');

    expectError(await guess(), 429, 'rate_limit_exceeded');
    const right = await narrow.call('POST', '/demos', { token: null, body: { course_code: 'WORKSHOP' } });
    expectError(right, 429, 'rate_limit_exceeded');
    await narrow.close();
  });
});
