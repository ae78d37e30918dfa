import { memoryBuckets } from '@corral/admission';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { steppedClock } from './support/clocks.js';
import { type Answer, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

/** Long enough that an action ends only when a test advances the clock of the local cloud. */
const ACTION_MS = 3_600_000;
const HOLD_MS = 3_000;
const many = {
  perAddressPerMinute: 100_000,
  perTokenPerMinute: 100_000,
  perTeamPerMinute: 100_000,
  actionReadsPerTokenPerMinute: 100_000,
};

let base: TestGateway;
let gateway: TestGateway;
let clock: ReturnType<typeof steppedClock>;
let names = 0;
beforeAll(async () => {
  base = await startGateway({ actionMs: ACTION_MS });
});
afterEach(() => gateway.close());
afterAll(() => base.close());

async function start(limits: Partial<typeof many> = {}): Promise<void> {
  clock = steppedClock();
  const config = { limits: { ...many, ...limits }, actionHoldMs: HOLD_MS };
  gateway = await startGateway({ beside: base, buckets: memoryBuckets(clock.now), clock, config });
}

/** Uses another gateway, so that no limits of this one are spent. */
async function startAction(): Promise<number> {
  const body = { name: `held${++names}.acme`, type: 'A', records: [{ value: '192.0.2.1' }] };
  return (await base.call('POST', `/zones/${ZONE}/rrsets`, { body })).json.action.id;
}
const endActions = (): unknown => gateway.cloud.admin.advanceClock(ACTION_MS);
const get = (id: number, token?: string | null): Promise<Answer> =>
  gateway.call('GET', `/actions/${id}`, token === undefined ? {} : { token });
const statusOf = ({ status, json }: Answer) => [status, json.action?.status ?? json.actions?.[0]?.status];
const untilHeld = (count = 1) => waitFor('reads to be held', () => clock.timers() === count);

describe('a read of a running action', () => {
  it.each([
    ['/actions/{id}', (id: number) => `/actions/${id}`],
    ['/zones/actions/{id}', (id: number) => `/zones/actions/${id}`],
    ['/zones/{zone}/actions/{id}', (id: number) => `/zones/${ZONE}/actions/${id}`],
    ['/actions?id=', (id: number) => `/actions?id=${id}`],
    ['/zones/actions?id=', (id: number) => `/zones/actions?id=${id}`],
  ])('waits for its end: %s', async (_what, pathOf) => {
    await start();
    const id = await startAction();
    const held = gateway.call('GET', pathOf(id));
    await untilHeld();

    endActions();

    expect(statusOf(await held)).toEqual([200, 'success']);
    expect(clock.timers()).toBe(0);
  });

  it('is held for at most three seconds', async () => {
    await start();
    const id = await startAction();
    const held = get(id);
    await untilHeld();

    clock.pass(HOLD_MS);

    expect(statusOf(await held)).toEqual([200, 'running']);
  });

  it('ends when its client disconnects', async () => {
    await start();
    const id = await startAction();
    const gone = new AbortController();
    const headers = { Authorization: `Bearer ${gateway.acme.token}` };
    const held = fetch(`${gateway.url}/actions/${id}`, { headers, signal: gone.signal });
    held.catch(() => undefined);
    await untilHeld();

    gone.abort();

    await waitFor('it to be released', () => clock.timers() === 0);
  });

  it('is answered immediately when the gateway drains', async () => {
    await start();
    const id = await startAction();
    const held = [get(id), get(id)];
    await untilHeld(2);

    gateway.drain();

    expect((await Promise.all(held)).map(statusOf)).toEqual([
      [200, 'running'],
      [200, 'running'],
    ]);
    expect(statusOf(await get(id))).toEqual([200, 'running']);
  });

  it('is answered immediately with the current state when 64 reads of the token are held', async () => {
    await start();
    const id = await startAction();
    const { token: other } = await gateway.issueToken(gateway.acme);
    const held = Array.from({ length: 64 }, () => get(id));
    await untilHeld(64);

    expect(statusOf(await get(id))).toEqual([200, 'running']);
    const ofOther = get(id, other);
    await untilHeld(65);
    clock.pass(HOLD_MS);

    expect(new Set((await Promise.all([...held, ofOther])).map(({ status }) => status))).toEqual(new Set([200]));
  });
});

describe('reads of actions', () => {
  it('do not count for the other requests of the token or the team', async () => {
    await start({ perTokenPerMinute: 2, perTeamPerMinute: 2 });
    const id = await startAction();
    endActions();
    await waitFor('the action to end', async () => (await get(id)).json.action.status === 'success');

    for (let time = 0; time < 10; time += 1) expect((await get(id)).status).toBe(200);

    const { status, headers } = await gateway.call('GET', '/zones');
    expect([status, headers.get('ratelimit-remaining')]).toEqual([200, '1']);
  });

  it('count for their token when they were not held, and for nobody else at its address', async () => {
    await start({ perAddressPerMinute: 1, perTokenPerMinute: 1, actionReadsPerTokenPerMinute: 3 });
    const id = await startAction();
    endActions();
    expect(statusOf(await get(id))).toEqual([200, 'success']); // held until the upstream answered

    const answers = [await get(id), await get(id), await get(id), await get(id)];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers.map(({ headers }) => headers.get('ratelimit-remaining'))).toEqual(['2', '1', '0', '0']);
    expect(answers[3]?.json.error.message).toContain('for actions with this token');
    const { token: other } = await gateway.issueToken(gateway.acme);
    for (const each of [other, gateway.globex.token]) expect((await get(id, each)).status).not.toBe(429);
    expect((await get(id, 'wrong')).status).toBe(401);
  });

  it('may be as many as the other requests of a token whose limit an operator has raised', async () => {
    await start({ perTokenPerMinute: 1, actionReadsPerTokenPerMinute: 1 });
    const team = await gateway.createTeam('polling');
    await gateway.pool.query('UPDATE team SET dns_token_requests_max = 3 WHERE id = $1', [team.id]);

    const statuses: number[] = [];
    for (let time = 0; time < 4; time += 1) statuses.push((await get(1, team.token)).status);

    expect(statuses).toEqual([404, 404, 404, 429]);
  });

  it('are refunded when they were held', async () => {
    await start({ perAddressPerMinute: 1, perTokenPerMinute: 1, actionReadsPerTokenPerMinute: 1 });
    const id = await startAction();
    for (let time = 0; time < 3; time += 1) {
      const held = get(id);
      await untilHeld();
      clock.pass(HOLD_MS);
      const answer = await held;
      expect([...statusOf(answer), answer.headers.get('ratelimit-remaining')]).toEqual([200, 'running', '1']);
    }
  });
});
