import { memoryBuckets } from '@corral/admission';
import { checkDnsAnswer } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { RateLimits } from '../src/http/limits.js';
import { steppedClock } from './support/clocks.js';
import { type Answer, type GatewayOptions, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

describe('limits of requests', () => {
  const LIST = `/zones/${ZONE}/rrsets`;

  let base: TestGateway;
  let gateway: TestGateway;
  beforeAll(async () => {
    base = await startGateway();
  });
  afterEach(() => gateway.close());
  afterAll(() => base.close());

  /** A gateway whose buckets have their own clock: they do not refill as real time passes. */
  async function start(limits: Partial<RateLimits>, config: NonNullable<GatewayOptions['config']> = {}) {
    const clock = { now: 1_000_000 };
    const buckets = memoryBuckets(() => clock.now);
    gateway = await startGateway({ beside: base, buckets, config: { limits, ...config } });
    return clock;
  }

  const budgetOf = ({ headers }: Answer): (number | null)[] =>
    ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after'].map((name) => {
      const value = headers.get(name);
      return value === null ? null : Number(value);
    });

  function expectLimited(answer: Answer, whose: string): void {
    checkDnsAnswer.error(answer.json);
    expect(answer.status).toBe(429);
    expect(answer.json.error).toMatchObject({ code: 'rate_limit_exceeded', details: null });
    expect(answer.json.error.message).toContain(whose);
  }

  describe('a request over a limit', () => {
    it('is answered 429 with the code and the waiting time that clients of the upstream understand', async () => {
      await start({ perTokenPerMinute: 2 });
      const before = Math.floor(Date.now() / 1_000);

      const answers = [
        await gateway.call('GET', LIST),
        await gateway.call('GET', LIST),
        await gateway.call('GET', LIST),
      ];

      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
      expectLimited(answers[2] as Answer, 'this token');
      const [limit, remaining, reset, retryAfter] = budgetOf(answers[2] as Answer);
      expect([limit, remaining, retryAfter]).toEqual([2, 0, 30]);
      expect(reset).toBeGreaterThanOrEqual(before + 60); // the Unix time at which the bucket is full
      expect(reset).toBeLessThanOrEqual(Date.now() / 1_000 + 65);
      expect((answers[2] as Answer).headers.get('content-type')).toMatch(/^application\/json/);
    });

    it('is refused before its body is read, and is never forwarded', async () => {
      await start({ perTokenPerMinute: 1 }, { writeWaitMs: 10_000 });
      await gateway.call('GET', LIST);
      const before = gateway.upstreamCalls();

      expectLimited(await gateway.call('POST', LIST, { body: '{broken' }), 'this token');

      expect(gateway.upstreamCalls()).toBe(before);
    });
  });

  it('the budget in the headers of answers is that of the gateway and never that of the upstream, even for writes', async () => {
    await start({ perTokenPerMinute: 7 });
    const body = { name: 'a.acme', type: 'A', records: [{ value: '192.0.2.1' }] };

    const written = await gateway.call('POST', LIST, { body });

    expect(written.status).toBe(201);
    expect(budgetOf(written).slice(0, 2)).toEqual([7, 6]);
    expect(written.headers.get('link')).toBeNull();
  });

  describe('the limits count', () => {
    it('requests without a valid token per address, before the token is checked', async () => {
      await start({ perAddressPerMinute: 3 });

      const statuses: number[] = [];
      for (const token of [null, 'wrong', 'wrong']) statuses.push((await gateway.call('GET', LIST, { token })).status);

      expect(statuses).toEqual([401, 401, 401]);
      for (const token of [null, 'wrong']) {
        expectLimited(await gateway.call('GET', LIST, { token }), 'this address');
      }
    });

    it('looks at unknown tokens beyond the limit: at as many as the limit allows, and at none twice', async () => {
      const clock = await start({ perAddressPerMinute: 2 });
      for (const token of ['wrong-1', 'wrong-2']) await gateway.call('GET', LIST, { token });
      for (const token of ['wrong-1', 'wrong-2', 'wrong-3', 'wrong-3']) {
        expectLimited(await gateway.call('GET', LIST, { token }), 'this address');
      }
      expect((await gateway.call('GET', LIST)).status).toBe(200);
      for (const token of ['wrong-4', gateway.globex.token]) {
        expectLimited(await gateway.call('GET', LIST, { token }), 'this address');
      }

      clock.now += 60_000;
      expect((await gateway.call('GET', LIST, { token: gateway.globex.token })).status).toBe(200);
    });

    it('no requests of a token that was found good: a whole office can share an address, even a used-up one', async () => {
      await start({ perAddressPerMinute: 2 });
      expect((await gateway.call('GET', LIST)).status).toBe(200);
      for (let time = 0; time < 2; time += 1) await gateway.call('GET', LIST, { token: 'wrong' });
      expectLimited(await gateway.call('GET', LIST, { token: 'wrong' }), 'this address');

      const body = { name: 'behind-nat.acme', type: 'A', records: [{ value: '192.0.2.1' }] };
      expect((await gateway.call('POST', LIST, { body })).status).toBe(201);
      expect((await gateway.call('GET', LIST)).status).toBe(200);
    });

    it('requests per token: another token of the team is still served', async () => {
      await start({ perTokenPerMinute: 1 });
      const second = await gateway.issueToken(gateway.acme);
      await gateway.call('GET', LIST);

      expectLimited(await gateway.call('GET', LIST), 'this token');
      expect((await gateway.call('GET', LIST, { token: second.token })).status).toBe(200);
    });

    it('requests per team, over all its tokens: another team is still served', async () => {
      await start({ perTeamPerMinute: 2 });
      const second = await gateway.issueToken(gateway.acme);
      await gateway.call('GET', LIST);
      await gateway.call('GET', LIST, { token: second.token });

      for (const token of [gateway.acme.token, second.token]) {
        expectLimited(await gateway.call('GET', LIST, { token }), 'this team');
      }
      expect((await gateway.call('GET', LIST, { token: gateway.globex.token })).status).toBe(200);
    });

    it('what an operator allows the team instead of the default, and other teams the default', async () => {
      await start({ perTokenPerMinute: 5, perTeamPerMinute: 5 });
      const team = await gateway.createTeam('allowed');
      await gateway.pool.query('UPDATE team SET dns_token_requests_max = 2, dns_requests_max = 3 WHERE id = $1', [
        team.id,
      ]);
      const second = await gateway.issueToken(team);
      const call = ({ token }: { readonly token: string }) => gateway.call('GET', LIST, { token });

      const allowed = [await call(team), await call(team)];
      expectLimited(await call(team), 'this token');
      allowed.push(await call(second));
      expectLimited(await call(second), 'this team');

      expect(allowed.map((answer) => budgetOf(answer).slice(0, 2))).toEqual([
        [2, 1],
        [2, 0],
        [3, 0],
      ]);
      expect(budgetOf(await call(gateway.globex)).slice(0, 2)).toEqual([5, 4]);
    });

    it('requests for the documentation too, but no health checks', async () => {
      await start({ perAddressPerMinute: 1 });
      const origin = gateway.url.replace(/\/v1$/, '');
      expect((await fetch(`${origin}/openapi.json`)).status).toBe(200);

      for (const path of ['/openapi.json', '/docs/']) expect((await fetch(`${origin}${path}`)).status).toBe(429);
      for (let time = 0; time < 3; time += 1) expect((await fetch(`${origin}/healthz`)).status).toBe(200);
    });
  });

  describe('the address of a client', () => {
    const from = (address: string): Promise<Answer> =>
      gateway.call('GET', LIST, { token: null, headers: { 'X-Forwarded-For': address } });

    it('also counts for its /48: a client that owns a whole /48 gets four times the limit, however it spreads its requests', async () => {
      await start({ perAddressPerMinute: 2 }, { trustProxy: 1 });
      for (let host = 0; host < 8; host += 1) expect((await from(`2001:db8:1:${host}::1`)).status).toBe(401);

      expectLimited(await from('2001:db8:1:ffff::1'), 'this network');
      expect((await from('2001:db8:2::1')).status).toBe(401);
    });

    it('is the last one that a trusted proxy states: addresses that a client adds do not count', async () => {
      await start({ perAddressPerMinute: 1 }, { trustProxy: 1 });
      await from('203.0.113.7');

      expectLimited(await from('198.51.100.1, 203.0.113.7'), 'this address');
    });

    it('is that of the connection when no proxy is trusted', async () => {
      await start({ perAddressPerMinute: 1 });
      await from('203.0.113.7');

      expectLimited(await from('203.0.113.8'), 'this address');
    });
  });
});

describe('work in flight', () => {
  const MAX = 2;
  const RRSETS = `/zones/${ZONE}/rrsets`;

  let base: TestGateway;
  let gateway: TestGateway;
  const clock = steppedClock();
  beforeAll(async () => {
    base = await startGateway({ actionMs: 3_600_000 });
    const config = { requestsInFlightMax: MAX, actionHoldMs: 3_000 };
    gateway = await startGateway({ beside: base, clock, buckets: memoryBuckets(clock.now), config });
  });
  afterAll(async () => {
    await gateway.close();
    await base.close();
  });

  /** A request that reads no record set. */
  const askForNone = (token: string): Promise<Answer> => gateway.call('GET', '/actions?id=1', { token });

  /** Blocks reads of record sets. @returns a function that unblocks them */
  async function stallReads(): Promise<() => Promise<void>> {
    const holder = await base.pool.connect();
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE dns_rrset IN ACCESS EXCLUSIVE MODE');
    return async () => {
      await holder.query('COMMIT');
      holder.release();
    };
  }

  it('over the limit: the busiest team is answered 503 with Retry-After immediately, and serves other teams', async () => {
    // A token counts for its team only once it was found valid.
    for (const { token } of [base.acme, base.globex]) expect((await askForNone(token)).status).toBe(200);
    const goOn = await stallReads();
    const stalled = Array.from({ length: MAX }, () => gateway.call('GET', RRSETS));
    let refused: Answer | undefined;
    // At first, a burst waits for its turn.
    const asked: Promise<unknown>[] = [];
    await waitFor('the overload to last', () => {
      asked.push(
        askForNone(base.acme.token).then((answer) => {
          if (answer.status === 503) refused ??= answer;
        }),
      );
      return refused !== undefined;
    });

    const other = await askForNone(base.globex.token);
    const unread = await gateway.call('POST', RRSETS, { body: 'x'.repeat(2_000) });
    await goOn();

    expect(refused?.json.error).toMatchObject({ code: 'unavailable', details: null });
    expect(refused?.json.error.message).toContain('Retry-After');
    expect(refused?.headers.get('retry-after')).toBe('1');
    expect(refused?.headers.get('x-correlation-id')).not.toBeNull();
    expect([unread.status, other.status]).toEqual([503, 200]);
    expect((await Promise.all(stalled)).map(({ status }) => status)).toEqual([200, 200]);
    await Promise.all(asked);
    expect((await askForNone(base.acme.token)).status).toBe(200);
  });

  it('does not include reads that are held until their actions end', async () => {
    const body = { name: 'held.acme', type: 'A', records: [{ value: '192.0.2.1' }] };
    const { id } = (await gateway.call('POST', RRSETS, { body })).json.action;
    const held: Promise<Answer>[] = [];
    // More than a burst, which is eight times the limit.
    while (held.length < 20) {
      held.push(gateway.call('GET', `/actions/${id}`));
      await waitFor('it to be held', () => clock.timers() === held.length);
    }

    expect((await gateway.call('GET', '/zones')).status).toBe(200);

    clock.pass(3_000);
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 200));
  });
});
