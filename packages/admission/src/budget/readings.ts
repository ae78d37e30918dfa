import type { Metrics } from '@corral/service';
import {
  type BudgetState,
  type CallClass,
  callClasses,
  forgetSilent,
  leadOf,
  levelOf,
  rateOf,
  refillUntil,
} from './account.js';

/** The budget as others may see it. */
export interface BudgetReading {
  /** Calls per hour; null before the upstream said anything. */
  readonly limit: number | null;
  /** Calls that can be made immediately; null before the upstream said anything. */
  readonly remaining: number | null;
  /** The time when the whole budget is back without further calls. */
  readonly resetAt: Date | null;
  /** Requests that wait for a turn. */
  readonly waiting: Readonly<Record<CallClass, number>>;
}

/** What one flow waits for, and how far it is ahead: a team, or the service itself for a class of calls (`~poll`). */
export interface FlowReading {
  readonly flow: string;
  /** Requests that wait for a turn. */
  readonly waiting: number;
  /** The time since which the oldest of them waits; null if none does. */
  readonly waitingSince: Date | null;
  /** Calls that the flow made since the others that wait had theirs: so many rounds later is its next turn. */
  readonly ahead: number;
  /** The times when the turns begin that are kept for its refused requests, the earliest first. */
  readonly promisedAt: readonly Date[];
}

/** The budget of a project as it is now, provided that no call was made since `observedAt`. */
export interface KeptReading extends BudgetReading {
  /** The time when a process last brought the account up to date, on the store's clock. */
  readonly observedAt: Date;
  /** The flows that wait, are ahead or have a promise, as of `observedAt`. */
  readonly flows: readonly FlowReading[];
}

const noneWaiting = (): Record<CallClass, number> =>
  Object.fromEntries(callClasses.map((name) => [name, 0])) as Record<CallClass, number>;

export const unknownReading: BudgetReading = { limit: null, remaining: null, resetAt: null, waiting: noneWaiting() };

export function readingOf(state: BudgetState): BudgetReading {
  const waiting = noneWaiting();
  for (const { waiting: demands } of Object.values(state.processes)) {
    for (const demand of demands) waiting[demand.class] += demand.count;
  }
  if (state.limit === null) return { ...unknownReading, waiting };
  const level = levelOf(state);
  const resetAt = new Date(Math.ceil(state.at + (state.limit - level) / rateOf(state)));
  return { limit: state.limit, remaining: Math.max(0, Math.floor(level)), resetAt, waiting };
}

export function keptReading(state: BudgetState, now: number): KeptReading {
  const current = forgetSilent(refillUntil(state, now));
  return { ...readingOf(current), flows: flowsOf(current), observedAt: new Date(state.at) };
}

/** The flows that wait, are ahead or have a promise: who waits longest first, then who is furthest ahead. */
function flowsOf(state: BudgetState): FlowReading[] {
  const { next, promises, processes } = state;
  const demands = Object.values(processes).flatMap(({ waiting }) => waiting);
  const names = new Set([...demands, ...promises].map(({ flow }) => flow).concat(Object.keys(next)));
  return [...names]
    .map((flow) => {
      const own = demands.filter((demand) => demand.flow === flow);
      return {
        flow,
        waiting: own.reduce((sum, { count }) => sum + count, 0),
        waitingSince: own.length === 0 ? null : new Date(Math.min(...own.map(({ since }) => since))),
        ahead: leadOf(state, flow),
        promisedAt: promises.filter((promise) => promise.flow === flow).map(({ dueAt }) => new Date(dueAt)),
      };
    })
    .sort(
      (a, b) =>
        (a.waitingSince?.getTime() ?? Number.POSITIVE_INFINITY) -
          (b.waitingSince?.getTime() ?? Number.POSITIVE_INFINITY) ||
        b.ahead - a.ahead ||
        (a.flow < b.flow ? -1 : 1),
    );
}

/** How a request for a turn ended. */
export interface TurnTaken {
  readonly class: CallClass;
  readonly outcome: 'go' | 'refused' | 'aborted' | 'no_account';
  readonly ms: number;
}

/**
 * Registers metrics of what is left of the upstream's budget, and of the waits for it.
 *
 * @param read the client's `budget`; called when metrics are collected
 * @returns a place for `onTurn`
 */
export function upstreamBudgetMetrics(metrics: Metrics, read: () => BudgetReading): (taken: TurnTaken) => void {
  const gaugeOf = (name: string, help: string, value: (reading: BudgetReading) => number | null) =>
    metrics.gauge({
      name,
      help,
      collect() {
        const now = value(read());
        // None is better than a made-up one.
        if (now === null) this.remove();
        else this.set(now);
      },
    });
  gaugeOf('corral_upstream_budget_limit_requests', 'Requests per hour that the upstream grants', (of) => of.limit);
  gaugeOf('corral_upstream_budget_left_requests', 'Requests that can be made now', (of) => of.remaining);
  metrics.gauge({
    name: 'corral_upstream_waiting_requests',
    help: 'Requests of all processes that wait for their turn at the upstream',
    labelNames: ['class'],
    collect() {
      for (const [callClass, count] of Object.entries(read().waiting)) this.set({ class: callClass }, count);
    },
  });
  const waits = metrics.histogram({
    name: 'corral_upstream_wait_seconds',
    help: 'Waits for a turn at the upstream that were followed by a call',
    labelNames: ['class'],
    buckets: [0.001, 0.01, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16],
  });
  const refused = metrics.counter({
    name: 'corral_upstream_refused_total',
    help: 'Requests that could not have their turn in time: nothing was sent',
    labelNames: ['class'],
  });
  return ({ class: callClass, outcome, ms }) => {
    if (outcome === 'go') waits.observe({ class: callClass }, ms / 1_000);
    if (outcome === 'refused') refused.inc({ class: callClass });
  };
}
