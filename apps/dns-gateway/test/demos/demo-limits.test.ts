import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addCourse, ageDemo, createSet, createWithCode, makeDemo, upstreamSets } from '../support/demos.js';
import { expectRefusal } from '../support/expect-refusal.js';
import { type Answer, DEMO_ZONE, startGateway, type TestGateway, ZONE } from '../support/start-gateway.js';

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

describe('the limit of 10 live demos per team', () => {
  it('is reached and never exceeded by concurrent requests', async () => {
    const { token } = await gateway.createTeam('many');

    const answers = await atOnce(40, (at) => create(token, {}, at));

    expect(tally(answers)).toEqual({ 201: 10, 403: 30 });
    const refused = answers.find(({ status }) => status === 403) as Answer;
    expect([refused.json.error.code, limitsOf(refused)]).toEqual(['resource_limit_exceeded', ['demos_per_team']]);
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

  it('is separate from the limits of tokens and records', async () => {
    const team = await gateway.createTeam('apart');
    for (let count = 0; count < 6; count += 1) {
      const demo = await makeDemo(gateway, {}, team.token);
      expect((await createSet(gateway, demo.token, demo.label, 20)).status).toBe(201);
    }

    await gateway.issueToken(team);
    const records = Array.from({ length: 50 }, (_, index) => ({ value: `10.0.0.${index}` }));
    for (const name of ['a', 'b', 'c', 'd']) {
      const body = { name: `${name}.apart`, type: 'A', records };
      const answer = await gateway.call('POST', `/zones/${ZONE}/rrsets`, { token: team.token, body });
      expect([name, answer.status]).toEqual([name, 201]);
    }
  });
});

describe('the limit of live demos per course', () => {
  it('is reached and never exceeded by concurrent requests', async () => {
    await addCourse(gateway, 'CROWDED');

    const answers = await atOnce(60, (at) => create(null, { course_code: 'CROWDED' }, at));

    expect(tally(answers)).toEqual({ 201: 20, 403: 40 });
    const refused = answers.find(({ status }) => status === 403) as Answer;
    expect([refused.json.error.code, limitsOf(refused)]).toEqual(['resource_limit_exceeded', ['demos_per_course']]);
  });

  it('is set per course, and counts no demos of other courses', async () => {
    await addCourse(gateway, 'SMALL-ONE', 2);
    await addCourse(gateway, 'ANOTHER');
    const join = (code: string) => createWithCode(gateway, { course_code: code });

    expect([(await join('SMALL-ONE')).status, (await join('SMALL-ONE')).status]).toEqual([201, 201]);
    await expectRefusal(gateway, () => join('SMALL-ONE'), 403, 'resource_limit_exceeded');
    expect((await join('ANOTHER')).status).toBe(201);
  });
});

describe('the limit of live demos per address', () => {
  it('holds within a course for concurrent requests, and forgets addresses of ended demos', async () => {
    const trusting = await startGateway({ beside: gateway, config: { trustProxy: ['loopback'] } });
    await addCourse(gateway, 'SHARED', 20, 3);
    const from = (address: string) =>
      trusting.call('POST', '/demos', {
        token: null,
        body: { course_code: 'SHARED' },
        headers: { 'X-Forwarded-For': address },
      });

    const answers = await Promise.all(Array.from({ length: 12 }, () => from('192.0.2.1')));

    expect(tally(answers)).toEqual({ 201: 3, 403: 9 });
    const refused = answers.find(({ status }) => status === 403) as Answer;
    expect([refused.json.error.code, limitsOf(refused)]).toEqual(['resource_limit_exceeded', ['demos_per_address']]);
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
});

describe('a label', () => {
  it('is given to one of many concurrent requests', async () => {
    const teams = await Promise.all(['one', 'two', 'three', 'four'].map((slug) => gateway.createTeam(`race-${slug}`)));

    const answers = await atOnce(40, (at, index) => create(teams[index % 4]?.token as string, { name: 'prize' }, at));

    expect(tally(answers)).toEqual({ 201: 1, 409: 39 });
  });

  it('is given to one of many concurrent requests after its release', async () => {
    const { label } = await makeDemo(gateway, { name: 'freed' });
    await gateway.call('DELETE', `/demos/${label}`);
    await ageDemo(gateway, label, 3_600);

    const answers = await atOnce(12, (at) => create(gateway.acme.token, { name: 'freed' }, at));

    expect(tally(answers)).toEqual({ 201: 1, 409: 11 });
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

describe('the limit of 20 records per demo', () => {
  it('is reached by any write and exceeded by none', async () => {
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

  it('holds for concurrent writes', async () => {
    const { label, token } = await makeDemo(gateway, {}, gateway.globex.token);

    const answers = await atOnce(32, (at, index) => createSet(at, token, `s${index}.${label}`, 1));

    expect(tally(answers)).toEqual({ 201: 20, 403: 12 });
    expect(upstreamSets(gateway, label)).toHaveLength(20);
  });

  it('is separate for each demo', async () => {
    const [one, other] = [await makeDemo(gateway), await makeDemo(gateway)];
    await createSet(gateway, one.token, one.label, 20);

    expect((await createSet(gateway, other.token, other.label, 20)).status).toBe(201);
  });
});

describe('the requests of demos', () => {
  it('count for their team, and for a course like for one team', async () => {
    const limited = await startGateway({
      beside: gateway,
      config: { limits: { perAddressPerMinute: 10_000, perTokenPerMinute: 10_000, perTeamPerMinute: 12 } },
    });
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
