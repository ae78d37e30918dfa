/**
 * A token bucket with accounts. Each call puts its flow one into debt; what flows in repays all debtors evenly. So a
 * flow's debt is by how much it is ahead of the refill's fair division: who was served least has the smallest one.
 */
export interface DebtBucket {
  /** Calls that may be made, fractions included. Below zero while more is under way or borrowed than there was. */
  readonly level: number;
  /** What each debtor was repaid so far: a count that only grows, so that a refill need not touch every account. */
  readonly repaid: number;
  /** Where `repaid` has to be until a flow owes nothing. Flows without debt are absent. */
  readonly paidAt: Readonly<Record<string, number>>;
}

/** Sums of fractions may fall short by a rounding error. */
const ROUNDING = 1e-6;

export const bucketOf = (level: number): DebtBucket => ({ level, repaid: 0, paidAt: {} });

/** Calls that a flow had and the refill has not repaid yet. */
export function debtOf({ repaid, paidAt }: DebtBucket, flow: string): number {
  return Math.max(0, (paidAt[flow] ?? 0) - repaid);
}

/** Calls that all flows had and the refill has not repaid yet. */
export const debtOfAll = (bucket: DebtBucket): number => debtsOf(bucket).reduce((sum, debt) => sum + debt, 0);

/** Lets `amount` flow in. The debts never exceed what the bucket lacks: behind a full bucket no flow waits. */
export function refill(bucket: DebtBucket, amount: number, capacity: number): { bucket: DebtBucket; overflow: number } {
  const level = Math.min(capacity, bucket.level + amount);
  const overflow = Math.max(0, bucket.level + amount - capacity);
  return { bucket: setLevel(repayEvenly(bucket, amount), level, capacity), overflow };
}

/** Corrects the level without anybody having drawn or paid. */
export function setLevel(bucket: DebtBucket, level: number, capacity: number): DebtBucket {
  return { ...repayEvenly(bucket, debtOfAll(bucket) - (capacity - level)), level };
}

export function charge(bucket: DebtBucket, flow: string, calls = 1): DebtBucket {
  return { ...indebt(bucket, flow, calls), level: bucket.level - calls };
}

/** Puts calls on a flow's account that were taken out of the level before; a negative number takes them off. */
export function indebt(bucket: DebtBucket, flow: string, calls: number): DebtBucket {
  const at = Math.max(bucket.paidAt[flow] ?? 0, bucket.repaid) + calls;
  if (at - bucket.repaid > ROUNDING) return { ...bucket, paidAt: { ...bucket.paidAt, [flow]: at } };
  const { [flow]: _paid, ...others } = bucket.paidAt;
  return { ...bucket, paidAt: others };
}

/** Undoes `charge` for calls that were not made; without a flow, for calls on no account. */
export function credit(bucket: DebtBucket, flow: string | null, calls: number, capacity: number): DebtBucket {
  const credited = flow === null ? bucket : indebt(bucket, flow, -calls);
  return setLevel(credited, Math.min(capacity, bucket.level + calls), capacity);
}

/** The flows whose debt is beyond a bound. */
export function flowsBeyond(bucket: DebtBucket, debt: number): string[] {
  return Object.keys(bucket.paidAt).filter((flow) => debtOf(bucket, flow) > debt);
}

export interface Admission {
  /** What the flow has to leave in the bucket; below zero, what it may draw beyond it. */
  readonly left: number;
  /** See `BucketRule.burst`. */
  readonly burst: number;
}

/** Whether a flow may draw one call now. One that owes nothing may draw the last call. */
export function admits(bucket: DebtBucket, flow: string, { left, burst }: Admission): boolean {
  const free = bucket.level - left;
  return free >= 1 - ROUNDING && debtOf(bucket, flow) + 1 <= Math.max(1, burst * free) + ROUNDING;
}

/**
 * How long it takes until `admits` holds for a flow, if no further requests arrive.
 *
 * @param before calls that are made until then: by `others`, and by the flow itself (`own`)
 * @param perMs what flows into the bucket
 */
export function waitMs(
  bucket: DebtBucket,
  flow: string,
  before: { readonly others: number; readonly own: number },
  { left, burst }: Admission,
  perMs: number,
): number {
  const free = bucket.level - left - before.others - before.own;
  const untilToken = (1 - free) / perMs;
  const debt = debtOf(bucket, flow) + before.own;
  if (debt <= ROUNDING || burst === Number.POSITIVE_INFINITY) return Math.max(0, untilToken);
  const debtors = Object.keys(bucket.paidAt).length + (debtOf(bucket, flow) === 0 ? 1 : 0);
  const untilWithinBurst = (debt + 1 - burst * free) / (perMs * (burst + 1 / debtors));
  const untilRepaid = (debt * debtors) / perMs;
  return Math.max(0, untilToken, Math.min(untilWithinBurst, untilRepaid));
}

const debtsOf = ({ repaid, paidAt }: DebtBucket): number[] => Object.values(paidAt).map((at) => at - repaid);

/** No debtor is repaid more than its debt; what is left over goes to the others. */
function repayEvenly(bucket: DebtBucket, amount: number): DebtBucket {
  if (amount <= 0) return bucket;
  const debts = debtsOf(bucket);
  const share = amount / Math.max(1, debts.length);
  if (debts.every((debt) => debt - share > ROUNDING)) return { ...bucket, repaid: bucket.repaid + share };
  const repaid = bucket.repaid + repaymentOfEach(debts, amount);
  const owing = Object.entries(bucket.paidAt).filter(([, at]) => at - repaid > ROUNDING);
  return { ...bucket, repaid, paidAt: Object.fromEntries(owing) };
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
