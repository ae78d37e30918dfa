/**
 * A token bucket with accounts. Each call puts its flow one into debt; what flows in repays all debtors evenly. So a
 * flow's debt is by how much it is ahead of the refill's fair division: who was served least has the smallest one.
 */
export interface Pool {
  /** Calls that may be made, fractions included. Below zero while more is under way or borrowed than there was. */
  readonly level: number;
  /** What each debtor was repaid so far: a count that only grows, so that a refill need not touch every account. */
  readonly repaid: number;
  /** Where `repaid` has to be until a flow owes nothing. Flows without debt are absent. */
  readonly paidAt: Readonly<Record<string, number>>;
}

/** Sums of fractions may fall short by a rounding error. */
const ROUNDING = 1e-6;

export const poolOf = (level: number): Pool => ({ level, repaid: 0, paidAt: {} });

/** Calls that a flow had and the refill has not repaid yet. */
export function debtOf({ repaid, paidAt }: Pool, flow: string): number {
  return Math.max(0, (paidAt[flow] ?? 0) - repaid);
}

/** Calls that all flows had and the refill has not repaid yet. */
export const debtOfAll = (pool: Pool): number => debtsOf(pool).reduce((sum, debt) => sum + debt, 0);

/** Lets `amount` flow in. The debts never exceed what the pool lacks: behind a full pool no flow waits. */
export function refill(pool: Pool, amount: number, capacity: number): { pool: Pool; overflow: number } {
  const level = Math.min(capacity, pool.level + amount);
  const overflow = Math.max(0, pool.level + amount - capacity);
  return { pool: setLevel(repayEvenly(pool, amount), level, capacity), overflow };
}

/** Corrects the level without anybody having drawn or paid. */
export function setLevel(pool: Pool, level: number, capacity: number): Pool {
  return { ...repayEvenly(pool, debtOfAll(pool) - (capacity - level)), level };
}

export function charge(pool: Pool, flow: string, calls = 1): Pool {
  return { ...indebt(pool, flow, calls), level: pool.level - calls };
}

/** Puts calls on a flow's account that were taken out of the level before; a negative number takes them off. */
export function indebt(pool: Pool, flow: string, calls: number): Pool {
  const at = Math.max(pool.paidAt[flow] ?? 0, pool.repaid) + calls;
  if (at - pool.repaid > ROUNDING) return { ...pool, paidAt: { ...pool.paidAt, [flow]: at } };
  const { [flow]: _paid, ...others } = pool.paidAt;
  return { ...pool, paidAt: others };
}

/** Undoes `charge` for calls that were not made; without a flow, for calls on no account. */
export function credit(pool: Pool, flow: string | null, calls: number, capacity: number): Pool {
  const credited = flow === null ? pool : indebt(pool, flow, -calls);
  return setLevel(credited, Math.min(capacity, pool.level + calls), capacity);
}

/** The flows whose debt is beyond a bound. */
export function flowsBeyond(pool: Pool, debt: number): string[] {
  return Object.keys(pool.paidAt).filter((flow) => debtOf(pool, flow) > debt);
}

export interface Admission {
  /** What the flow has to leave in the pool; below zero, what it may draw beyond it. */
  readonly left: number;
  /** See `PoolRule.burst`. */
  readonly burst: number;
}

/** Whether a flow may draw one call now. One that owes nothing may draw the last call. */
export function admits(pool: Pool, flow: string, { left, burst }: Admission): boolean {
  const free = pool.level - left;
  return free >= 1 - ROUNDING && debtOf(pool, flow) + 1 <= Math.max(1, burst * free) + ROUNDING;
}

/**
 * How long it takes until `admits` holds for a flow, if no further requests arrive.
 *
 * @param before calls that are made until then: by `others`, and by the flow itself (`own`)
 * @param perMs what flows into the pool
 */
export function waitMs(
  pool: Pool,
  flow: string,
  before: { readonly others: number; readonly own: number },
  { left, burst }: Admission,
  perMs: number,
): number {
  const free = pool.level - left - before.others - before.own;
  const untilToken = (1 - free) / perMs;
  const debt = debtOf(pool, flow) + before.own;
  if (debt <= ROUNDING || burst === Number.POSITIVE_INFINITY) return Math.max(0, untilToken);
  const debtors = Object.keys(pool.paidAt).length + (debtOf(pool, flow) === 0 ? 1 : 0);
  const untilWithinBurst = (debt + 1 - burst * free) / (perMs * (burst + 1 / debtors));
  const untilRepaid = (debt * debtors) / perMs;
  return Math.max(0, untilToken, Math.min(untilWithinBurst, untilRepaid));
}

const debtsOf = ({ repaid, paidAt }: Pool): number[] => Object.values(paidAt).map((at) => at - repaid);

/** No debtor is repaid more than its debt; what is left over goes to the others. */
function repayEvenly(pool: Pool, amount: number): Pool {
  if (amount <= 0) return pool;
  const debts = debtsOf(pool);
  const share = amount / Math.max(1, debts.length);
  if (debts.every((debt) => debt - share > ROUNDING)) return { ...pool, repaid: pool.repaid + share };
  const repaid = pool.repaid + repaymentOfEach(debts, amount);
  const owing = Object.entries(pool.paidAt).filter(([, at]) => at - repaid > ROUNDING);
  return { ...pool, repaid, paidAt: Object.fromEntries(owing) };
}

/** What the largest debtors get when the smaller debts are paid in full, or the largest debt if all are. */
function repaymentOfEach(debts: readonly number[], amount: number): number {
  const ascending = [...debts].sort((one, other) => one - other);
  let left = amount;
  for (const [index, debt] of ascending.entries()) {
    const each = left / (ascending.length - index);
    if (each <= debt) return each;
    left -= debt;
  }
  return ascending.at(-1) ?? 0;
}
