import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Ended, jainIndex, type Outcome, simulate } from './simulate.js';
import { HOUR_MS, mean, quantile, steadyArrivals } from './worlds.js';

const TEAMS = 200;
const LIMIT_PER_HOUR = 3_600;
const SHARE_PER_HOUR = LIMIT_PER_HOUR / TEAMS;
const REPLICAS = [0, 1, 2];
const FLOODER = 'team 0';

const teams = Array.from({ length: TEAMS }, (_, index) => `team ${index}`);
const others = teams.filter((team) => team !== FLOODER);

/** An hour of 200 teams on three replicas. The overloading team, if any, sends all its requests to one of them. */
function anHour({ load, flood, remaining }: { load: number; flood: number | null; remaining: number }): Outcome {
  const arrivals = teams.flatMap((team, index) => {
    const isFlood = team === FLOODER && flood !== null;
    const perHour = SHARE_PER_HOUR * (isFlood ? flood : load);
    return steadyArrivals({ team, perHour, untilMs: HOUR_MS, replicas: isFlood ? [0] : REPLICAS, seed: 1_000 + index });
  });
  const world = { replicas: REPLICAS.length, limitPerHour: LIMIT_PER_HOUR, patienceMs: 8_000, untilMs: HOUR_MS };
  return simulate({ ...world, arrivals, remaining });
}

const of = (ended: readonly Ended[], team: string): Ended[] => ended.filter(({ arrival }) => arrival.team === team);
const waitsOfOthers = ({ served }: Outcome): number[] =>
  served.filter(({ arrival }) => arrival.team !== FLOODER).map(({ waitMs }) => waitMs);
const worstWaitOf = ({ served }: Outcome, team: string): number =>
  quantile(
    of(served, team).map(({ waitMs }) => waitMs),
    1,
  );

/** Two round trips to the shared account: the wait of a request that is served immediately. */
const ASKING_MS = 4;
/** A waiting request gets its turn with the next report, which comes within this time. Most wait less. */
const REPORT_MS = 250;

describe('a team that sends 100 times its share, while all others send their share', () => {
  let calm: Outcome;
  let flooded: Outcome;
  beforeAll(() => {
    calm = anHour({ load: 1, flood: null, remaining: LIMIT_PER_HOUR });
    flooded = anHour({ load: 1, flood: 100, remaining: LIMIT_PER_HOUR });
  });

  it('makes no other team wait longer than 1.5 times the usual wait', () => {
    const slower = others.filter((team) => worstWaitOf(flooded, team) > 1.5 * worstWaitOf(calm, team) + ASKING_MS);

    expect(slower).toEqual([]);
  });

  it('causes no refusal for another team', () => {
    expect(flooded.refused.filter(({ arrival }) => arrival.team !== FLOODER)).toEqual([]);
    expect(of(flooded.refused, FLOODER).length).toBeGreaterThan(1_000);
  });

  it('gets all that the others do not use: no refill is lost', () => {
    const secondHalf = flooded.served.filter(({ at }) => at > HOUR_MS / 2);

    expect(secondHalf.length).toBeGreaterThanOrEqual(0.95 * (LIMIT_PER_HOUR / 2));
  });

  it('does not make us exceed the upstream’s budget', () => {
    expect([calm.upstream429, flooded.upstream429]).toEqual([0, 0]);
  });
});

describe('a team that sends 100 times its share, while the budget is too small for the others', () => {
  let calm: Outcome;
  let flooded: Outcome;
  beforeAll(() => {
    calm = anHour({ load: 1.5, flood: null, remaining: 400 });
    flooded = anHour({ load: 1.5, flood: 100, remaining: 400 });
  });

  it('gets as many calls as every other team', () => {
    const served = teams.map((team) => of(flooded.served, team).length);

    expect(jainIndex(served)).toBeGreaterThanOrEqual(0.98);
  });

  it('makes the others wait no longer than 1.5 times the usual wait', () => {
    const [before, after] = [waitsOfOthers(calm), waitsOfOthers(flooded)];

    expect(mean(after)).toBeLessThanOrEqual(1.5 * mean(before));
    for (const p of [0.5, 0.9, 0.99, 1]) {
      expect(quantile(after, p)).toBeLessThanOrEqual(1.5 * quantile(before, p) + REPORT_MS);
    }
  });

  it('leaves no part of the budget unused', () => {
    expect(flooded.served.length).toBeGreaterThanOrEqual(0.95 * LIMIT_PER_HOUR);
  });

  it('does not make us exceed the upstream’s budget', () => {
    expect([calm.upstream429, flooded.upstream429]).toEqual([0, 0]);
  });

  it('gets a later retry time the more calls it has made', () => {
    const retries = (refused: Outcome['refused']): number[] => refused.map(({ retryMs }) => retryMs);
    const ofFlooder = retries(flooded.refused.filter(({ arrival }) => arrival.team === FLOODER));
    const ofOthers = retries(flooded.refused.filter(({ arrival }) => arrival.team !== FLOODER));

    expect(mean(ofFlooder)).toBeGreaterThan(mean(ofOthers));
  });
});
