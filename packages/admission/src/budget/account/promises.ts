import { type BudgetState, levelOf, type PromisedTurn, rateOf } from './budget-state.js';
import { bucketRules } from './call-class.js';

/** Maximum turns kept for one flow. */
export const promisesPerFlow = 16;
/** Further turns are kept within this time only, since later demand is unknown. The first turn may be later. */
const horizonMs = 600_000;
/** Maximum turns kept in all, since every report reads and writes them. From half of it on, one per flow. */
export const promisesMax = 1_000;
/** How long a due turn is kept. Clients know the time in whole seconds only, and their request takes a while to arrive. */
export const keptMs = 10_000;
/**
 * The part of the refill that is promised. The reserves have theirs by that; what they do not claim is for those who
 * wait, and shortens the promises made later.
 */
const promisedShare = bucketRules.common.inflow;

/** When a flow that wants one more call has its turn, by fairness alone and beside what others were promised. */
export interface FairTurn {
  readonly flow: string;
  /** Calls that come before it beside those that were promised. */
  readonly before: number;
  readonly fairMs: number;
}

/** Drops promises that were not redeemed in time. A pause of the upstream does not count: no call can be made in it. */
export function dropUnredeemed(state: BudgetState): BudgetState {
  const isKept = ({ dueAt }: PromisedTurn): boolean => Math.max(dueAt, state.pausedUntil) + keptMs > state.at;
  return state.promises.every(isKept) ? state : { ...state, promises: state.promises.filter(isKept) };
}

export function promisesOf({ promises }: Pick<BudgetState, 'promises'>, flow: string): PromisedTurn[] {
  return promises.filter((promise) => promise.flow === flow);
}

/** How many turns each flow was promised. */
export function promiseCounts({ promises }: Pick<BudgetState, 'promises'>): (flow: string) => number {
  const counts = new Map<string, number>();
  for (const { flow } of promises) counts.set(flow, (counts.get(flow) ?? 0) + 1);
  return (flow) => counts.get(flow) ?? 0;
}

/** Takes off the first promise of a flow, which it has redeemed. */
export function redeem(state: BudgetState, redeemed: PromisedTurn): BudgetState {
  return { ...state, promises: state.promises.filter((promise) => promise !== redeemed) };
}

/** Calls that have to be there now so that with the whole refill each promise can be kept. */
export function keptFor(state: Pick<BudgetState, 'at' | 'limit' | 'promises'>): number {
  const rate = rateOf(state);
  // Not by `map` and `Math.max`: it is asked for every turn.
  let held = 0;
  let count = 0;
  for (const { dueAt } of state.promises) {
    count += 1;
    held = Math.max(held, count - rate * Math.max(0, dueAt - state.at));
  }
  return held;
}

/**
 * How long until there is a call that no promise needs.
 *
 * @param supply calls that are there
 * @param perMs what flows in
 */
export function unpromisedMs(
  { at, promises }: Pick<BudgetState, 'at' | 'promises'>,
  supply: number,
  perMs: number,
): number {
  let earliest = at;
  let count = 0;
  // A call before a promise that has none to spare would break it.
  for (const { dueAt } of promises) {
    count += 1;
    if (supply + perMs * Math.max(0, dueAt - at) < count + 1) earliest = Math.max(earliest, dueAt);
  }
  for (;;) {
    const before = promises.filter(({ dueAt }) => dueAt <= earliest).length;
    const neededAt = at + Math.max(0, (before + 1 - supply) / perMs);
    if (neededAt <= earliest) return earliest - at;
    earliest = neededAt;
  }
}

/**
 * Promises a flow its next turn. A flow that has its maximum of promises gets the time of the last one again. A request
 * of the flow that comes at that time has the turn.
 *
 * @returns how long it has to wait; the same state when no further turn is kept
 */
export function promiseTurn(
  state: BudgetState,
  { flow, before, fairMs }: FairTurn,
): { state: BudgetState; waitMs: number } {
  const pauseMs = Math.max(0, state.pausedUntil - state.at);
  const slotMs = unpromisedMs(state, levelOf(state) - before, rateOf(state) * promisedShare);
  const waitMs = Math.ceil(Math.max(pauseMs, fairMs, slotMs));
  const last = promisesOf(state, flow).at(-1);
  if (hasRoomFor(state, flow) && (last === undefined || waitMs <= horizonMs)) {
    return { state: keep(state, { flow, dueAt: state.at + waitMs }), waitMs };
  }
  return { state, waitMs: last === undefined ? waitMs : Math.max(0, last.dueAt - state.at) };
}

/** Keeps what was promised elsewhere, within the same bounds. */
export function adopt(state: BudgetState, promised: readonly { flow: string; inMs: number }[]): BudgetState {
  let next = state;
  for (const { flow, inMs } of promised) {
    if (hasRoomFor(next, flow)) next = keep(next, { flow, dueAt: state.at + inMs });
  }
  return next;
}

function hasRoomFor(state: BudgetState, flow: string): boolean {
  const { length } = state.promises;
  return length < promisesMax && promisesOf(state, flow).length < (length < promisesMax / 2 ? promisesPerFlow : 1);
}

function keep(state: BudgetState, promise: PromisedTurn): BudgetState {
  const promises = [...state.promises, promise].sort((one, other) => one.dueAt - other.dueAt);
  return { ...state, promises };
}
