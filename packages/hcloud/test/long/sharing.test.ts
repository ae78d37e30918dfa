import { sharedStore, upstreamBudgetMetrics } from '@corral/admission';
import { createMetrics } from '@corral/service';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startPlace, type TestPlace } from '../../../admission/test/budget/test-stores.js';
import type { HcloudClient, WriteOutcome } from '../../src/index.js';
import { aClient, aWrite } from '../a-client.js';
import { type BucketUpstream, startBucketUpstream } from './bucket-upstream.js';

let place: TestPlace;
beforeAll(async () => {
  place = await startPlace();
});
afterAll(() => place.stop());

let upstream: BucketUpstream;
let closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  closing = [];
  await upstream.close();
});

/** Even on a slow machine, a turn comes within this time. */
const PATIENT_MS = 50_000;

function startReplica(waitMsMax: number): HcloudClient {
  const budgetStore = sharedStore(place.prisma);
  const { client } = aClient({ baseUrl: upstream.baseUrl, budgetStore, waitMsMax, timeoutMs: 30_000 });
  closing.push(() => client.close());
  return client;
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

describe('replicas that share a budget', () => {
  beforeEach(() => place.wipe());

  it('never exceed it together, and use the whole refill', async () => {
    upstream = await startBucketUpstream(180_000, 10);
    const [one, two] = [startReplica(PATIENT_MS), startReplica(PATIENT_MS)];
    await write(one, 'acme');

    const outcomes = await Promise.all([many(one, 'acme', 10), many(two, 'globex', 10), many(two, 'initech', 5)]);

    expect(upstream.refusals()).toBe(0);
    expect(sentIn(outcomes.flat())).toBe(25); // of which ten at the most were there
  });

  it('serve a team at one of them while another team overloads the other', async () => {
    upstream = await startBucketUpstream(36_000, 40);
    const [one, two] = [startReplica(1_500), startReplica(PATIENT_MS)];
    await write(one, 'flood');
    const flood = Array.from({ length: 100 }, () => write(one, 'flood'));

    const outcomes = await many(two, 'acme', 3);

    expect(sentIn(outcomes)).toBe(3);
    expect((await Promise.all(flood)).filter(({ kind }) => kind === 'throttled').length).toBeGreaterThan(30);
    expect(upstream.refusals()).toBe(0);
  });
});

describe('the metrics of the budget', () => {
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

  it('state who waited how long, and who got no turn, by class', async () => {
    const { client, value } = await startMeasured(1);

    const kinds = [];
    for (const method of ['POST', 'POST', 'DELETE'] as const) kinds.push((await client.write(aWrite({ method }))).kind);
    await client.close();

    expect(kinds).toEqual(['accepted', 'throttled', 'throttled']);
    expect(await value('corral_upstream_wait_seconds_count', 'class="write"')).toBe(1);
    expect(await value('corral_upstream_refused_total', 'class="write"')).toBe(1);
    expect(await value('corral_upstream_refused_total', 'class="cleanup"')).toBe(1);
    expect(await value('corral_upstream_waiting_requests', 'class="write"')).toBe(0);
  });
});
