import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Arrival, type Ended, jainIndex, type Outcome, type Refused, simulate } from './simulate.js';
import { mean, quantile, steadyArrivals } from './worlds.js';

const TEAMS = 50;
const UNTIL_MS = 1_200_000;
const LIMIT_PER_HOUR = 3_600;
/** What flows back until the end. */
const REFILL = LIMIT_PER_HOUR / 3;
/** Of the calls that were left at first, for what is not of teams. */
const RESERVES = 0.1 * LIMIT_PER_HOUR;
const SHARE_PER_HOUR = LIMIT_PER_HOUR / TEAMS;
const REPLICAS = [0, 1, 2];
/** By then it is as it stays: who asks for more than there is waits. */
const WAITING_FROM_MS = 300_000;
const FLOODER = 'team 0';

const teams = Array.from({ length: TEAMS }, (_, index) => `team ${index}`);

/** Who is refused comes back at the stated time, but for the overloading team, which sends so many requests anyway. */
function comesBack(ended: Ended | Refused): Arrival | null {
  if (!('retryMs' in ended) || ended.arrival.team === FLOODER) return null;
  return { ...ended.arrival, at: Math.round(ended.at) + Math.max(1, Math.ceil(ended.retryMs / 1_000)) * 1_000 };
}

/** Twenty minutes of fifty teams on three replicas. The overloading team, if any, sends all its requests to one of them. */
function play({ load, flood, remaining }: { load: number; flood: number | null; remaining: number }): Promise<Outcome> {
  const untilMs = UNTIL_MS;
  const arrivals = teams.flatMap((team, index) => {
    const isFlood = team === FLOODER && flood !== null;
    const perHour = SHARE_PER_HOUR * (isFlood ? flood : load);
    const seed = 1_000 + index;
    const replicas = isFlood ? [0] : REPLICAS;
    return steadyArrivals({ team, perHour, untilMs, replicas, seed, isEven: load > 1 });
  });
  const world = { replicas: REPLICAS.length, limitPerHour: LIMIT_PER_HOUR, patienceMs: 8_000, untilMs };
  return simulate({ ...world, arrivals, remaining, next: comesBack });
}

const of = (ended: readonly Ended[], team: string): Ended[] => ended.filter(({ arrival }) => arrival.team === team);
const waitsOfOthers = ({ served }: Outcome, since = 0): number[] =>
  served.filter(({ arrival, at }) => arrival.team !== FLOODER && at >= since).map(({ waitMs }) => waitMs);
/** Calls that are left at first: hardly more than none. */
const LEFT = 20;
/** A waiting request gets its turn with the next report, which comes within this time. Most wait less. */
const REPORT_MS = 250;

describe('a team that asks for all that there is, while all others want half of their shares', () => {
  let flooded: Outcome;
  beforeAll(async () => {
    flooded = await play({ load: 0.5, flood: 300, remaining: LIMIT_PER_HOUR });
  });

  it('makes the others wait for the next call or two', () => {
    const waits = waitsOfOthers(flooded);

    expect(mean(waits)).toBeLessThanOrEqual(1_000);
    expect(quantile(waits, 0.99)).toBeLessThanOrEqual(4_000);
  });

  it('causes hardly a refusal for another team', () => {
    const others = flooded.refused.filter(({ arrival }) => arrival.team !== FLOODER);

    expect(others.length).toBeLessThanOrEqual((0.002 * flooded.served.length) / 2);
    expect(of(flooded.refused, FLOODER).length).toBeGreaterThan(1_000);
  });

  it('gets all that the others do not use: no refill is lost, and nothing but the reserves is left', () => {
    expect(flooded.served.length).toBeGreaterThanOrEqual(LIMIT_PER_HOUR + REFILL - RESERVES);
  });

  it('does not make us exceed the upstream’s budget', () => {
    expect(flooded.upstream429).toBe(0);
  });
});

describe('a team that sends 100 times its share, while the budget is too small for the others', () => {
  let calm: Outcome;
  let flooded: Outcome;
  beforeAll(async () => {
    calm = await play({ load: 1.5, flood: null, remaining: LEFT });
  });
  beforeAll(async () => {
    flooded = await play({ load: 1.5, flood: 100, remaining: LEFT });
  });

  it('gets hardly more calls than the others from the time on that they wait', () => {
    const sinceThen = flooded.served.filter(({ at }) => at > WAITING_FROM_MS);
    const served = teams.map((team) => of(sinceThen, team).length);

    // It always waits, so it also gets the calls of moments in which nobody else does.
    expect(of(sinceThen, FLOODER).length).toBeLessThanOrEqual(3 * mean(served));
    expect(jainIndex(served)).toBeGreaterThanOrEqual(0.94);
  });

  it('makes the others wait no longer than 1.5 times the usual wait', () => {
    const [before, after] = [calm, flooded].map((outcome) => waitsOfOthers(outcome, WAITING_FROM_MS)) as [
      number[],
      number[],
    ];

    expect(mean(after)).toBeLessThanOrEqual(1.5 * mean(before));
    for (const p of [0.5, 0.9, 0.99, 1]) {
      expect(quantile(after, p)).toBeLessThanOrEqual(1.5 * quantile(before, p) + REPORT_MS);
    }
  });

  it('leaves no part of the budget unused', () => {
    expect(flooded.served.length).toBeGreaterThanOrEqual(0.95 * REFILL);
  });

  it('does not make us exceed the upstream’s budget', () => {
    expect([calm.upstream429, flooded.upstream429]).toEqual([0, 0]);
  });
});
