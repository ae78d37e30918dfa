import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type BudgetState, bucketNames, callClasses, capacityOf, levelOf, limitOf } from '../../src/budget/account.js';
import { ask } from '../../src/budget/turns.js';
import { type Arrival, simulate, type World } from './simulate.js';

const MINUTE_MS = 60_000;
const PATIENCE_MS = 8_000;
/** A request that reaches its maximum wait gets its retry time from the shared account. */
const ASKED_MS = 5;

const arrival = (untilMs: number): fc.Arbitrary<Arrival> =>
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
  arrivals: fc.array(arrival(3 * MINUTE_MS), { minLength: 50, maxLength: 300, size: 'max' }).map(bySet),
  replicas: fc.constant(3),
  limitPerHour: fc.constantFrom(60, 360, 3_600, 36_000),
  remaining: fc.integer({ min: 30, max: 120 }),
  patienceMs: fc.constant(PATIENCE_MS),
  untilMs: fc.constant(3 * MINUTE_MS + 2 * PATIENCE_MS),
});

/** The calls of each team at one replica alternate between two record sets. */
function bySet(arrivals: Arrival[]): Arrival[] {
  return arrivals.map((each, index) => ({ ...each, key: `${each.team}/${each.replica}/${index % 2}` }));
}

const aDeath = fc.record({ at: fc.integer({ min: 0, max: 3 * MINUTE_MS }), replica: fc.integer({ min: 0, max: 1 }) });

/** Each world is three minutes long. A seed is as informative as a shrunk world, and faster. */
const runs = { numRuns: 30, endOnFailure: true };

describe('with any requests and any size of the budget', () => {
  it('the upstream never refuses a call, not even when replicas crash with lent calls', async () => {
    await fc.assert(
      fc.asyncProperty(anyWorld, fc.array(aDeath, { maxLength: 2 }), async (world, deaths) => {
        expect((await simulate({ ...world, deaths })).upstream429).toBe(0);
      }),
      runs,
    );
  });

  it('every request is either sent or refused, once, and within its maximum wait', async () => {
    await fc.assert(
      fc.asyncProperty(anyWorld, async (world) => {
        const { served, refused } = await simulate(world);

        const ended = [...served, ...refused];
        expect(new Set(ended.map((each) => each.arrival)).size).toBe(world.arrivals.length);
        expect(ended).toHaveLength(world.arrivals.length);
        expect(Math.max(...ended.map(({ waitMs }) => waitMs))).toBeLessThanOrEqual(PATIENCE_MS + ASKED_MS);
      }),
      runs,
    );
  });

  it('sends calls to one record set in the order of the requests', async () => {
    await fc.assert(
      fc.asyncProperty(anyWorld, async (world) => {
        const { served } = await simulate(world);

        for (const key of new Set(served.map(({ arrival: { key } }) => key))) {
          const sent = served.filter((each) => each.arrival.key === key).map((each) => orderIn(world, each.arrival));
          expect(sent).toEqual([...sent].sort((one, other) => one - other));
        }
      }),
      runs,
    );
  });

  it('no request waits while calls are left, and no refill is lost while one waits', async () => {
    await fc.assert(
      fc.asyncProperty(anyWorld, async (world) => {
        const idle: string[] = [];

        await simulate({ ...world, onState: (state) => idle.push(...idleIn(state)) });

        expect(idle).toEqual([]);
      }),
      runs,
    );
  });

  it('no bucket exceeds its capacity, and no flow is remembered that is not ahead', async () => {
    await fc.assert(
      fc.asyncProperty(anyWorld, async (world) => {
        const wrong: string[] = [];

        await simulate({ ...world, onState: (state) => wrong.push(...imbalancesOf(state)) });

        expect(wrong).toEqual([]);
      }),
      runs,
    );
  });
});

describe('a team with one request', () => {
  it('is served however many others ask continuously, of every class', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 30 }), fc.constantFrom(...callClasses), async (teams, callClass) => {
        const flood = Array.from({ length: 300 }, (_, index) => floodOf(teams, index));
        const meek = { at: 2 * MINUTE_MS, team: 'meek', replica: 1, class: callClass };

        const outcome = await simulate({
          arrivals: [...flood, meek],
          replicas: 2,
          limitPerHour: 3_600,
          remaining: 60,
          patienceMs: MINUTE_MS,
          untilMs: 4 * MINUTE_MS,
        });

        expect(outcome.served.map((each) => each.arrival)).toContain(meek);
      }),
      { numRuns: 4 },
    );
  });
});

const orderIn = ({ arrivals }: World, one: Arrival): number => [...arrivals].sort((a, b) => a.at - b.at).indexOf(one);

function floodOf(teams: number, index: number): Arrival {
  return { at: index * 600, team: `flood ${index % teams}`, replica: 0, class: index % 3 === 0 ? 'cleanup' : 'write' };
}

/**
 * Requests that wait although a call is there for them, and refills that are lost in the meantime. The process that the
 * account heard of last asks at once again, for what it asked just now.
 */
function idleIn(state: BudgetState): string[] {
  // The upstream's level is not known yet, so calls are made a few at a time.
  if (state.limit === null) return [];
  const last = Object.entries(state.processes).find(([, { seenAt }]) => seenAt === state.at);
  const requests = (last?.[1].waiting ?? []).flatMap((line) => Array.from({ length: line.count }, () => line));
  const asks = requests.map(({ class: callClass, flow, since }, id) => {
    return { id, class: callClass, flow, key: null, waitedMs: state.at - since, patienceMs: PATIENCE_MS };
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
