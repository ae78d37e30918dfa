import {
  type BudgetState,
  capacityOf,
  committedOf,
  type Demand,
  levelOf,
  limitOf,
  type PromisedTurn,
  type ReplicaState,
  type Turns,
} from './budget-state.js';
import { type BucketName, bucketsOf, type CallClass, commonLeft } from './call-class.js';
import { chargeCalls, leadOf, takeTurn } from './fair-order.js';
import { keptFor, promiseCounts, redeem } from './promises.js';

/**
 * Gives turns while there are calls and requests wait. First come the requests that were promised this turn. Then flows
 * that wait have one turn in each round, the one first that has waited longest, however many requests each has, and at
 * however many replicas.
 *
 * A reserve serves its class while that class has no turn in the common bucket; and before that one, while others use what
 * the reserve holds.
 */
export function grantTurns(state: BudgetState): BudgetState {
  if (state.at < state.pausedUntil) return state;
  let next = state;
  for (;;) {
    if (next.limit === null && committedOf(next) >= underWayUnheard) return next;
    const turn = chooseTurn(next);
    if (turn === null) return next;
    next = giveTurn(next, turn);
  }
}

/** Maximum calls under way before the upstream has stated what is left. Its first answer states it. */
const underWayUnheard = 10;

interface Turn {
  readonly replica: string;
  readonly demand: Demand;
  readonly bucket: BucketName;
  /** Which it fulfils. */
  readonly promise?: PromisedTurn;
}

interface Candidate extends Turn {
  /** How many rounds its flow is ahead, with what that was promised. */
  readonly lead: number;
}

function chooseTurn(state: BudgetState): Turn | null {
  const demands = Object.entries(state.replicas).flatMap(([replica, { waiting }]) =>
    waiting.map((demand) => ({ replica, demand })),
  );
  if (demands.length === 0) return null;
  const freeFor = freeCallsOf(state);
  const promisesTo = promiseCounts(state);
  const from = (rank: number): Turn | null => {
    let chosen: Candidate | null = null;
    for (const { replica, demand } of demands) {
      const bucket = bucketsOf[demand.class][rank];
      if (bucket === undefined) continue;
      if (!isOne(freeFor(demand.class, bucket))) continue;
      const turn = {
        replica,
        demand,
        bucket,
        lead: leadOf(state.order, demand.flow) + promisesTo(demand.flow),
      };
      if (chosen === null || comesBefore(turn, chosen)) chosen = turn;
    }
    return chosen;
  };
  const promised = promisedTurn(state, demands);
  if (promised !== null) return promised;
  return state.buckets.common >= 1 ? (from(0) ?? from(1)) : (from(1) ?? from(0));
}

/** The turn that was promised for the earliest time that has come, to a flow that waits. */
function promisedTurn(state: BudgetState, demands: readonly Pick<Turn, 'replica' | 'demand'>[]): Turn | null {
  if (levelOf(state) < 1) return null;
  for (const promise of state.promises) {
    if (promise.dueAt > state.at) return null;
    const [first] = demands
      .filter(({ demand }) => demand.flow === promise.flow)
      .sort((one, other) => one.demand.since - other.demand.since);
    if (first !== undefined) return { ...first, bucket: 'common', promise };
  }
  return null;
}

function comesBefore(one: Candidate, other: Candidate): boolean {
  const difference = one.lead - other.lead;
  return difference === 0 ? one.demand.since < other.demand.since : difference < 0;
}

function giveTurn(before: BudgetState, { replica, demand, bucket, promise }: Turn): BudgetState {
  const state = promise === undefined ? before : redeem(before, promise);
  const at = state.replicas[replica] as ReplicaState;
  const turn = { class: demand.class, flow: demand.flow, bucket, count: 1 };
  const after = { ...at, waiting: without(at.waiting, demand, 1), turns: addTurn(at.turns, turn) };
  return {
    ...state,
    buckets: { ...state.buckets, [bucket]: state.buckets[bucket] - 1 },
    order: promise === undefined ? takeTurn(state.order, demand.flow) : chargeCalls(state.order, { [demand.flow]: 1 }),
    replicas: { ...state.replicas, [replica]: after },
  };
}

/** Leaves out `count` requests of a flow, which have their turn. */
export function without(
  demands: readonly Demand[],
  { class: callClass, flow }: Pick<Demand, 'class' | 'flow'>,
  count: number,
): Demand[] {
  return demands.flatMap((demand) => {
    if (demand.class !== callClass || demand.flow !== flow) return [demand];
    return demand.count > count ? [{ ...demand, count: demand.count - count }] : [];
  });
}

function addTurn(turns: readonly Turns[], added: Turns): Turns[] {
  const isSame = (turn: Turns): boolean =>
    turn.class === added.class && turn.flow === added.flow && turn.bucket === added.bucket;
  if (!turns.some(isSame)) return [...turns, added];
  return turns.map((turn) => (isSame(turn) ? { ...turn, count: turn.count + added.count } : turn));
}

/** Sums of fractions may fall short by a rounding error. */
const ROUNDING = 1e-6;

export const isOne = (calls: number): boolean => calls >= 1 - ROUNDING;

/** Part of the limit that reserves do not lend: the first calls of their classes need not wait, whatever others do. */
const notLent = 1 / 360;

/**
 * How many calls of a class a bucket has now. What is held for promises is not available; what the reserves hold and do
 * not use, they lend to the common bucket but for the last few.
 */
export function freeCallsOf(state: BudgetState): (callClass: CallClass, bucket: BucketName) => number {
  const spare = levelOf(state) - keptFor(state);
  const reserved = levelOf(state) - state.buckets.common;
  const ofCommon = spare - Math.min(reserved, notLent * limitOf(state));
  return (callClass, bucket) => {
    if (bucket !== 'common') return Math.min(spare, state.buckets[bucket]);
    const left = commonLeft[callClass] * capacityOf(state, 'common');
    return left === 0 ? ofCommon : Math.min(ofCommon, state.buckets.common - left);
  };
}
