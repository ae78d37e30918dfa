import { type Buckets, memoryBuckets } from '@corral/admission';
import { checkDnsAnswer } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { steppedClock } from './support/clocks.js';
import { type HoldingUpstream, startHoldingUpstream } from './support/holding-upstream.js';
import { type Answer, type GatewayOptions, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

describe('limits of requests', () => {
  const LIST = `/zones/${ZONE}/rrsets`;
  const many = { perAddressPerMinute: 100_000, perTokenPerMinute: 100_000, perTeamPerMinute: 100_000 };

  let base: TestGateway;
  let gateway: TestGateway;
  beforeAll(async () => {
    base = await startGateway();
  });
  afterEach(() => gateway.close());
  afterAll(() => base.close());

  /** A gateway whose buckets have their own clock: they do not refill as real time passes. */
  async function start(limits: Partial<typeof many>, config: NonNullable<GatewayOptions['config']> = {}) {
    const clock = { now: 1_000_000 };
    const buckets = memoryBuckets(() => clock.now);
    gateway = await startGateway({ beside: base, buckets, config: { limits: { ...many, ...limits }, ...config } });
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

  describe('the budget in the headers of answers', () => {
    it('is that of the limit with the least left, in the format of the upstream', async () => {
      await start({ perAddressPerMinute: 300, perTokenPerMinute: 120, perTeamPerMinute: 600 });
      const before = Math.floor(Date.now() / 1_000);

      const [limit, remaining, reset, retryAfter] = budgetOf(await gateway.call('GET', LIST));

      expect([limit, remaining, retryAfter]).toEqual([120, 119, null]);
      expect(reset).toBeGreaterThanOrEqual(before);
      expect(reset).toBeLessThanOrEqual(Date.now() / 1_000 + 5);
    });

    it('is that of the gateway and never that of the upstream, for writes too', async () => {
      await start({ perTokenPerMinute: 7 });
      const body = { name: 'a.acme', type: 'A', records: [{ value: '192.0.2.1' }] };

      const written = await gateway.call('POST', LIST, { body });

      expect(written.status).toBe(201);
      expect(budgetOf(written).slice(0, 2)).toEqual([7, 6]);
      expect(written.headers.get('link')).toBeNull();
    });
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

    it('no requests with a valid token per address: a whole office can share one', async () => {
      const clock = await start({ perAddressPerMinute: 3 });
      for (let time = 0; time < 10; time += 1) {
        const { status, headers } = await gateway.call('GET', LIST);
        expect([status, headers.get('ratelimit-remaining')]).toEqual([200, String(many.perTokenPerMinute - time - 1)]);
      }
      for (let time = 0; time < 4; time += 1) {
        const body = { name: `office${time}.acme`, type: 'A', records: [{ value: '192.0.2.1' }] };
        expect((await gateway.call('POST', LIST, { body })).status).toBe(201);
      }

      const budgets: (number | null)[][] = [];
      for (let time = 0; time < 4; time += 1)
        budgets.push(budgetOf(await gateway.call('GET', LIST, { token: 'wrong' })));

      expect(budgets.map((budget) => [budget[0], budget[1], budget[3]])).toEqual([
        [3, 2, null],
        [3, 1, null],
        [3, 0, null],
        [3, 0, 20],
      ]);
      clock.now += 20_000;
      expect((await gateway.call('GET', LIST)).status).toBe(200);
      expect((await gateway.call('GET', LIST)).status).toBe(200);
    });

    it('no requests of a token that was found good, even if others have used up its address', async () => {
      await start({ perAddressPerMinute: 2 });
      expect((await gateway.call('GET', LIST)).status).toBe(200);
      for (let time = 0; time < 2; time += 1) await gateway.call('GET', LIST, { token: 'wrong' });
      expectLimited(await gateway.call('GET', LIST, { token: 'wrong' }), 'this address');

      const body = { name: 'behind-nat.acme', type: 'A', records: [{ value: '192.0.2.1' }] };
      expect((await gateway.call('POST', LIST, { body })).status).toBe(201);
      expect((await gateway.call('GET', LIST)).status).toBe(200);
    });

    it('a token that was found good, and was revoked since, as any other one', async () => {
      await start({ perAddressPerMinute: 2 });
      const { token, tokenId } = await gateway.issueToken(gateway.acme);
      expect((await gateway.call('GET', LIST, { token })).status).toBe(200);
      await gateway.pool.query('UPDATE dns_token SET revoked_at = now() WHERE id = $1', [tokenId]);
      await waitFor(
        'the revocation to arrive',
        async () => (await gateway.call('GET', LIST, { token })).status === 401,
      );

      expect((await gateway.call('GET', LIST, { token })).status).toBe(401);
      expectLimited(await gateway.call('GET', LIST, { token }), 'this address');
    });

    it('a token without the scope as any other good one, not its address', async () => {
      await start({ perAddressPerMinute: 1, perTokenPerMinute: 3 });
      const { token } = await gateway.issueToken(gateway.acme, { scopes: ['clusters'] });

      const statuses: number[] = [];
      for (let time = 0; time < 4; time += 1) statuses.push((await gateway.call('GET', LIST, { token })).status);

      expect(statuses).toEqual([403, 403, 403, 429]);
      expect((await gateway.call('GET', LIST, { token: 'wrong' })).status).toBe(401);
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

    it('the token and the team together: a refusal by the one does not charge the other', async () => {
      const clock = await start({ perTokenPerMinute: 3, perTeamPerMinute: 2 });
      const call = () => gateway.call('GET', LIST);

      const passed = [await call(), await call()];
      const byTeam = [await call(), await call(), await call()];
      clock.now += 30_000; // one request for the team
      passed.push(await call());
      const { headers } = await call();

      expect(passed.map(({ status }) => status)).toEqual([200, 200, 200]);
      for (const answer of byTeam) expectLimited(answer, 'this team');
      expect(headers.get('ratelimit-limit')).toBe('2');
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

    it.each([
      ['an IPv6 address of the same /64', '2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
      ['an IPv6 address of the next /64', '2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ])('behind a trusted proxy: %s', async (_what, one, other, shared) => {
      await start({ perAddressPerMinute: 1 }, { trustProxy: 1 });
      await from(one);

      expect((await from(other)).status).toBe(shared ? 429 : 401);
    });

    it('also counts for its /48: a client that owns a whole /48 gets four times the limit, however it spreads its requests', async () => {
      await start({ perAddressPerMinute: 2 }, { trustProxy: 1 });
      for (let host = 0; host < 8; host += 1) expect((await from(`2001:db8:1:${host}::1`)).status).toBe(401);

      expectLimited(await from('2001:db8:1:ffff::1'), 'this network');
      expect((await from('2001:db8:2::1')).status).toBe(401);
    });

    it('cannot have more tokens looked at from other networks of its /48 than four times the limit', async () => {
      await start({ perAddressPerMinute: 1 }, { trustProxy: 1 });
      const present = (host: number, token: string) =>
        gateway.call('GET', LIST, { token, headers: { 'X-Forwarded-For': `2001:db8:1:${host}::1` } });
      for (let host = 0; host < 8; host += 1) await present(host, `wrong-${host}`);

      expectLimited(await present(8, gateway.acme.token), 'this network');
      expect((await gateway.call('GET', LIST, { headers: { 'X-Forwarded-For': '2001:db8:2::1' } })).status).toBe(200);
    });

    it('gets its charge back when the token is valid, and so does its /48', async () => {
      await start({ perAddressPerMinute: 1 }, { trustProxy: 1 });
      const headers = { 'X-Forwarded-For': '2001:db8:1::1' };
      for (let time = 0; time < 10; time += 1) expect((await gateway.call('GET', LIST, { headers })).status).toBe(200);

      for (let host = 0; host < 4; host += 1) expect((await from(`2001:db8:1:${host}::1`)).status).toBe(401);
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
  const RRSETS = `/zones/${ZONE}/rrsets`;
  /** A burst is eight times this number. */
  const MAX = 2;
  const MORE_THAN_A_BURST = 20;
  const many = { perAddressPerMinute: 100_000, perTokenPerMinute: 100_000, perTeamPerMinute: 100_000 };

  let base: TestGateway;
  let gateway: TestGateway;
  let clock: ReturnType<typeof steppedClock>;
  let names = 0;
  /** How many times acme’s token was charged. */
  let taken = 0;
  beforeAll(async () => {
    base = await startGateway({ actionMs: 3_600_000 });
  });
  afterEach(() => gateway.close());
  afterAll(() => base.close());

  interface Wanted {
    readonly max?: number;
    readonly limits?: Partial<typeof many>;
    readonly upstreamUrl?: string;
  }

  async function start({ max = MAX, limits = {}, upstreamUrl }: Wanted = {}): Promise<void> {
    clock = steppedClock();
    const buckets = memoryBuckets(clock.now);
    taken = 0;
    const take: Buckets['take'] = (from, ...rest) => {
      if (from.some(({ key }) => key === `token:${base.acme.tokenId}`)) taken += 1;
      return buckets.take(from, ...rest);
    };
    gateway = await startGateway({
      beside: base,
      clock,
      buckets: { ...buckets, take },
      waitMsMax: 600_000,
      ...(upstreamUrl !== undefined && { upstreamUrl }),
      config: { requestsInFlightMax: max, limits: { ...many, ...limits }, actionHoldMs: 3_000 },
    });
  }

  const create = (): Promise<Answer> =>
    gateway.call('POST', RRSETS, { body: { name: `o${++names}.acme`, type: 'A', records: [{ value: '192.0.2.1' }] } });
  const listZones = (token: string): Promise<Answer> => gateway.call('GET', '/zones', { token });
  /** A request that reads no record set. */
  const askForNone = (token: string): Promise<Answer> => gateway.call('GET', '/actions?id=1', { token });
  const times = <T>(count: number, make: () => Promise<T>): Promise<T>[] => Array.from({ length: count }, make);

  /** Sends this many requests, each once the request before it waits. */
  async function oneByOne<T>(count: number, send: () => Promise<T>, waiting: () => number): Promise<Promise<T>[]> {
    const sent: Promise<T>[] = [];
    while (sent.length < count) {
      sent.push(send());
      await waitFor('it to wait', () => waiting() === sent.length);
    }
    return sent;
  }

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

  describe('when more requests are in flight than the limit allows', () => {
    it('answers the busiest team 503 with Retry-After immediately, and serves other teams', async () => {
      await start();
      // A token counts for its team only once it was found valid.
      for (const { token } of [base.acme, base.globex]) expect((await askForNone(token)).status).toBe(200);
      const goOn = await stallReads();
      const stalled = times(MAX, () => gateway.call('GET', RRSETS));
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
  });

  describe('the work in flight does not include', () => {
    it('a read that is held until its action ends', async () => {
      await start();
      const id = (await create()).json.action.id;
      const held = await oneByOne(MORE_THAN_A_BURST, () => gateway.call('GET', `/actions/${id}`), clock.timers);

      expect((await listZones(base.acme.token)).status).toBe(200);

      clock.pass(3_000);
      expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 200));
    });

    it('a write that waits for its rate', async () => {
      // The limit is one write every three seconds, and no write waits for longer than a minute.
      await start({ limits: { perTokenPerMinute: 20 } });
      for (let time = 0; time < 20; time += 1) await listZones(base.acme.token);
      expect(taken).toBe(20);
      const statuses: number[] = [];
      const write = async () => void statuses.push((await create()).status);
      const writes = await oneByOne(MORE_THAN_A_BURST, write, () => taken - 20);

      expect((await listZones(base.globex.token)).status).toBe(200);

      await waitFor('the writes to be served', () => {
        clock.pass(3_000);
        return statuses.length === writes.length;
      });
      await Promise.all(writes);
      expect(statuses).not.toContain(503);
    });

    it('a write that waits for the answer of the upstream', async () => {
      const upstream: HoldingUpstream = await startHoldingUpstream(base.cloud.apiUrl);
      const goOn = upstream.hold('/rrsets');
      await start({ max: 1, upstreamUrl: upstream.url });
      // More than a burst of one, and no more than the gateway sends upstream concurrently.
      const sent = await oneByOne(9, create, () => upstream.calls('/rrsets'));

      expect((await listZones(base.acme.token)).status).toBe(200);

      goOn();
      for (const { status } of await Promise.all(sent)) expect(status).not.toBe(503);
      await upstream.close();
    });
  });
});
