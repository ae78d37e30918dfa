import { type Buckets, memoryBuckets, perMinute, type Taken } from '@corral/admission';
import { dnsLimits } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { RateLimits } from '../src/http/limits.js';
import { steppedClock } from './support/clocks.js';
import { type Answer, type CallOptions, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

describe('requests that wait', () => {
  const RECORDS = `/zones/${ZONE}/rrsets`;
  /** Four per minute are one every fifteen seconds. No write gives up in real time before the test has passed that time. */
  const [PER_MINUTE, GAP_MS] = [4, 15_000];
  /** The second write still has time to wait for the upstream budget, which a new gateway does not know. The third is too late. */
  const [WRITE_WAIT_MS, READ_WAIT_MS] = [2 * GAP_MS + 4_000, 3 * GAP_MS + 4_000];

  let base: TestGateway;
  let gateway: TestGateway;
  let clock: ReturnType<typeof steppedClock>;
  let token: string;
  let made = 0;
  beforeAll(async () => {
    base = await startGateway();
  });
  afterEach(() => gateway.close());
  afterAll(() => base.close());

  /** Starts a gateway with its own clock, and a team that has used none of its limits. */
  async function start(limits: Partial<RateLimits>) {
    clock = steppedClock();
    const buckets = memoryBuckets(clock.now);
    const config = { limits, writeWaitMs: WRITE_WAIT_MS, readWaitMs: READ_WAIT_MS };
    // However slow the machine is, no write should fail because it waits for a turn upstream.
    gateway = await startGateway({ beside: base, buckets, clock, config, waitMsMax: 600_000 });
    const team = await gateway.createTeam(`team-${++made}`);
    token = team.token;
    return { buckets, team };
  }

  const read = (): Promise<Answer> => gateway.call('GET', RECORDS, { token });
  const write = (name: string, options: CallOptions = {}): Promise<Answer> =>
    gateway.call('POST', RECORDS, {
      token,
      body: { name: `${name}.team-${made}`, type: 'A', records: [{ value: '192.0.2.1' }] },
      ...options,
    });
  const spend = async (count: number): Promise<void> => {
    for (let time = 0; time < count; time += 1) expect((await read()).status).toBe(200);
  };
  const takeOf = async (buckets: Buckets, tokenId: string, limit: number): Promise<Taken> => {
    const [taken] = await buckets.take([{ key: `token:${tokenId}`, rule: perMinute(limit) }]);
    return taken as Taken;
  };
  const untilWaiting = () => waitFor('a write to wait', () => clock.timers() > 0);
  const written = (): string[] =>
    gateway.cloud.admin
      .writes()
      .map(({ name }) => name)
      .filter((name) => name.endsWith(`.team-${made}`));

  describe('a write over the rate of its token', () => {
    it('waits unsent until the bucket has refilled, and is then answered like any other', async () => {
      await start({ perTokenPerMinute: PER_MINUTE });
      await spend(PER_MINUTE);

      const waiting = write('a');
      await untilWaiting();
      clock.pass(GAP_MS - 1);
      expect(written()).toEqual([]);
      clock.pass(1);

      const { status, headers } = await waiting;
      expect([status, headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')]).toEqual([201, '4', '0']);
      expect(clock.timers()).toBe(0);
    });

    it('is served in the order of arrival, and refused immediately if its turn would come too late', async () => {
      await start({ perTokenPerMinute: PER_MINUTE });
      await spend(PER_MINUTE);
      const first = write('first');
      await untilWaiting();
      const remaining = new Set([write('second'), write('third')]);

      // Either of the two may arrive first. The other does not fit into the time that writes may wait.
      const refused = await Promise.race(remaining);
      expect([refused.status, refused.json.error.message]).toEqual([429, expect.stringContaining('with this token')]);
      expect(refused.headers.get('retry-after')).toBe('45');
      clock.pass(GAP_MS);
      expect((await first).status).toBe(201);
      expect(written()).toHaveLength(1);
      clock.pass(GAP_MS);

      const statuses = (await Promise.all(remaining)).map(({ status }) => status);
      expect(statuses.sort()).toEqual([201, 429]);
      expect(written()[0]).toBe(`first.team-${made}`);
    });

    it('costs nothing when its client disconnects, and the next one moves up', async () => {
      const { team } = await start({ perTokenPerMinute: PER_MINUTE });
      await spend(PER_MINUTE);
      const gone = new AbortController();
      const left = fetch(`${gateway.url}${RECORDS}`, {
        method: 'POST',
        signal: gone.signal,
        body: '{}',
        headers: { Authorization: `Bearer ${team.token}`, 'Content-Type': 'application/json' },
      });
      left.catch(() => undefined);
      await untilWaiting();

      gone.abort();
      await waitFor('the write to leave the queue', () => clock.timers() === 0);
      const next = write('next');
      await untilWaiting();
      clock.pass(GAP_MS);

      expect((await next).status).toBe(201);
    });
  });

  describe('a read of one record set over the rate of its token', () => {
    /** Probes the bucket with a request that is refused, which charges nothing. */
    const untilPromised = (count: number, { buckets, team }: Awaited<ReturnType<typeof start>>, limit: number) =>
      waitFor(`${count} requests to have a turn`, async () => {
        const { retryInMs } = await takeOf(buckets, team.tokenId, limit);
        return retryInMs > (count * 60_000) / limit;
      });
    const readOne = (name: string) => gateway.call('GET', `${RECORDS}/${name}.team-${made}/A`, { token });

    it('waits for its turn', async () => {
      await start({ perTokenPerMinute: PER_MINUTE });
      expect((await write('a')).status).toBe(201);
      await spend(PER_MINUTE - 1);

      const waiting = readOne('a');
      await untilWaiting();
      clock.pass(GAP_MS);

      expect(await waiting).toMatchObject({ status: 200, json: { rrset: { id: `a.team-${made}/A` } } });
      expect(clock.timers()).toBe(0);
    });

    it('is refused when sixteen reads of its token wait, so that writes always find a place', async () => {
      const limit = dnsLimits.requestsPerTokenPerMinute;
      const started = await start({ perTokenPerMinute: limit });
      const { buckets, team } = started;
      while ((await takeOf(buckets, team.tokenId, limit)).allowed);

      const answers = Array.from({ length: 17 }, () => readOne('absent'));
      expect((await Promise.race(answers)).status).toBe(429);
      const writing = write('a');
      await untilPromised(17, started, limit);
      clock.pass((17 * 60_000) / limit);

      expect((await writing).status).toBe(201);
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      expect(statuses.filter((status) => status === 404)).toHaveLength(16);
    });
  });
});
