import { type BudgetState, type CallClass, flowOf, isForTeam } from '../../src/budget/account.js';
import type { BudgetStore } from '../../src/budget/budget-store.js';
import { type Lack, openBudget, type UpstreamBudget } from '../../src/budget/upstream-budget.js';
import type { Clock } from '../../src/request-scope.js';

export const HOUR_MS = 3_600_000;

/** One request for a call: its time in milliseconds, its team, and its replica. */
export interface Arrival {
  readonly at: number;
  readonly team: string;
  readonly replica: number;
  readonly class?: CallClass;
  /** The time at which it was to return, if it was refused before with a promised time. */
  readonly promisedFor?: number;
}

export interface World {
  readonly arrivals: readonly Arrival[];
  readonly replicas: number;
  readonly limitPerHour: number;
  /** The remaining budget of the upstream at the start. Default: all of it. */
  readonly remaining?: number;
  readonly patienceMs: number;
  readonly untilMs: number;
  /** Replicas that crash, with the time. */
  readonly deaths?: readonly { readonly at: number; readonly replica: number }[];
  /** The outcome of a request may cause another one. */
  readonly next?: (ended: Ended | Refused) => Arrival | null;
  /** Called after each change of the shared account. */
  readonly onState?: (state: BudgetState) => void;
}

/** Outcome of a request: at the time `at` it was sent, or refused with a retry time. */
export interface Ended {
  readonly arrival: Arrival;
  readonly at: number;
  readonly waitMs: number;
}

export interface Refused extends Ended {
  readonly retryMs: number;
  readonly usedUp: Lack;
}

export interface Outcome {
  readonly served: readonly Ended[];
  readonly refused: readonly Refused[];
  /** Number of 429 answers. */
  readonly upstream429: number;
}

/** Latency of one way to the store, and of a call to the upstream and back. */
const STORE_MS = 1;
/** A timer takes a moment, so time goes on. */
const MS = 1;
const THERE_MS = 40;
const BACK_MS = 60;

/**
 * Runs processes and their shared account against an upstream that counts as documented: a bucket of an hour's calls that
 * refills evenly. Time is virtual, and nothing is random.
 */
export async function simulate(world: World): Promise<Outcome> {
  const events = eventQueue();
  const upstream = documentedUpstream(world);
  const served: Ended[] = [];
  const refused: Refused[] = [];
  let upstream429 = 0;
  let state: BudgetState | null = null;
  const dead = new Set<number>();

  /** The shared account, one way to which takes `STORE_MS`. */
  const store: BudgetStore = {
    update: (_project, change) =>
      new Promise((resolve) => {
        events.add(events.now() + STORE_MS, (at) => {
          const changed = change(state, at);
          state = changed.state;
          world.onState?.(state);
          events.add(at + STORE_MS, () => resolve(changed.answer));
        });
      }),
  };

  const startReplica = (index: number): UpstreamBudget => {
    const clock: Clock = {
      now: events.now,
      after(ms, run) {
        let isOff = false;
        events.add(events.now() + Math.max(ms, MS), () => isOff || dead.has(index) || run());
        return () => {
          isOff = true;
        };
      },
    };
    return openBudget({ project: 'p', store, clock, now: events.now, onAway: fail });
  };
  const replicas = Array.from({ length: world.replicas }, (_, index) => startReplica(index));

  const call = async (budget: UpstreamBudget, arrival: Arrival): Promise<void> => {
    const { class: callClass = 'write', team } = arrival;
    const want = { class: callClass, flow: flowOf(callClass, isForTeam(callClass) ? team : null) };
    const turned = await budget.turn(want, { patienceMs: world.patienceMs });
    const at = events.now();
    if (dead.has(arrival.replica) || turned.kind === 'aborted') return;
    if (turned.kind === 'no_account') return fail(new Error('The account is always there.'));
    const ended = { arrival, at, waitMs: at - arrival.at };
    if (turned.kind === 'too_long') {
      const late = { ...ended, retryMs: turned.retryAfterSeconds * 1_000, usedUp: turned.usedUp };
      refused.push(late);
      return goOn(late);
    }
    served.push(ended);
    goOn(ended);
    events.add(at + THERE_MS, (arrivedAt) => {
      const answer = upstream.take(arrivedAt);
      if (!answer.allowed) upstream429 += 1;
      events.add(arrivedAt + BACK_MS, () => {
        if (dead.has(arrival.replica)) return;
        const statement = { limit: world.limitPerHour, remaining: answer.remaining };
        budget.end(
          turned.turn,
          answer.allowed ? { kind: 'answered', statement } : { kind: 'refused', statement, retryAfterMs: null },
        );
      });
    });
  };

  function arrive(arrival: Arrival): void {
    events.add(arrival.at, () => {
      if (!dead.has(arrival.replica)) void call(replicas[arrival.replica] as UpstreamBudget, arrival);
    });
  }
  function goOn(ended: Ended | Refused): void {
    const next = world.next?.(ended) ?? null;
    if (next !== null) arrive(next);
  }

  for (const arrival of world.arrivals) arrive(arrival);
  for (const { at, replica } of world.deaths ?? []) events.add(at, () => void dead.add(replica));
  await events.runUntil(world.untilMs);
  return { served, refused, upstream429 };
}

function fail(error: Error): never {
  throw error;
}

/** "3600 requests per hour, refilled at one per second, bursts allowed." */
function documentedUpstream({ limitPerHour, remaining = limitPerHour }: World) {
  let level = remaining;
  let asOf = 0;
  return {
    take(now: number): { allowed: boolean; remaining: number } {
      level = Math.min(limitPerHour, level + ((now - asOf) * limitPerHour) / HOUR_MS);
      asOf = now;
      const allowed = level >= 1;
      if (allowed) level -= 1;
      return { allowed, remaining: Math.floor(level) };
    },
  };
}

/** Future events, the soonest last, and in order of insertion at the same time. */
function eventQueue() {
  const events: { at: number; run: (now: number) => unknown }[] = [];
  let now = 0;
  return {
    now: () => now,
    add(at: number, run: (now: number) => unknown): void {
      let [low, high] = [0, events.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((events[middle]?.at ?? 0) > at) low = middle + 1;
        else high = middle;
      }
      events.splice(low, 0, { at, run });
    },
    /** What an event causes by promises has happened before the next one. */
    async runUntil(until: number): Promise<void> {
      for (let next = events.pop(); next !== undefined && next.at <= until; next = events.pop()) {
        now = next.at;
        next.run(now);
        await new Promise(setImmediate);
      }
    },
  };
}

/** Numbers in [0, 1) that are the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Jain's fairness index: 1 when all have the same, 1/n when one has everything. */
export function jainIndex(values: readonly number[]): number {
  const sum = values.reduce((total, value) => total + value, 0);
  const squares = values.reduce((total, value) => total + value * value, 0);
  return squares === 0 ? 1 : (sum * sum) / (values.length * squares);
}
