/**
 * What a call is for. `write` and `cleanup` are made for a team, the others for the service as a whole: `settle` finds
 * out what became of an uncertain write, `recheck` takes a second look, `poll` asks for actions, `sync` walks the zone.
 */
export const callClasses = ['write', 'cleanup', 'settle', 'recheck', 'poll', 'sync'] as const;
export type CallClass = (typeof callClasses)[number];

/** The budget in parts: `common` serves all classes, every other bucket is the reserve of one class. */
export const bucketNames = ['common', 'cleanup', 'poll', 'settle', 'recheck', 'sync'] as const;
export type BucketName = (typeof bucketNames)[number];

interface BucketRule {
  /** Part of the limit that the bucket holds when it is full. */
  readonly holds: number;
  /** Part of the refill that is its own while it is not full. */
  readonly inflow: number;
}

/**
 * Without reserves, clean-up would starve under a flood of writes, and clients would never learn how actions ended. A
 * reserve holds twenty minutes of its inflow; what it does not need flows into the common bucket. What it holds and its
 * class does not claim is lent to all: a claim of its class then comes before all calls but those that were promised.
 */
export const bucketRules: Readonly<Record<BucketName, BucketRule>> = {
  common: { holds: 0.9, inflow: 0.7 },
  cleanup: reserve(0.1),
  poll: reserve(0.1),
  settle: reserve(0.05),
  recheck: reserve(0.03),
  sync: reserve(0.02),
};

function reserve(inflow: number): BucketRule {
  return { holds: inflow / 3, inflow };
}

/** The buckets a class draws from, in this order. */
export const bucketsOf: Readonly<Record<CallClass, readonly BucketName[]>> = {
  write: ['common'],
  cleanup: ['common', 'cleanup'],
  settle: ['common', 'settle'],
  recheck: ['common', 'recheck'],
  poll: ['common', 'poll'],
  sync: ['common', 'sync'],
};

/** Part of the common bucket that a class leaves alone: a sync comes after everything else. */
export const commonLeft: Readonly<Record<CallClass, number>> = {
  write: 0,
  cleanup: 0,
  settle: 0,
  recheck: 0,
  poll: 0,
  sync: 1 / 2,
};

/** Whether a call is made for a team. */
export function isForTeam(callClass: CallClass): boolean {
  return callClass === 'write' || callClass === 'cleanup';
}

/** The account a call is charged to: the team's, or for calls of the service itself one per class. */
export function flowOf(callClass: CallClass, team: string | null): string {
  return team ?? `~${callClass}`;
}
