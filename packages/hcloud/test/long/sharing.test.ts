import { type BudgetStore, connectBudgetStore, type FlowReading, upstreamBudgetMetrics } from '@corral/admission';
import { createMetrics } from '@corral/service';
import { describeNeeding, missingRedis, redisForTests, type TestRedis, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { postgresPlace, redisPlace, type TestPlace } from '../../../admission/test/budget/test-stores.js';
import type { HcloudClient, WriteOutcome } from '../../src/index.js';
import { aClient, aWrite } from '../a-client.js';
import { type BucketUpstream, startBucketUpstream } from './bucket-upstream.js';

const places: [string, TestPlace | null][] = [
  ['Postgres', await postgresPlace()],
  ['Redis', await redisPlace()],
];
afterAll(async () => {
  for (const [, place] of places) await place?.stop();
});

let upstream: BucketUpstream;
let closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  closing = [];
  await upstream.close();
});

interface Replica extends HcloudClient {
  readonly logged: string[];
  /** From now on the store fails, or never answers, or works again. */
  switchStore(to: 'away' | 'hanging' | 'there'): void;
  /** Changes of the shared account so far. */
  updates(): number;
}

/** Even on a slow machine, a turn comes within this time. */
const PATIENT_MS = 50_000;

async function startReplica(place: TestPlace, waitMsMax = 5_000): Promise<Replica> {
  const real = await place.connect();
  let state: 'away' | 'hanging' | 'there' = 'there';
  let updates = 0;
  const store: BudgetStore = {
    ...real,
    update(project, change) {
      if (state === 'away') return Promise.reject(new Error('away'));
      if (state === 'hanging') return new Promise(() => undefined);
      updates += 1;
      return real.update(project, change);
    },
  };
  const switchStore = (to: typeof state): void => {
    state = to;
  };
  const { client, logged } = aClient({ baseUrl: upstream.baseUrl, budgetStore: store, waitMsMax, timeoutMs: 30_000 });
  closing.push(async () => {
    switchStore('away');
    await client.close();
    await real.close();
  });
  return { ...client, logged, updates: () => updates, switchStore };
}

let sets = 0;
const write = (at: HcloudClient, team: string): Promise<WriteOutcome> => {
  sets += 1;
  return at.write(
    aWrite({ team, segments: ['zones', '7001', 'rrsets', `n${sets}.${team}`, 'A', 'actions', 'set_records'] }),
  );
};
const many = (at: HcloudClient, team: string, count: number): Promise<WriteOutcome[]> =>
  Promise.all(Array.from({ length: count }, () => write(at, team)));
const sentIn = (outcomes: readonly WriteOutcome[]): number => outcomes.filter(({ kind }) => kind === 'accepted').length;

/** Who waits, is ahead or has a promise, in the only account of a store. */
const flowsIn = async (store: BudgetStore): Promise<readonly FlowReading[]> => {
  const [reading] = Object.values(await store.readAll());
  return reading?.flows ?? [];
};

for (const [name, place] of places) {
  describeNeeding(describe, place === null ? missingRedis() : null, `replicas that share a budget on ${name}`, () => {
    const at = place as TestPlace;
    beforeEach(async () => {
      await at.wipe();
    });

    it('never exceed it together, and use the whole refill', async () => {
      upstream = await startBucketUpstream(180_000, 10);
      const [one, two] = [await startReplica(at, PATIENT_MS), await startReplica(at, PATIENT_MS)];
      await write(one, 'acme');

      const outcomes = await Promise.all([many(one, 'acme', 10), many(two, 'globex', 10), many(two, 'initech', 5)]);

      expect(upstream.refusals()).toBe(0);
      expect(sentIn(outcomes.flat())).toBe(25); // of which ten at the most were there
    });

    it('serve a team at one of them while another team overloads the other', async () => {
      upstream = await startBucketUpstream(36_000, 40);
      const [one, two] = [await startReplica(at, 1_500), await startReplica(at, PATIENT_MS)];
      await write(one, 'flood');
      const flood = Array.from({ length: 100 }, () => write(one, 'flood'));

      const outcomes = await many(two, 'acme', 3);

      expect(sentIn(outcomes)).toBe(3);
      expect((await Promise.all(flood)).filter(({ kind }) => kind === 'throttled').length).toBeGreaterThan(30);
      expect(upstream.refusals()).toBe(0);
    });

    it('use the store once for many requests that come together', async () => {
      upstream = await startBucketUpstream(360_000);
      const replica = await startReplica(at);
      await many(replica, 'acme', 10);
      const before = replica.updates();
      const begunAt = performance.now();

      for (let time = 0; time < 10; time += 1) await many(replica, `team ${time % 7}`, 50);

      expect(upstream.calls).toHaveLength(510);
      // However long it takes, it reports once a second.
      const seconds = (performance.now() - begunAt) / 1_000;
      expect(replica.updates() - before).toBeLessThanOrEqual(30 + seconds);
    });

    it('open a new account when it is lost, without exceeding the budget', async () => {
      upstream = await startBucketUpstream(180_000, 40);
      const [one, two] = [await startReplica(at, PATIENT_MS), await startReplica(at, PATIENT_MS)];
      await Promise.all([many(one, 'acme', 5), many(two, 'globex', 5)]);

      await at.wipe();
      const outcomes = await Promise.all([many(one, 'acme', 20), many(two, 'globex', 20)]);

      expect(sentIn(outcomes.flat())).toBe(40);
      expect(upstream.refusals()).toBe(0);
    });

    it('keep a promised turn after the replica that promised it ends and the others restart', async () => {
      upstream = await startBucketUpstream(18_000, 40);
      const one = await startReplica(at, 50);
      const outcomes = await many(one, 'acme', 60);
      const [refused] = outcomes.filter((outcome) => outcome.kind === 'throttled');
      const waiting = many(one, 'globex', 60); // refused by its end, if not before
      await one.close();
      expect(sentIn(await waiting)).toBeLessThan(60);

      const store = await at.connect();
      closing.push(() => store.close());
      const flows = await flowsIn(store);

      expect(refused).toMatchObject({ usedUp: 'budget' });
      for (const team of ['acme', 'globex']) {
        expect(flows.find(({ flow }) => flow === team)?.promisedAt.length).toBeGreaterThan(0);
      }
      const two = await startReplica(at, PATIENT_MS);
      expect((await write(two, 'acme')).kind).toBe('accepted');
    });

    it('show the budget and the waiting teams to readers of the store', async () => {
      upstream = await startBucketUpstream(3_600, 5);
      const replica = await startReplica(at, PATIENT_MS);
      await write(replica, 'acme');
      void many(replica, 'acme', 10); // some wait until the replica is closed
      const store = await at.connect();
      closing.push(() => store.close());

      await waitFor('the report of the budget', async () => {
        const [reading] = Object.values(await store.readAll());
        return reading?.limit === 3_600 && (reading.remaining ?? 9) <= 5 && reading.waiting.write > 0;
      });
      await waitFor('the replica to know the limit', () => replica.budget().limit === 3_600);
      expect(replica.budget().resetAt).toEqual(expect.any(Date));
    });
  });
}

describeNeeding(describe, missingRedis(), 'without a running Redis', () => {
  it('every team can write', async () => {
    const server = (await redisForTests()) as TestRedis;
    upstream = await startBucketUpstream(3_600);
    const database = { query: () => Promise.reject(new Error('unused')) };
    await server.stop();
    const store = connectBudgetStore({ redisUrl: server.url, database, onError: () => undefined });
    const { client } = aClient({ baseUrl: upstream.baseUrl, budgetStore: store });
    closing.push(async () => {
      await client.close();
      await store.close();
    });

    expect((await write(client, 'acme')).kind).toBe('accepted');
  });
});

describe('metrics', () => {
  /** A client of an upstream with so many calls left, and what its metrics say. */
  async function startMeasured(remaining: number) {
    upstream = await startBucketUpstream(360, remaining);
    const metrics = createMetrics({ service: 'test' });
    const { client } = aClient({
      baseUrl: upstream.baseUrl,
      onTurn: upstreamBudgetMetrics(metrics, () => client.budget()),
    });
    const value = async (name: string, suffix = ''): Promise<number | undefined> => {
      const text = await metrics.registry.metrics();
      const line = text.split('\n').find((each) => each.startsWith(`${name}{`) && each.includes(suffix));
      return line === undefined ? undefined : Number(line.split(' ').at(-1));
    };
    return { client, value };
  }

  describe('the metrics of the budget', () => {
    it('state the limit and the remaining budget only after the upstream has stated them', async () => {
      const { client, value } = await startMeasured(200);
      expect(await value('corral_upstream_budget_left_requests')).toBeUndefined();

      await client.write(aWrite());
      await client.close();

      expect(await value('corral_upstream_budget_limit_requests')).toBe(360);
      expect(await value('corral_upstream_budget_left_requests')).toBe(199);
    });

    it('state who waited how long, and who got no turn, by class', async () => {
      const { client, value } = await startMeasured(1);

      const kinds = [];
      for (const method of ['POST', 'POST', 'DELETE'] as const)
        kinds.push((await client.write(aWrite({ method }))).kind);
      await client.close();

      expect(kinds).toEqual(['accepted', 'throttled', 'throttled']);
      expect(await value('corral_upstream_wait_seconds_count', 'class="write"')).toBe(1);
      expect(await value('corral_upstream_refused_total', 'class="write"')).toBe(1);
      expect(await value('corral_upstream_refused_total', 'class="cleanup"')).toBe(1);
      expect(await value('corral_upstream_waiting_requests', 'class="write"')).toBe(0);
    });
  });
});
