import { memoryBuckets } from '@corral/admission';
import { dnsLimits } from '@corral/contracts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { hurryingClock } from '../support/clocks.js';
import { type Answer, startGateway, type TestGateway, type TestTeam, ZONE } from '../support/start-gateway.js';

describe('a burst', () => {
  /* Terraform with many record sets, under the limits of the specification, with a clock that skips the waiting times. */

  const SETS = 60;
  /** The default of Terraform. */
  const PARALLELISM = 10;
  const RECORDS = `/zones/${ZONE}/rrsets`;

  let base: TestGateway;
  let gateway: TestGateway;
  let team: TestTeam;
  let clock: ReturnType<typeof hurryingClock>;
  let answers: Answer[];
  let made = 0;
  beforeAll(async () => {
    base = await startGateway();
  });
  beforeEach(async () => {
    // The limit is such that reads of actions wait for the end of the action, not for the time to pass.
    clock = hurryingClock(dnsLimits.writeWaitMs);
    gateway = await startGateway({
      beside: base,
      clock,
      buckets: memoryBuckets(clock.now),
      waitMsMax: 600_000,
      config: {
        limits: {
          perAddressPerMinute: dnsLimits.requestsPerAddressPerMinute,
          perTokenPerMinute: dnsLimits.requestsPerTokenPerMinute,
          perTeamPerMinute: dnsLimits.requestsPerTeamPerMinute,
        },
        writeWaitMs: dnsLimits.writeWaitMs,
        readWaitMs: dnsLimits.readWaitMs,
        actionHoldMs: 10 * dnsLimits.writeWaitMs,
      },
    });
    made += 1;
    team = await gateway.createTeam(`burst-${made}`);
    answers = [];
  });
  afterEach(() => gateway.close());
  afterAll(() => base.close());

  const call = async (method: string, path: string, body?: object): Promise<Answer> => {
    const answer = await gateway.call(method, path, { token: team.token, ...(body && { body }) });
    answers.push(answer);
    return answer;
  };
  const refused = (): Answer[] => answers.filter(({ status }) => status === 429);

  /** One resource: the write, the polls of its action as hcloud-go makes them, and a read of the set afterwards. */
  async function apply(name: string, { reads = true } = {}): Promise<void> {
    const body = { name: `${name}.${team.slug}`, type: 'A', records: [{ value: '192.0.2.1' }] };
    const { status, json } = await call('POST', RECORDS, body);
    expect(status).toBe(201);
    for (let ended = false; !ended; ) {
      const polled = await call('GET', `/actions?id=${json.action.id}`);
      ended = polled.json.actions?.[0]?.status === 'success';
      if (polled.status !== 200) break;
    }
    if (reads) await call('GET', `${RECORDS}/${name}.${team.slug}/A`);
  }

  /** Works on as many resources concurrently as Terraform does. */
  async function eachAtOnce(names: readonly string[], work: (name: string) => Promise<void>): Promise<void> {
    const left = [...names];
    const worker = async (): Promise<void> => {
      for (let name = left.shift(); name !== undefined; name = left.shift()) await work(name);
    };
    await Promise.all(Array.from({ length: PARALLELISM }, worker));
  }
  const applyAll = (names: readonly string[], options = {}) => eachAtOnce(names, (name) => apply(name, options));

  const spend = async (count: number): Promise<void> => {
    for (let time = 0; time < count; time += 1) await call('GET', '/zones');
  };
  const names = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}${at}`);

  describe('Terraform with 60 record sets and its own token', () => {
    it('gets no refusal with an unused token', async () => {
      await applyAll(names('s', SETS));

      expect(refused()).toEqual([]);
      const { token } = await gateway.issueToken(team);
      const { json } = await gateway.call('GET', RECORDS, { token });
      expect(json.meta.pagination.total_entries).toBe(SETS);
    });

    it('gets no refusal with an exhausted token: each request is served in turn as the bucket refills', async () => {
      await spend(dnsLimits.requestsPerTokenPerMinute);
      const startedAt = clock.now();

      await applyAll(names('s', SETS));

      expect(refused()).toEqual([]);
      // The limit is two requests per second, and it holds.
      expect(clock.now() - startedAt).toBeGreaterThanOrEqual(
        ((2 * SETS) / dnsLimits.requestsPerTokenPerMinute) * 60_000 - 1,
      );
    });

    it('reads all sets again, ten at a time, without a refusal', async () => {
      await applyAll(names('s', SETS));
      await spend(dnsLimits.requestsPerTokenPerMinute - 2 * SETS);

      await eachAtOnce(names('s', SETS), async (name) => void (await call('GET', `${RECORDS}/${name}.${team.slug}/A`)));

      expect(refused()).toEqual([]);
    });

    it('also leaves turns for a client with the same token that never retries', async () => {
      await spend(dnsLimits.requestsPerTokenPerMinute - 10);
      const challenges = async (): Promise<void> => {
        for (const name of names('acme-challenge', 5)) {
          await apply(name, { reads: false });
          expect((await call('DELETE', `${RECORDS}/${name}.${team.slug}/A`)).status).toBe(201);
        }
      };

      await Promise.all([applyAll(names('s', 15)), challenges()]);

      expect(refused()).toEqual([]);
    });
  });
});
