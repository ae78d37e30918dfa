import { type BudgetState, type Demand, inflowShares, levelOf, mapBuckets, rateOf } from './budget-state.js';
import { type BucketName, bucketsOf, type CallClass } from './call-class.js';
import { leadOf } from './fair-order.js';
import { freeCallsOf } from './grant-turns.js';
import { promisesOf, unpromisedMs } from './promises.js';

/** When the requests of a flow that wait at one replica will have their turns, if no further requests arrive. */
export interface Forecast {
  readonly class: CallClass;
  readonly flow: string;
  /** until the first one's turn */
  readonly firstMs: number;
  /** from each one's turn to that of the next one */
  readonly eachMs: number;
}

/** A demand, and how many rounds its flow is ahead. */
export interface Waiter extends Demand {
  readonly replica: string;
  readonly lead: number;
}

export function forecast(state: BudgetState, replica: string): Forecast[] {
  const demands = state.replicas[replica]?.waiting ?? [];
  // Nothing can be forecast before the first answer of the upstream.
  if (demands.length === 0 || state.limit === null) return [];
  const shares = inflowShares(state);
  const pauseMs = Math.max(0, state.pausedUntil - state.at);
  const waiters = waitersByBucket(state);
  const freeFor = freeCallsOf(state);

  const turnMs = (demand: Demand, own: number): number => {
    const waits = bucketsOf[demand.class].map((bucket) => {
      const before = own + othersBefore(waiters[bucket], demand, leadOf(state.order, demand.flow) + own);
      const perMs = rateOf(state) * shares[bucket];
      const spareMs = unpromisedMs(state, levelOf(state) - before, rateOf(state));
      return Math.max(spareMs, (1 + before - freeFor(demand.class, bucket)) / perMs);
    });
    const promised = promisesOf(state, demand.flow)[own];
    // A promise that is not due yet belongs to the request that comes back for it.
    if (promised !== undefined && promised.dueAt <= state.at) return pauseMs;
    return Math.max(pauseMs, Math.min(...waits));
  };

  return demands.map((demand) => {
    // Requests of one flow at several replicas have their turns alternately.
    const elsewhere = waiters.common.filter(({ flow, replica: at }) => flow === demand.flow && at !== replica);
    const own = elsewhere.filter(({ since }) => since < demand.since).length;
    const firstMs = turnMs(demand, own);
    const eachMs = Math.max(1, turnMs(demand, own + 1 + elsewhere.length) - firstMs);
    return { class: demand.class, flow: demand.flow, firstMs: Math.ceil(firstMs), eachMs: Math.ceil(eachMs) };
  });
}

export function waitersByBucket(state: BudgetState): Record<BucketName, readonly Waiter[]> {
  const all = Object.entries(state.replicas).flatMap(([replica, { waiting }]) =>
    waiting.map((demand) => ({ ...demand, replica })),
  );
  return mapBuckets((bucket) =>
    all
      .filter((demand) => bucketsOf[demand.class].includes(bucket))
      .map((demand) => ({ ...demand, lead: leadOf(state.order, demand.flow) })),
  );
}

/**
 * Calls of other flows that come before one of this flow.
 *
 * @param lead of this flow by then
 */
export function othersBefore(
  waiters: readonly Waiter[],
  { flow, since }: Pick<Demand, 'flow' | 'since'>,
  lead: number,
): number {
  let calls = 0;
  // Everybody is compared with everybody: no closures here.
  for (const other of waiters) {
    const rounds = lead - other.lead;
    if (other.flow === flow || rounds < 0 || (rounds === 0 && other.since >= since)) continue;
    calls += Math.min(other.count, Math.max(1, rounds));
  }
  return calls;
}
