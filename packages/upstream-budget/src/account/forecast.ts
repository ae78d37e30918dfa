import { type BudgetState, type Demand, inflowShares, levelOf, mapBuckets, rateOf } from './budget-state.js';
import { type BucketName, bucketsOf, type CallClass } from './call-class.js';
import { debtOf, waitMs } from './debt-bucket.js';
import { admissionsOf } from './grant-turns.js';
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

/** A demand beside its debt in one bucket. */
export interface Waiter extends Demand {
  readonly replica: string;
  readonly debt: number;
}

export function forecast(state: BudgetState, replica: string): Forecast[] {
  const demands = state.replicas[replica]?.waiting ?? [];
  // Nothing can be forecast before the first answer of the upstream.
  if (demands.length === 0 || state.limit === null) return [];
  const shares = inflowShares(state);
  const pauseMs = Math.max(0, state.pausedUntil - state.at);
  const waiters = waitersByBucket(state);
  const admissions = admissionsOf(state);

  const turnMs = (demand: Demand, own: number): number => {
    const waits = bucketsOf[demand.class].map((bucket) => {
      const before = {
        own,
        others: othersBefore(waiters[bucket], demand, debtOf(state.buckets[bucket], demand.flow) + own),
      };
      const perMs = rateOf(state) * shares[bucket];
      const spareMs = unpromisedMs(state, levelOf(state) - before.others - own, rateOf(state));
      const turn = waitMs(state.buckets[bucket], demand.flow, before, admissions(demand.class, bucket), perMs);
      return Math.max(spareMs, turn);
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
      .map((demand) => ({ ...demand, debt: debtOf(state.buckets[bucket], demand.flow) })),
  );
}

/**
 * Calls of other flows that come before one of this flow.
 *
 * @param debt of this flow by then
 */
export function othersBefore(
  waiters: readonly Waiter[],
  { flow, since }: Pick<Demand, 'flow' | 'since'>,
  debt: number,
): number {
  let calls = 0;
  // Everybody is compared with everybody: no closures here.
  for (const other of waiters) {
    const lead = debt - other.debt;
    if (other.flow === flow || lead < 0 || (lead === 0 && other.since >= since)) continue;
    calls += Math.min(other.count, Math.max(1, Math.ceil(lead)));
  }
  return calls;
}
