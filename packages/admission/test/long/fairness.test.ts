import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Arrival,
  type Ended,
  HOUR_MS,
  jainIndex,
  type Outcome,
  type Refused,
  seededRandom,
  simulate,
  type World,
} from '../budget/simulate.js';

const UNTIL_MS = 360_000;
const LIMIT_PER_HOUR = 3_600;
/** What flows back until the end. */
const REFILL = LIMIT_PER_HOUR / 10;
const REPLICAS = [0, 1, 2];
const FLOODER = 'team 0';

/** Requests of a team at random replicas: independent of each other, or evenly from a random time on. */
function steadyArrivals(of: {
  readonly team: string;
  readonly perHour: number;
  readonly untilMs: number;
  readonly replicas: readonly number[];
  readonly seed: number;
  readonly isEven?: boolean;
}): Arrival[] {
  const random = seededRandom(of.seed);
  const arrivals: Arrival[] = [];
  const meanMs = HOUR_MS / of.perHour;
  for (let at = of.isEven === true ? (random() - 1) * meanMs : 0; ; ) {
    at += of.isEven === true ? meanMs : -Math.log(1 - random()) * meanMs;
    if (at >= of.untilMs) return arrivals;
    const replica = of.replicas[Math.floor(random() * of.replicas.length)] as number;
    arrivals.push({ at: Math.round(at), team: of.team, replica });
  }
}

/** The p-th part of the values is at most this. */
function quantile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))] ?? 0;
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

const namesOf = (teams: number): string[] => Array.from({ length: teams }, (_, index) => `team ${index}`);

/** Who is refused comes back at the stated time, but for the overloading team, which sends so many requests anyway. */
function comesBack(ended: Ended | Refused): Arrival | null {
  if (!('retryMs' in ended) || ended.arrival.team === FLOODER) return null;
  return { ...ended.arrival, at: Math.round(ended.at) + Math.max(1, Math.ceil(ended.retryMs / 1_000)) * 1_000 };
}

interface Played {
  readonly teams: number;
  /** In multiples of their equal shares. */
  readonly load: number;
  readonly flood: number | null;
  readonly remaining: number;
}

/** Six minutes of so many teams on three replicas. The overloading team, if any, sends all its requests to one of them. */
function play({ teams, load, flood, remaining }: Played): Promise<Outcome> {
  const untilMs = UNTIL_MS;
  const arrivals = namesOf(teams).flatMap((team, index) => {
    const isFlood = team === FLOODER && flood !== null;
    const perHour = (LIMIT_PER_HOUR / teams) * (isFlood ? flood : load);
    const seed = 1_000 + index;
    const replicas = isFlood ? [0] : REPLICAS;
    return steadyArrivals({ team, perHour, untilMs, replicas, seed, isEven: load > 1 });
  });
  const world = { replicas: REPLICAS.length, limitPerHour: LIMIT_PER_HOUR, patienceMs: 8_000, untilMs };
  return simulate({ ...world, arrivals, remaining, next: comesBack });
}

const of = (ended: readonly Ended[], team: string): Ended[] => ended.filter(({ arrival }) => arrival.team === team);
const waitsOfOthers = ({ served }: Outcome): number[] =>
  served.filter(({ arrival }) => arrival.team !== FLOODER).map(({ waitMs }) => waitMs);
/** Calls that are left at first: a few minutes' worth. */
const ENOUGH = 1_000;

describe('a team that asks for all that there is, while all others want half of their shares', () => {
  let flooded: Outcome;
  beforeAll(async () => {
    flooded = await play({ teams: 50, load: 0.5, flood: 330, remaining: ENOUGH });
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
    expect(flooded.served.length).toBeGreaterThanOrEqual(0.98 * (ENOUGH + REFILL));
  });

  it('does not make us exceed the upstream’s budget', () => {
    expect(flooded.upstream429).toBe(0);
  });
});

const aWorld = { limitPerHour: LIMIT_PER_HOUR, replicas: REPLICAS.length, patienceMs: 8_000 };
/** How far a record set's action is looked up, for all who wait together. */
const POLL_EVERY_MS = 10_000;

/** hcloud-go's own: five more tries, after 1, 2, 4, 8 and 16 s less jitter. It does not read `Retry-After`. */
const TRIES = 6;
const backOffMs = (tries: number, random: number): number => 1_000 + random * (2 ** (tries - 1) - 1) * 1_000;

/** Sets at Terraform's parallelism: created, changed twice in TTL, records and labels, and destroyed. */
async function applied(of: { sets: number; remaining: number; beside: readonly Arrival[]; untilMs: number }) {
  const random = seededRandom(7);
  const calls = [...phase(of.sets, 1), ...phase(of.sets, 3), ...phase(of.sets, 3), ...phase(of.sets, 1, 'cleanup')];
  const triesOf = new Map<Arrival, number>();
  let failed = 0;
  const start = (at: number): Arrival | null => {
    const call = calls.shift();
    return call === undefined ? null : { at, team: 'acme', replica: Math.floor(random() * 3), class: call };
  };
  const next = (ended: Ended | Refused): Arrival | null => {
    if (ended.arrival.team !== 'acme') return null;
    if (!('retryMs' in ended)) return start(Math.ceil(ended.at + 150));
    const tries = (triesOf.get(ended.arrival) ?? 1) + 1;
    if (tries > TRIES) failed += 1;
    if (tries > TRIES) return start(Math.ceil(ended.at + 150));
    const again = { ...ended.arrival, at: Math.ceil(ended.at + backOffMs(tries - 1, random())) };
    triesOf.set(again, tries);
    return again;
  };
  const polls = Array.from({ length: of.untilMs / POLL_EVERY_MS }, (_, index) => ({
    at: index * POLL_EVERY_MS,
    team: 'any',
    replica: 1,
    class: 'poll' as const,
  }));
  const workers = Array.from({ length: 10 }, () => start(0) as Arrival);
  const arrivals = [...workers, ...polls, ...of.beside];
  const outcome = await simulate({ ...aWorld, remaining: of.remaining, untilMs: of.untilMs, arrivals, next });
  return { outcome, failed, left: calls.length };
}

function phase(sets: number, each: number, callClass: 'write' | 'cleanup' = 'write'): ('write' | 'cleanup')[] {
  return Array.from({ length: sets * each }, () => callClass);
}

/** Nine teams that wrote a little before, and write now and then. */
const quiet = (untilMs: number): Arrival[] =>
  Array.from({ length: 9 }, (_, index) => {
    const team = `quiet ${index}`;
    const before = Array.from({ length: 20 }, () => ({ at: 0, team, replica: index % 3 }));
    return [...before, ...steadyArrivals({ team, perHour: 6, untilMs, replicas: REPLICAS, seed: 100 + index })];
  }).flat();

const countOf = ({ served }: Outcome, team: string, fromMs = 0): number =>
  served.filter(({ arrival, at }) => arrival.team === team && at >= fromMs).length;

const every = (ms: number, fromMs: number, untilMs: number, arrival: Omit<Arrival, 'at'>): Arrival[] =>
  Array.from({ length: Math.floor((untilMs - fromMs) / ms) }, (_, index) => ({ ...arrival, at: fromMs + index * ms }));

describe('200 record sets that Terraform creates, changes twice and destroys', () => {
  it.each([
    ['alone', () => []],
    ['beside nine quiet teams', quiet],
  ])('are all written %s', async (_what, beside) => {
    const untilMs = HOUR_MS / 2;

    const { outcome, failed, left } = await applied({
      sets: 200,
      remaining: LIMIT_PER_HOUR,
      beside: beside(untilMs),
      untilMs,
    });

    expect([failed, left]).toEqual([0, 0]);
    expect(outcome.refused).toEqual([]);
    expect(outcome.upstream429).toBe(0);
  });
});

describe('a team that is alone', () => {
  const untilMs = 240_000;
  const alone = (of: Partial<World>, beside: readonly Arrival[] = []): Promise<Outcome> =>
    simulate({
      ...aWorld,
      ...of,
      untilMs,
      arrivals: [...every(250, 0, untilMs, { team: 'acme', replica: 0 }), ...beside],
    });

  it('gets everything but the reserves as fast as it asks, and then the whole refill', async () => {
    const outcome = await alone({ limitPerHour: 360 });

    expect(outcome.refused.every(({ at }) => at > 60_000)).toBe(true);
    expect(countOf(outcome, 'acme')).toBeGreaterThanOrEqual(0.95 * (0.9 * 360 + untilMs / 10_000));
    expect(outcome.upstream429).toBe(0);
  });

  it('makes the team that comes next wait for the next call or two, not for what it had before', async () => {
    const arrivals = every(2_500, 120_000, 180_000, { team: 'globex', replica: 1 });

    const { served } = await alone({ remaining: 200 }, arrivals);
    const waits = served.flatMap(({ arrival, waitMs }) => (arrival.team === 'globex' ? [waitMs] : []));

    expect(waits).toHaveLength(arrivals.length);
    expect(Math.max(...waits)).toBeLessThan(3_000);
  });

  it('shares fairly with those that wait from then on, whatever it had before', async () => {
    const comeAt = 90_000;
    const others = ['globex', 'initech', 'umbrella', 'hooli'];
    const beside = others.flatMap((team, index) => every(500, comeAt, untilMs, { team, replica: index % 3 }));

    const outcome = await alone({ remaining: 200 }, beside);

    const shares = ['acme', ...others].map((team) => countOf(outcome, team, comeAt));
    expect(jainIndex(shares)).toBeGreaterThanOrEqual(0.98);
    expect(shares.reduce((sum, share) => sum + share)).toBeGreaterThanOrEqual((0.95 * (untilMs - comeAt)) / 1_000);
  });
});
