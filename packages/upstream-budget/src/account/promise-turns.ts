import { type BudgetState, inflowShares, isAmple, rateOf } from './budget-state.js';
import { debtOf, debtOfAll } from './debt-bucket.js';
import { othersBefore, waitersByBucket } from './forecast.js';
import { admissionsOf } from './grant-turns.js';
import { type FairTurn, promisesOf, promiseTurn } from './promises.js';

/** What the account promises to refused requests of one flow, in their order of arrival. */
export interface Promised {
  readonly flow: string;
  /** Until the turn of each. */
  readonly waitsMs: readonly number[];
  /** How many of them have a turn kept. A flow may be promised no more, so the others get the time of the last one. */
  readonly kept: number;
  readonly usedUp: UsedUp;
}

/** What a request is refused for: its team's share, while others would be served, or all that there is. */
export type UsedUp = 'share' | 'budget';

/** Time in which the whole budget flows in. */
const longestWaitMs = 3_600_000;

/** Keeps a turn for each refused request of a team, in the order that is fair to all. */
export function promiseTurns(
  before: BudgetState,
  refusing: Readonly<Record<string, number>>,
): { state: BudgetState; promised: Promised[] } {
  let state = before;
  const promised = Object.entries(refusing).map(([flow, count]) => {
    const usedUp = usedUpIn(state);
    const waitsMs: number[] = [];
    let kept = 0;
    while (waitsMs.length < count) {
      const { state: after, waitMs } = promiseTurn(state, fairTurnOf(state, flow));
      // A request that gets no separate turn shares the time of all later ones.
      const isKept = after !== state;
      waitsMs.push(...Array.from({ length: isKept ? 1 : count - waitsMs.length }, () => waitMs));
      if (isKept) kept += 1;
      state = after;
    }
    return { flow, waitsMs, kept, usedUp };
  });
  return { state, promised };
}

/** Whether a team without debt would be served now: then only the share is used up, else the whole budget. */
function usedUpIn(state: BudgetState): UsedUp {
  const { left } = admissionsOf(state)('write', 'common');
  return state.at >= state.pausedUntil && state.buckets.common.level - left >= 1 ? 'share' : 'budget';
}

/**
 * The next turn of a flow if all debtors go on asking: each of them then has one call while the refill repays one
 * to each. Unless there is plenty, or for further turns, it has to owe no more than the others do: what is left now is
 * gone by then. However much it owes, it waits for its first turn no longer than an hour, or than a round of all takes.
 */
function fairTurnOf(state: BudgetState, flow: string): FairTurn {
  const { common } = state.buckets;
  const waiters = waitersByBucket(state).common;
  const ownWaiting = waiters.reduce((sum, waiter) => sum + (waiter.flow === flow ? waiter.count : 0), 0);
  const { left, burst } = admissionsOf(state)('write', 'common');
  const promised = promisesOf(state, flow).length;
  const owed = debtOf(common, flow) + promised + ownWaiting;
  const asking = new Set([flow, ...Object.keys(common.paidAt), ...waiters.map((waiter) => waiter.flow)]);
  for (const promise of state.promises) asking.add(promise.flow);
  // Between two turns of one flow there is room for one of another flow.
  const roundMs = Math.max(promised > 0 ? 2 : 1, asking.size) / (rateOf(state) * inflowShares(state).common);
  const aheadOfStock = Math.max(0, owed + 1 - Math.max(1, burst * (common.level - left)));
  const aheadOfOthers = owed - debtOfAll(common) / asking.size;
  const ahead = isAmple(state) && promised === 0 ? aheadOfStock : Math.max(aheadOfStock, aheadOfOthers);
  const longestMs = promised > 0 ? Number.POSITIVE_INFINITY : Math.max(longestWaitMs, roundMs);
  const fairMs = Math.min(ahead * roundMs, longestMs);
  return { flow, fairMs, before: othersBefore(waiters, { flow, since: state.at }, owed) };
}
