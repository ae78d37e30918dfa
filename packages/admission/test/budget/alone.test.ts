import { describe, expect, it } from '@jest/globals';
import { type Arrival, type Ended, jainIndex, type Outcome, type Refused, seededRandom, simulate } from './simulate.js';
import { HOUR_MS, steadyArrivals } from './worlds.js';

const LIMIT_PER_HOUR = 3_600;
const REPLICAS = [0, 1, 2];
const world = { limitPerHour: LIMIT_PER_HOUR, replicas: REPLICAS.length, patienceMs: 8_000 };
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
  const outcome = await simulate({ ...world, remaining: of.remaining, untilMs: of.untilMs, arrivals, next });
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
  const untilMs = 20 * 60_000;
  const alone = (beside: readonly Arrival[] = []): Promise<Outcome> =>
    simulate({ ...world, untilMs, arrivals: [...every(100, 0, untilMs, { team: 'acme', replica: 0 }), ...beside] });

  it('gets everything but the reserves as fast as it asks, and then the whole refill', async () => {
    const outcome = await alone();

    expect(outcome.refused.every(({ at }) => at > 300_000)).toBe(true);
    expect(countOf(outcome, 'acme')).toBeGreaterThanOrEqual(0.95 * (0.9 * LIMIT_PER_HOUR + untilMs / 1_000));
    expect(outcome.upstream429).toBe(0);
  });

  it('makes the team that comes next wait for the next call or two, not for what it had before', async () => {
    const arrivals = every(2_500, 15 * 60_000, 16 * 60_000, { team: 'globex', replica: 1 });

    const waits = (await alone(arrivals)).served.flatMap(({ arrival, waitMs }) =>
      arrival.team === 'globex' ? [waitMs] : [],
    );

    expect(waits).toHaveLength(arrivals.length);
    expect(Math.max(...waits)).toBeLessThan(3_000);
  });

  it('shares fairly with those that wait from then on, whatever it had before', async () => {
    const comeAt = 10 * 60_000;
    const others = ['globex', 'initech', 'umbrella', 'hooli'];
    const beside = others.flatMap((team, index) => every(400, comeAt, untilMs, { team, replica: index % 3 }));

    const outcome = await alone(beside);

    const shares = ['acme', ...others].map((team) => countOf(outcome, team, comeAt));
    expect(jainIndex(shares)).toBeGreaterThanOrEqual(0.98);
    expect(shares.reduce((sum, share) => sum + share)).toBeGreaterThanOrEqual(0.95 * 600);
  });
});
