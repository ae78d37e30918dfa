import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type BudgetState,
  bucketNames,
  type CallClass,
  callClasses,
  capacityOf,
  levelOf,
  limitOf,
} from '../../src/budget/account.js';
import { promisesPerFlow } from '../../src/budget/find-turn.js';
import { ask } from '../../src/budget/turns.js';
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
} from './simulate.js';

const REPLICAS = 3;
const PATIENCE_MS = 8_000;
const FLOOD = 'flood';
/** Runs of a property. `CORRAL_TEST_LONG=1 npm test -- admission rules` makes many. */
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
  const untilMs = 120_000;
  const world = fc.record({
    everyMs: fc.array(fc.integer({ min: 500, max: 60_000 }), { minLength: 1, maxLength: 12, size: 'max' }),
    beside: fc.array(anArrival(untilMs), { maxLength: 200, size: 'max' }),
    limitPerHour: fc.constantFrom(360, 3_600, 36_000),
    remaining: fc.integer({ min: 30, max: 120 }),
    untilMs: fc.constant(untilMs),
    seed: fc.nat(),
  });

  it('has its turn at any replica, regardless of other teams', async () => {
    await fc.assert(
      fc.asyncProperty(world, async (of) => {
        const outcome = await simulate(askingWorld(of));

        expect(broken(outcome).map(({ arrival, at }) => ({ ...arrival, refusedAt: at }))).toEqual([]);
        expect(outcome.upstream429).toBe(0);
      }),
      { numRuns: runs(3), endOnFailure: true },
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
      { numRuns: runs(3), endOnFailure: true },
    );
  });
});

describe('twenty teams that all want 1.5 times the available calls, one of them 100 times', () => {
  const TEAMS = 20;
  const LIMIT_PER_HOUR = 3_600;
  const UNTIL_MS = HOUR_MS / 12;
  const LEFT = 200;
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
    expect(outcome.served.length).toBeGreaterThanOrEqual(0.95 * (LEFT + LIMIT_PER_HOUR / 12));
    expect(outcome.served.filter(isBack).length).toBeGreaterThan(50);
    expect(broken(outcome)).toEqual([]);
    expect(outcome.upstream429).toBe(0);
  });
});

const MINUTE_MS = 60_000;
/** A request that reaches its maximum wait gets its retry time from the shared account. */
const ASKED_MS = 5;

const anyArrival = (untilMs: number): fc.Arbitrary<Arrival> =>
  fc.record({
    at: fc.integer({ min: 0, max: untilMs }),
    // A few teams that return repeatedly, and many that come once: these may use every call.
    team: fc.oneof(
      fc.constantFrom('a', 'b', 'c'),
      fc.nat({ max: 99 }).map((index) => `team ${index}`),
    ),
    replica: fc.integer({ min: 0, max: 2 }),
    class: fc.constantFrom(...callClasses),
  });

/**
 * Requests of all classes at three replicas, with budgets from one call per minute to many per second, of which little is
 * left. (With fewer calls left than are allowed before its first statement, the upstream would refuse.)
 */
const anyWorld: fc.Arbitrary<World> = fc.record({
  arrivals: fc.array(anyArrival(2 * MINUTE_MS), { minLength: 50, maxLength: 200, size: 'max' }),
  replicas: fc.constant(3),
  limitPerHour: fc.constantFrom(60, 360, 3_600, 36_000),
  remaining: fc.integer({ min: 30, max: 120 }),
  patienceMs: fc.constant(PATIENCE_MS),
  untilMs: fc.constant(2 * MINUTE_MS + 2 * PATIENCE_MS),
});

const aDeath = fc.record({ at: fc.integer({ min: 0, max: 2 * MINUTE_MS }), replica: fc.integer({ min: 0, max: 1 }) });

describe('with any requests and any size of the budget', () => {
  it('the upstream never refuses a call, not even when replicas crash with lent calls', async () => {
    await fc.assert(
      fc.asyncProperty(anyWorld, fc.array(aDeath, { minLength: 1, maxLength: 2 }), async (world, deaths) => {
        expect((await simulate({ ...world, deaths })).upstream429).toBe(0);
      }),
      { numRuns: runs(5), endOnFailure: true },
    );
  });

  it('every request is sent or refused once, within its maximum wait, and no call is lost', async () => {
    await fc.assert(
      fc.asyncProperty(anyWorld, async (world) => {
        const wrong: string[] = [];
        const onState = (state: BudgetState) => wrong.push(...idleIn(state), ...imbalancesOf(state));

        const { served, refused, upstream429 } = await simulate({ ...world, onState });

        // No request waits while calls are left, no refill is lost while one waits, no bucket exceeds its capacity, and no flow is
        // remembered that is not ahead.
        expect(wrong).toEqual([]);
        expect(upstream429).toBe(0);
        const ended = [...served, ...refused];
        expect(new Set(ended.map((each) => each.arrival)).size).toBe(world.arrivals.length);
        expect(ended).toHaveLength(world.arrivals.length);
        expect(Math.max(...ended.map(({ waitMs }) => waitMs))).toBeLessThanOrEqual(PATIENCE_MS + ASKED_MS);
      }),
      { numRuns: runs(8), endOnFailure: true },
    );
  });
});

/**
 * Requests that wait although a call is there for them, and refills that are lost in the meantime. The process that the
 * account heard of last asks at once again, for what it asked just now. Of two in the same millisecond that is not known.
 */
function idleIn(state: BudgetState): string[] {
  // The upstream's level is not known yet, so calls are made a few at a time.
  if (state.limit === null) return [];
  const heard = Object.entries(state.processes).filter(([, { seenAt }]) => seenAt === state.at);
  const last = heard.length === 1 ? heard[0] : undefined;
  const requests = (last?.[1].waiting ?? []).flatMap((line) => Array.from({ length: line.count }, () => line));
  const asks = requests.map(({ class: callClass, flow, since }, id) => {
    return { id, class: callClass, flow, waitedMs: state.at - since, patienceMs: PATIENCE_MS };
  });
  const given = [...ask(state, last?.[0] ?? '', asks).answers].filter(([, { kind }]) => kind === 'go');
  const idle = given.map(([id]) => `${asks[id]?.class} of ${asks[id]?.flow} was sent away`);
  const demands = Object.values(state.processes).flatMap(({ waiting }) => waiting);
  const isFull = levelOf(state) >= limitOf(state) - ROUNDING;
  return demands.length > 0 && isFull ? [...idle, 'the budget is full while somebody waits'] : idle;
}

function imbalancesOf(state: BudgetState): string[] {
  const full = bucketNames.filter((name) => state.buckets[name] > capacityOf(state, name) + ROUNDING);
  const behind = Object.entries(state.next).filter(([, round]) => round <= state.round);
  return [...full, ...behind.map(([flow]) => flow)];
}

const ROUNDING = 1e-3;
