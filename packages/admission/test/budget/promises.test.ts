import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CallClass } from '../../src/budget/account.js';
import { promisesPerFlow } from '../../src/budget/promises.js';
import {
  type Arrival,
  type Ended,
  jainIndex,
  type Outcome,
  type Refused,
  seededRandom,
  simulate,
  type World,
} from './simulate.js';
import { HOUR_MS } from './worlds.js';

const REPLICAS = 3;
const PATIENCE_MS = 8_000;
const FLOOD = 'flood';
/** Runs of a property. Each takes a quarter of a second. `CORRAL_TEST_LONG=1 npm test -- admission promises` makes many. */
const runs = (count: number): number => (process.env.CORRAL_TEST_LONG === undefined ? count : 20 * count);

/** A refused team returns at its promised time, in whole seconds, and slightly late. */
function comesBack(random: () => number, lateMsMax: number): NonNullable<World['next']> {
  return (ended) => {
    if (!('retryMs' in ended) || !ended.arrival.team.startsWith('team')) return null;
    const promisedMs = Math.max(1, Math.ceil(ended.retryMs / 1_000)) * 1_000;
    const at = Math.round(ended.at + promisedMs + random() * lateMsMax);
    const promisedFor = ended.at + ended.retryMs;
    return { ...ended.arrival, at, promisedFor, replica: Math.floor(random() * REPLICAS) };
  };
}

const isBack = ({ arrival }: Ended): boolean => arrival.promisedFor !== undefined;
const broken = ({ refused }: Outcome): Refused[] => refused.filter(isBack);

/** Teams that send one request at a time, at their own rate if it is granted, beside other requests. */
function askingWorld(of: {
  readonly everyMs: readonly number[];
  readonly beside: readonly Arrival[];
  readonly limitPerHour: number;
  readonly remaining: number;
  readonly untilMs: number;
  readonly seed: number;
}): World {
  const random = seededRandom(of.seed);
  const { everyMs, beside, ...rest } = of;
  const paceOf = new Map(everyMs.map((ms, index) => [`team ${index}`, ms]));
  const askedAt = new Map<string, number>();
  const back = comesBack(random, 2_000);
  const next = (ended: Ended | Refused): Arrival | null => {
    const { team } = ended.arrival;
    const pace = paceOf.get(team);
    if (pace === undefined || 'retryMs' in ended) return back(ended);
    const at = Math.ceil(Math.max(ended.at, (askedAt.get(team) ?? 0) + pace));
    askedAt.set(team, at);
    return at > of.untilMs ? null : { at, team, replica: Math.floor(random() * REPLICAS) };
  };
  const first = [...paceOf].map(([team, ms], index) => {
    const at = Math.round(random() * ms);
    askedAt.set(team, at);
    return { at, team, replica: index % REPLICAS };
  });
  return { ...rest, arrivals: [...first, ...beside], replicas: REPLICAS, patienceMs: PATIENCE_MS, next };
}

function every(ms: number, untilMs: number, arrival: Omit<Arrival, 'at'>): Arrival[] {
  return Array.from({ length: Math.floor(untilMs / ms) }, (_, index) => ({ ...arrival, at: Math.round(index * ms) }));
}

const anArrival = (untilMs: number): fc.Arbitrary<Arrival> =>
  fc.record({
    at: fc.integer({ min: 0, max: untilMs }),
    team: fc.constantFrom(FLOOD, 'rush', ...Array.from({ length: 20 }, (_, index) => `once ${index}`)),
    replica: fc.integer({ min: 0, max: REPLICAS - 1 }),
    class: fc.constantFrom<CallClass>('write', 'write', 'write', 'cleanup', 'poll', 'settle', 'recheck', 'sync'),
  });

describe('a team that returns at its promised time', () => {
  const untilMs = 240_000;
  const worldOf = (...limits: readonly number[]) =>
    fc.record({
      everyMs: fc.array(fc.integer({ min: 500, max: 60_000 }), { minLength: 1, maxLength: 25, size: 'max' }),
      beside: fc.array(anArrival(untilMs), { maxLength: 400, size: 'max' }),
      limitPerHour: fc.constantFrom(...limits),
      remaining: fc.integer({ min: 30, max: 120 }),
      untilMs: fc.constant(untilMs),
      seed: fc.nat(),
    });
  const world = worldOf(360, 3_600, 36_000);

  it('has its turn at any replica, regardless of other teams', async () => {
    await fc.assert(
      fc.asyncProperty(world, async (of) => {
        const outcome = await simulate(askingWorld(of));

        expect(broken(outcome).map(({ arrival, at }) => ({ ...arrival, refusedAt: at }))).toEqual([]);
        expect(outcome.upstream429).toBe(0);
      }),
      { numRuns: runs(15), endOnFailure: true },
    );
  });

  it('has a turn for each promised time when several of its requests are refused together', async () => {
    const burst = fc.record({
      at: fc.integer({ min: 5_000, max: untilMs / 2 }),
      replica: fc.integer({ min: 0, max: REPLICAS - 1 }),
      count: fc.integer({ min: 2, max: promisesPerFlow }),
    });
    await fc.assert(
      fc.asyncProperty(world, fc.array(burst, { minLength: 1, maxLength: 5 }), async (of, bursts) => {
        const many = bursts.flatMap(({ count, ...of }, index) =>
          Array.from({ length: count }, () => ({ ...of, team: `team with many ${index}` })),
        );

        const outcome = await simulate(askingWorld({ ...of, beside: [...of.beside, ...many] }));

        const turnOf = ({ arrival }: Ended): string => `${arrival.team} ${arrival.promisedFor}`;
        const had = new Set(outcome.served.filter(isBack).map(turnOf));
        expect(broken(outcome).filter((ended) => !had.has(turnOf(ended)))).toEqual([]);
      }),
      { numRuns: runs(8), endOnFailure: true },
    );
  });

  it('gets a valid promise each time during an overload', async () => {
    const flood = every(200, untilMs, { team: FLOOD, replica: 0 });
    const everyMs = Array.from({ length: 30 }, () => 10_000);
    const of = { everyMs, beside: flood, limitPerHour: 3_600, remaining: 60, untilMs, seed: 3 };

    const outcome = await simulate(askingWorld(of));

    expect(outcome.served.filter(isBack).length).toBeGreaterThan(100);
    expect(broken(outcome)).toEqual([]);
  });

  it('has its turn even if the account was lost, because the replicas know their promises', async () => {
    // What others have called for since the last report is unknown to the one that reopens it. At one call in ten seconds
    // no request waits for that long.
    const quick = worldOf(3_600, 36_000);
    await fc.assert(
      fc.asyncProperty(
        quick,
        fc.array(fc.integer({ min: 30_000, max: untilMs }), { maxLength: 3 }),
        async (of, losses) => {
          const outcome = await simulate({ ...askingWorld(of), losses });

          expect(broken(outcome).map(({ arrival, at }) => ({ ...arrival, refusedAt: at }))).toEqual([]);
        },
      ),
      { numRuns: runs(8), endOnFailure: true },
    );
  });
});

describe.each([
  ['one team', 1, 15],
  ['ten teams', 10, 5],
])('%s that always ask for more than is available', (_what, teams, minutes) => {
  it('use all that is granted: nothing is kept for teams that do not return', async () => {
    const untilMs = minutes * 60_000;
    const [limitPerHour, remaining] = [3_600, 30];
    const arrivals = Array.from({ length: teams }, (_, index) =>
      every(400, untilMs, { team: `flood ${index}`, replica: index % REPLICAS }),
    ).flat();

    const world = { arrivals, limitPerHour, remaining, untilMs, replicas: REPLICAS, patienceMs: PATIENCE_MS };
    const { served, upstream429 } = await simulate(world);

    expect(served.length).toBeGreaterThanOrEqual(0.95 * (remaining + (limitPerHour * untilMs) / HOUR_MS));
    expect(upstream429).toBe(0);
  });
});

describe('fifty teams that all want 1.5 times the available calls, one of them 100 times', () => {
  const TEAMS = 50;
  const LIMIT_PER_HOUR = 3_600;
  const UNTIL_MS = HOUR_MS / 4;
  const LEFT = 400;
  const shareMs = (TEAMS * HOUR_MS) / LIMIT_PER_HOUR;
  const scarcity = (): Promise<Outcome> => {
    const flood = every(shareMs / 100, UNTIL_MS, { team: FLOOD, replica: 0 });
    const polls = every(10_000, UNTIL_MS, { team: 'any', replica: 1, class: 'poll' });
    const everyMs = Array.from({ length: TEAMS - 1 }, () => shareMs / 1.5);
    const of = { limitPerHour: LIMIT_PER_HOUR, remaining: LEFT, untilMs: UNTIL_MS, seed: 11 };
    return simulate(askingWorld({ ...of, everyMs, beside: [...flood, ...polls] }));
  };

  it('use all that is granted, evenly, and each returns once', async () => {
    const outcome = await scarcity();

    const counts = new Map<string, number>();
    for (const { arrival } of outcome.served) counts.set(arrival.team, (counts.get(arrival.team) ?? 0) + 1);
    const alike = [...counts].flatMap(([team, count]) => (team.startsWith('team') ? [count] : []));
    expect(alike).toHaveLength(TEAMS - 1);
    expect(jainIndex(alike)).toBeGreaterThanOrEqual(0.98);
    const flood = outcome.served.filter(({ arrival, at }) => arrival.team === FLOOD && at > UNTIL_MS / 2).length;
    expect(flood).toBeLessThanOrEqual(2 * (UNTIL_MS / 2 / 1_000 / TEAMS));
    expect(outcome.served.length).toBeGreaterThanOrEqual(0.95 * (LEFT + LIMIT_PER_HOUR / 4));
    expect(outcome.served.filter(isBack).length).toBeGreaterThan(200);
    expect(broken(outcome)).toEqual([]);
    expect(outcome.upstream429).toBe(0);
  });
});
