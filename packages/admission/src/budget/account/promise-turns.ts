import { type BudgetState, inflowShares, rateOf } from './budget-state.js';
import { leadOf } from './fair-order.js';
import { othersBefore, waitersByBucket } from './forecast.js';
import { freeCallsOf } from './grant-turns.js';
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

/** What a request is refused for: its team's share, since others come before it, or all that there is. */
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
    const { usedUp } = fairTurnOf(state, flow);
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

/**
 * The next turn of a flow if all who wait or were promised a turn go on asking: one call of each in a round. Flows that had
 * calls before and do not ask now hold nobody back. The first turn is at most an hour away, or a round of all.
 */
function fairTurnOf(state: BudgetState, flow: string): FairTurn & { usedUp: UsedUp } {
  const waiters = waitersByBucket(state).common;
  const ownWaiting = waiters.reduce((sum, waiter) => sum + (waiter.flow === flow ? waiter.count : 0), 0);
  const promised = promisesOf(state, flow).length;
  const lead = leadOf(state.order, flow) + promised + ownWaiting;
  const others = new Set([...Object.keys(state.askedAt), ...state.promises.map((each) => each.flow)]);
  others.delete(flow);
  const ofOthers = [...others].reduce((sum, each) => sum + Math.max(0, lead - leadOf(state.order, each)), 0);
  // Between two turns of one flow there is room for one of another flow.
  const own = promised * (others.size === 0 ? 2 : 1) + ownWaiting;
  const free = Math.max(0, freeCallsOf(state)('write', 'common'));
  const callMs = 1 / (rateOf(state) * inflowShares(state).common);
  const longestMs = promised > 0 ? Number.POSITIVE_INFINITY : Math.max(longestWaitMs, (others.size + 1) * callMs);
  const fairMs = Math.min(Math.max(0, own + ofOthers - free) * callMs, longestMs);
  const usedUp = ofOthers > 0 ? 'share' : 'budget';
  return { flow, fairMs, usedUp, before: othersBefore(waiters, { flow, since: state.at }, lead) };
}
