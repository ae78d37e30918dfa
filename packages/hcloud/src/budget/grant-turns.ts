import {
  type BudgetState,
  capacityOf,
  committedOf,
  type Demand,
  type ReplicaState,
  type Turns,
} from './budget-state.js';
import { type CallClass, commonLeft, type PoolName, poolRules, poolsOf } from './call-class.js';
import { type Admission, admits, charge, debtOf } from './pool.js';

/**
 * Gives turns while there are calls and somebody waits: the flow with the smallest debt is next, of equal ones the one
 * that has waited longest. Debts are repaid evenly, so flows that keep waiting have their turns one after the other,
 * however many requests each of them has, and at however many replicas.
 *
 * A reserve serves its class while that class has no turn in the common pool.
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

/** So many calls may be under way before the upstream has said how many are left: the first answer tells. */
const underWayUnheard = 10;

interface Turn {
  readonly replica: string;
  readonly demand: Demand;
  readonly pool: PoolName;
}

function chooseTurn(state: BudgetState): Turn | null {
  const demands = Object.entries(state.replicas).flatMap(([replica, { waiting }]) =>
    waiting.map((demand) => ({ replica, demand })),
  );
  const from = (rank: number): Turn | null => {
    let chosen: Turn | null = null;
    for (const { replica, demand } of demands) {
      const pool = poolsOf[demand.class][rank];
      if (pool === undefined) continue;
      const turn = { replica, demand, pool };
      const isAdmitted = admits(state.pools[pool], demand.flow, admissionOf(state, demand.class, pool));
      if (isAdmitted && (chosen === null || comesBefore(state, turn, chosen))) chosen = turn;
    }
    return chosen;
  };
  return from(0) ?? from(1);
}

function comesBefore(state: BudgetState, one: Turn, other: Turn): boolean {
  const debt = (turn: Turn): number => debtOf(state.pools[turn.pool], turn.demand.flow);
  const difference = debt(one) - debt(other);
  return difference === 0 ? one.demand.since < other.demand.since : difference < 0;
}

function giveTurn(state: BudgetState, { replica, demand, pool }: Turn): BudgetState {
  const at = state.replicas[replica] as ReplicaState;
  const turn = { class: demand.class, flow: demand.flow, pool, count: 1 };
  const after = { ...at, waiting: without(at.waiting, demand, 1), turns: addTurn(at.turns, turn) };
  return {
    ...state,
    pools: { ...state.pools, [pool]: charge(state.pools[pool], demand.flow) },
    replicas: { ...state.replicas, [replica]: after },
  };
}

/** Leaves out so many requests of a flow: they have their turn. */
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
    turn.class === added.class && turn.flow === added.flow && turn.pool === added.pool;
  if (!turns.some(isSame)) return [...turns, added];
  return turns.map((turn) => (isSame(turn) ? { ...turn, count: turn.count + added.count } : turn));
}

export function admissionOf(state: Pick<BudgetState, 'limit'>, callClass: CallClass, pool: PoolName): Admission {
  const left = pool === 'common' ? commonLeft[callClass] * capacityOf(state, 'common') : 0;
  return { left, burst: poolRules[pool].burst };
}
