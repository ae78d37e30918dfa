import { type BudgetState, bucketRules, levelOf, type PromisedTurn, rateOf } from './account.js';

/*
 * Turns that were promised: how many are kept, for how long, and what has to be left for them.
 */

/** Maximum turns kept for one flow. */
export const promisesPerFlow = 16;
/** Further turns are kept within this time only, since later demand is unknown. The first turn may be later. */
const horizonMs = 600_000;
/** Maximum turns kept in all, since every change reads and writes them. From half of it on, one per flow. */
export const promisesMax = 1_000;
/** How long a due turn is kept. Clients know the time in whole seconds only, and their request takes a while to arrive. */
export const keptMs = 10_000;
/**
 * The part of the refill that is promised. The reserves have theirs by that; what they do not claim is for those who
 * wait, and shortens the promises made later.
 */
const promisedShare = bucketRules.common.inflow;

/** Drops promises that were not redeemed in time. A pause of the upstream does not count: no call can be made in it. */
export function dropUnredeemed(state: BudgetState): BudgetState {
  const isKept = ({ dueAt }: PromisedTurn): boolean => Math.max(dueAt, state.pausedUntil) + keptMs > state.at;
  return { ...state, promises: state.promises.filter(isKept) };
}

const countOf = ({ promises }: BudgetState, flow: string): number =>
  promises.reduce((count, promise) => (promise.flow === flow ? count + 1 : count), 0);

function hasRoomFor(state: BudgetState, flow: string): boolean {
  const { length } = state.promises;
  return length < promisesMax && countOf(state, flow) < (length < promisesMax / 2 ? promisesPerFlow : 1);
}

const keep = (state: BudgetState, promise: PromisedTurn): BudgetState => ({
  ...state,
  promises: state.promises.toSpliced(
    state.promises.findLastIndex(({ dueAt }) => dueAt <= promise.dueAt) + 1,
    0,
    promise,
  ),
});

/** Calls that have to be there now so that with the whole refill each promise can be kept. */
export function keptFor(state: BudgetState): number {
  const rate = rateOf(state);
  return state.promises.reduce(
    (held, { dueAt }, index) => Math.max(held, index + 1 - rate * Math.max(0, dueAt - state.at)),
    0,
  );
}

/**
 * How long until there is a call that no promise needs.
 *
 * @param supply calls that are there
 * @param perMs what flows in
 */
export function unpromisedMs({ at, promises }: BudgetState, supply: number, perMs: number): number {
  let earliest = at;
  // A call before a promise that has none to spare would break it.
  for (const [index, { dueAt }] of promises.entries()) {
    if (supply + perMs * Math.max(0, dueAt - at) < index + 2) earliest = Math.max(earliest, dueAt);
  }
  for (let before = 0; ; ) {
    while ((promises[before]?.dueAt ?? Number.POSITIVE_INFINITY) <= earliest) before += 1;
    const neededAt = at + Math.max(0, (before + 1 - supply) / perMs);
    if (neededAt <= earliest) return earliest - at;
    earliest = neededAt;
  }
}

/** @param turn when its flow has it by fairness alone, and how many calls come before it beside those that were promised */
export function keepTurn(
  state: BudgetState,
  { flow, fairMs, before }: { flow: string; fairMs: number; before: number },
): { state: BudgetState; retryAfterMs: number } {
  const pauseMs = Math.max(0, state.pausedUntil - state.at);
  const slotMs = unpromisedMs(state, levelOf(state) - before, rateOf(state) * promisedShare);
  const retryAfterMs = Math.ceil(Math.max(pauseMs, fairMs, slotMs));
  const last = state.promises.findLast((promise) => promise.flow === flow);
  if (hasRoomFor(state, flow) && (last === undefined || retryAfterMs <= horizonMs)) {
    return { state: keep(state, { flow, dueAt: state.at + retryAfterMs }), retryAfterMs };
  }
  return { state, retryAfterMs: last === undefined ? retryAfterMs : Math.max(0, last.dueAt - state.at) };
}
