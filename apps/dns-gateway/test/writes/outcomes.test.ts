import { checkDnsAnswer } from '@corral/contracts';
import type { FaultEffect } from '@corral/local-cloud';
import { freePort, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { auditOf } from '../support/audit.js';
import { type Answer, startGateway, type TestGateway, UPSTREAM_TOKEN, ZONE } from '../support/start-gateway.js';

let gateway: TestGateway;
/** One whose calls end soon, for those that nobody answers. */
let impatient: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
  impatient = await startGateway({ beside: gateway, timeoutMs: 1_000 });
});
afterAll(async () => {
  await impatient.close();
  await gateway.close();
});
afterEach(() => gateway.cloud.admin.clearFaults());

const create = (name: string, through = gateway): Promise<Answer> =>
  through.call('POST', `/zones/${ZONE}/rrsets`, { body: { name, type: 'A', records: [{ value: '192.0.2.1' }] } });

/** What becomes of the next creation upstream. */
const spoil = (effect: FaultEffect): void => {
  gateway.cloud.admin.addFaults({ match: { method: 'POST', path: '/rrsets$' }, effect });
};

function expectUnavailable({ status, json }: Answer): void {
  checkDnsAnswer.error(json);
  expect(status).toBe(502);
  expect(json.error).toMatchObject({ code: 'upstream_unavailable', details: null });
}

describe('an upstream whose answer cannot be relied upon', () => {
  const error = { error: { code: 'unavailable', message: 'x', details: null } };
  const cases: [string, FaultEffect][] = [
    ['never answers', { hang: true }],
    ['drops the connection before it works', { reset: 'before' }],
    ['drops the connection after it worked', { reset: 'after' }],
    ['stops in the middle of its answer', { truncate: true }],
    ['answers 201 with what is no JSON', { status: 201, body: 'created!' }],
    ['answers 201 with a list', { status: 201, body: [] }],
    ['answers 201 without an action', { status: 201, body: { rrset: {} } }],
    ['answers 201 without the set that was created', { status: 201, body: { action: { id: 1, status: 'running' } } }],
    ['answers a page of a proxy', { status: 502, body: '<html>Bad Gateway</html>', contentType: 'text/html' }],
    ['answers 400 in another shape', { status: 400, body: { message: 'no' } }],
    ['answers a redirect', { status: 302, body: error }],
  ];

  it.each(cases)('%s: 502, and the write stays pending with what it may have added', async (what, effect) => {
    const name = `u${cases.findIndex(([each]) => each === what)}.acme`;
    spoil(effect);

    expectUnavailable(await create(name, effect.hang ? impatient : gateway));

    expect(await auditOf(gateway, name)).toEqual([
      expect.objectContaining({ state: 'pending', reserved_records: 1, upstream_status: null, answered: false }),
    ]);
    expect((await gateway.call('GET', `/zones/${ZONE}/rrsets/${name}/A`)).status).toBe(404);
  });
});

describe('an upstream that cannot be reached', () => {
  it('means 502, and an entry that says that nothing was sent', async () => {
    const upstreamUrl = `http://127.0.0.1:${await freePort()}/v1`;
    const cutOff = await startGateway({ beside: gateway, upstreamUrl });

    expectUnavailable(await create('unreached.acme', cutOff));

    const [entry] = await auditOf(gateway, 'unreached.acme');
    expect(entry).toMatchObject({ state: 'unsent', reserved_records: 0 });
    expect((await create('unreached.acme')).status).toBe(201); // nothing is in the way of the next try
    await cutOff.close();
  });

  it('leaves reads as they are', async () => {
    await create('known.acme');
    gateway.cloud.admin.addFaults({ times: null, effect: { reset: 'before' } });

    expect((await gateway.call('GET', `/zones/${ZONE}/rrsets/known.acme/A`)).status).toBe(200);
    expect((await gateway.call('GET', `/zones/${ZONE}/rrsets`)).status).toBe(200);
  });
});

describe('an upstream that refuses our own token', () => {
  it.each([
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [403, 'token_readonly'],
  ])('with %i %s: the caller is told 502, for it is not their fault', async (status, code) => {
    const name = `${code.replace('_', '-')}.acme`;
    spoil({ status, code, message: 'your token' });

    const answer = await create(name);

    expectUnavailable(answer);
    expect(answer.text).not.toContain('your token');
    expect(await auditOf(gateway, name)).toEqual([expect.objectContaining({ state: 'unsent', reserved_records: 0 })]);
  });
});

describe('a refusal of the upstream', () => {
  it.each([
    [404, 'not_found'],
    [409, 'conflict'],
    [409, 'uniqueness_error'],
    [412, 'precondition_failed'],
    [422, 'invalid_input'],
    [423, 'locked'],
    [403, 'resource_limit_exceeded'],
    [400, 'json_error'],
    [403, 'maintenance'],
  ])('%i %s arrives byte for byte, and nothing is held any more', async (status, code) => {
    const name = `r${status}-${code.replaceAll('_', '-')}.acme`;
    const body = `{ "error": {"message":"d\u00fcplicate value '1' \\u00fc",\n "code": "${code}", "details": null, "n": 1.0} , "more":[ ]}`;
    spoil({ status, body });

    const answer = await create(name);

    expect(answer.status).toBe(status);
    expect(answer.text).toBe(body);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await auditOf(gateway, name)).toEqual([
      expect.objectContaining({ state: 'refused', upstream_status: status, upstream_body: body, reserved_records: 0 }),
    ]);
  });

  it.each([500, 503])('of its own making (%i) arrives byte for byte, and the write stays pending', async (status) => {
    const name = `failed-${status}.acme`;
    const body = '{"error": {"code":"server_error", "message": "oops"}}';
    spoil({ status, body, perform: true });

    const answer = await create(name);

    expect([answer.status, answer.text]).toEqual([status, body]);
    expect(await auditOf(gateway, name)).toEqual([
      expect.objectContaining({ state: 'pending', upstream_status: status, upstream_body: body, reserved_records: 1 }),
    ]);
  });

  it('in its own words: the local cloud’s own refusals pass unchanged', async () => {
    const url = `${gateway.cloud.apiUrl}/zones/${ZONE}/rrsets/absent.acme/A`;
    const direct = await fetch(url, { method: 'DELETE', headers: { Authorization: `Bearer ${UPSTREAM_TOKEN}` } });

    const through = await gateway.call('DELETE', `/zones/${ZONE}/rrsets/absent.acme/A`);

    expect([through.status, through.text]).toEqual([direct.status, await direct.text()]);
  });
});

describe('an upstream whose budget is used up', () => {
  it('means 429 with a time to wait, and an entry that says that nothing was sent', async () => {
    const patient = await startGateway({ beside: gateway, waitMsMax: 100 });
    gateway.cloud.admin.addFaults({ times: null, effect: { status: 429, code: 'rate_limit_exceeded' } });

    const answer = await create('throttled.acme', patient);

    checkDnsAnswer.error(answer.json);
    expect([answer.status, answer.json.error.code]).toEqual([429, 'rate_limit_exceeded']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await auditOf(gateway, 'throttled.acme')).toEqual([expect.objectContaining({ state: 'unsent' })]);
    await patient.close();
  });

  it('is told in the headers that clients back off on: when this team will be served', async () => {
    const own = await startGateway();
    own.cloud.admin.setBudget({ requestsPerHour: 360, remaining: 1 });
    const write = (name: string) =>
      own.call('POST', `/zones/${ZONE}/rrsets`, { body: { name, type: 'A', records: [{ value: '192.0.2.1' }] } });
    const begunAt = Date.now() / 1_000;
    await write('one.acme');

    const refused = await write('two.acme');
    const endedAt = Date.now() / 1_000;

    const header = (name: string): number => Number(refused.headers.get(name));
    expect([refused.status, header('ratelimit-limit'), header('ratelimit-remaining')]).toEqual([429, 360, 0]);
    expect(refused.json.error.message).toContain('upstream');
    // One in ten seconds flows in, and seven tenths of it are for writes.
    expect(header('retry-after')).toBeGreaterThanOrEqual(10 - (endedAt - begunAt));
    expect(header('retry-after')).toBeLessThanOrEqual(16);
    const toldAt = header('ratelimit-reset') - header('retry-after');
    expect(toldAt).toBeGreaterThanOrEqual(begunAt - 5);
    expect(toldAt).toBeLessThanOrEqual(endedAt + 5);
    await own.close();
  });

  it('is told in the answers to writes where it has less left than any limit of ours', async () => {
    const own = await startGateway();
    own.cloud.admin.setBudget({ requestsPerHour: 36_000, remaining: 20_000 });
    let writes = 0;

    // The account of the budget hears of what the upstream states a moment later.
    const told = await waitFor('the upstream’s budget to be told', async () => {
      const body = { name: `n${++writes}.acme`, type: 'A', records: [{ value: '192.0.2.1' }] };
      const { status, headers } = await own.call('POST', `/zones/${ZONE}/rrsets`, { body });
      expect(status).toBe(201);
      return headers.get('ratelimit-limit') === '36000' && Number(headers.get('ratelimit-remaining'));
    });

    // Without what replicas were lent ahead.
    expect(told).toBeGreaterThan(0);
    expect(told).toBeLessThanOrEqual(36_000);
    const { headers } = await own.call('GET', '/zones');
    expect(headers.get('ratelimit-limit')).toBe('100000'); // reads cost none of it
    await own.close();
  });

  it('by one team keeps no other team from writing', async () => {
    const own = await startGateway({ waitMsMax: 500 });
    own.cloud.admin.setBudget({ requestsPerHour: 3_600, remaining: 40 });
    const write = (name: string, token: string) =>
      own.call('POST', `/zones/${ZONE}/rrsets`, {
        token,
        body: { name, type: 'A', records: [{ value: '192.0.2.1' }] },
      });
    const names = Array.from({ length: 60 }, (_, index) => `n${index}.acme`);
    const flood = await Promise.all(names.map((name) => write(name, own.acme.token)));

    const { status } = await write('one.globex', own.globex.token);

    expect(status).toBe(201);
    expect(new Set(flood.map((each) => each.status))).toEqual(new Set([201, 429]));
    await own.close();
  });
});
