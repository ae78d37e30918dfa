/**
 * What a call is for. `write` and `cleanup` are made for a team, the others for the service as a whole: `settle` finds
 * out what became of an uncertain write, `recheck` takes a second look, `poll` asks for actions, `sync` walks the zone.
 */
export const callClasses = ['write', 'cleanup', 'settle', 'recheck', 'poll', 'sync'] as const;
export type CallClass = (typeof callClasses)[number];

/** Whether a call is made for a team. */
export const isForTeam = (callClass: CallClass): boolean => callClass === 'write' || callClass === 'cleanup';

/** The account of a call: the team's, or for calls of the service itself one per class. */
export const flowOf = (callClass: CallClass, team: string | null): string => team ?? `~${callClass}`;

/** The budget in parts: `common` serves all classes, every other bucket is the reserve of one class. */
export const bucketNames = ['common', 'cleanup', 'poll', 'settle', 'recheck', 'sync'] as const;
export type BucketName = (typeof bucketNames)[number];

/**
 * `holds` is the part of the limit that a full bucket holds, `inflow` the part of the refill that is its own while it is
 * not full. Without reserves, clean-up would starve under a flood of writes, and clients would never learn how actions
 * ended. A reserve holds twenty minutes of its inflow; what it does not need flows into the common bucket. What it holds
 * and its class does not claim is lent to all but for the last calls.
 */
export const bucketRules: Readonly<Record<BucketName, { readonly holds: number; readonly inflow: number }>> = {
  common: { holds: 0.9, inflow: 0.7 },
  cleanup: reserve(0.1),
  poll: reserve(0.1),
  settle: reserve(0.05),
  recheck: reserve(0.03),
  sync: reserve(0.02),
};

function reserve(inflow: number) {
  return { holds: inflow / 3, inflow };
}

export interface Grant {
  /** Calls per hour as the upstream stated them; null before it said anything. */
  readonly limit: number | null;
}

export interface Levels {
  /** Calls that each bucket has, fractions included. Common is below zero while it borrows from the reserves. */
  readonly buckets: Readonly<Record<BucketName, number>>;
}

/**
 * The account of one upstream project, which all processes share. Plain data, kept as JSON; times are in milliseconds
 * on the clock of the store.
 */
export interface BudgetState extends Grant, Levels {
  readonly form: typeof stateForm;
  /** After a 429 nobody calls until then. */
  readonly pausedUntil: number;
  /** How many pauses there were since the last other answer. */
  readonly refusals: number;
  /** The time until which the refill is accounted for. */
  readonly at: number;
  /** The round in which calls are made now, and that of the next call of each flow that is ahead of it. */
  readonly round: number;
  readonly next: Readonly<Record<string, number>>;
  /** The time at which each flow last asked for a call, within `activeMs`. */
  readonly askedAt: Readonly<Record<string, number>>;
  /** Calls that have ended since the account was opened. */
  readonly ended: number;
  /** Turns that are kept for refused requests, the earliest first. */
  readonly promises: readonly PromisedTurn[];
  readonly processes: Readonly<Record<string, ProcessState>>;
}

interface ProcessState {
  readonly seenAt: number;
  /** Its calls under way: the upstream may not have counted them yet. */
  readonly out: number;
  readonly waiting: readonly Demand[];
}

/** A turn that is kept for a flow from then on, for a while. */
export interface PromisedTurn {
  readonly flow: string;
  readonly dueAt: number;
}

/** Requests of one flow and class that wait at one process. */
export interface Demand {
  readonly class: CallClass;
  readonly flow: string;
  readonly count: number;
  /** The time since which the oldest waits. */
  readonly since: number;
}

/** A state in another form counts as lost. It is kept under another name, so processes of two versions can run together. */
export const stateForm = 5;

/** The upstream's published budget: one project, one hour. Assumed until it states its own. */
export const usualLimit = 3_600;
const hourMs = 3_600_000;
/** A process that was not heard of for so long makes no call and waits for none. */
export const silentMs = 3_000;
/** A flow counts as asking for so long after its last request. */
const activeMs = 300_000;

export const limitOf = ({ limit }: Grant): number => limit ?? usualLimit;

/** What flows in per millisecond. */
export const rateOf = (grant: Grant): number => limitOf(grant) / hourMs;

export const capacityOf = (grant: Grant, bucket: BucketName): number => limitOf(grant) * bucketRules[bucket].holds;

/** Calls that may be made and were not. */
export const levelOf = ({ buckets }: Levels): number => bucketNames.reduce((sum, name) => sum + buckets[name], 0);

/** Calls under way. */
export const committedOf = ({ processes }: BudgetState): number =>
  Object.values(processes).reduce((sum, { out }) => sum + out, 0);

const mapBuckets = (of: (name: BucketName) => number): Record<BucketName, number> =>
  Object.fromEntries(bucketNames.map((name) => [name, of(name)])) as Record<BucketName, number>;

/** @param level calls that are there; all that fit unless given */
export function freshState(of: { now: number; limit: number | null; level?: number }): BudgetState {
  const { now, limit } = of;
  const full = limitOf({ limit });
  const part = Math.min(1, Math.max(0, of.level ?? full) / full);
  return {
    form: stateForm,
    at: now,
    limit,
    buckets: mapBuckets((name) => part * capacityOf({ limit }, name)),
    round: 0,
    next: {},
    askedAt: {},
    ended: 0,
    pausedUntil: 0,
    refusals: 0,
    promises: [],
    processes: {},
  };
}

/** Adds what has flowed in until `now`: to each reserve its share while it has room, and the rest to all. */
export function refillUntil(state: BudgetState, now: number): BudgetState {
  const inflow = Math.max(0, now - state.at) * rateOf(state);
  const shares = inflowShares(state);
  const at = Math.max(state.at, now);
  const filled = mapBuckets((name) => state.buckets[name] + inflow * shares[name]);
  let overflow = 0;
  const buckets = mapBuckets((name) => {
    const level = Math.min(filled[name], capacityOf(state, name));
    overflow += filled[name] - level;
    return level;
  });
  // Seldom and little: a bucket became full within this step.
  return overflow === 0
    ? { ...state, at, buckets }
    : setLevelOf({ ...state, at, buckets }, levelOf({ buckets }) + overflow);
}

/** The part of the inflow that each bucket gets now: what full reserves do not need goes to the common bucket. */
export function inflowShares(state: BudgetState): Record<BucketName, number> {
  const own = mapBuckets((name) => (state.buckets[name] < capacityOf(state, name) ? bucketRules[name].inflow : 0));
  const reserved = bucketNames.reduce((sum, name) => (name === 'common' ? sum : sum + own[name]), 0);
  return { ...own, common: 1 - reserved };
}

/** Sets the level of the whole: what lacks is taken from the common bucket, what is too much goes where there is room. */
export function setLevelOf(state: BudgetState, target: number): BudgetState {
  const level = levelOf(state);
  const roomOf = (name: BucketName): number => capacityOf(state, name) - state.buckets[name];
  const room = bucketNames.reduce((sum, name) => sum + roomOf(name), 0);
  const levelAfter = (name: BucketName): number => {
    const before = state.buckets[name];
    if (target >= level) return room <= 0 ? before : before + roomOf(name) * Math.min(1, (target - level) / room);
    return name === 'common' ? before + target - level : before;
  };
  return { ...state, buckets: mapBuckets((name) => Math.min(levelAfter(name), capacityOf(state, name))) };
}

/** Takes a new limit: what does not fit into smaller reserves is everybody's, and what does not fit there is lost. */
export function setLimit(state: BudgetState, limit: number): BudgetState {
  const capacity = (name: BucketName): number => capacityOf({ limit }, name);
  const reserved = mapBuckets((name) => (name === 'common' ? 0 : Math.min(state.buckets[name], capacity(name))));
  const common = levelOf(state) - bucketNames.reduce((sum, name) => sum + reserved[name], 0);
  return { ...state, limit, buckets: { ...reserved, common: Math.min(common, capacity('common')) } };
}

/*
 * The order of flows is start-time fair queueing (Goyal, Vin and Cheng, 1996). Each round has one call of each flow that
 * waits. A flow that had its call is in the next round; one that comes, or comes back, is in the present one. So a flow
 * that was alone owes nobody anything, and one that was idle has saved up nothing.
 */

/** How many rounds have to pass until a flow's next call. */
export const leadOf = ({ round, next }: BudgetState, flow: string): number => Math.max(0, (next[flow] ?? 0) - round);

/** The flow has its turn by the order: the present round is that of its call, or of the first that waits before. */
export function takeRound(state: BudgetState, flow: string, waiting: readonly string[]): BudgetState {
  const rounds = waiting.reduce((least, other) => Math.min(least, leadOf(state, other)), leadOf(state, flow));
  const charged = chargeFlows(state, { [flow]: 1 });
  if (rounds === 0) return charged;
  const round = state.round + rounds;
  // Flows that are not ahead are forgotten.
  return { ...charged, round, next: Object.fromEntries(Object.entries(charged.next).filter(([, of]) => of > round)) };
}

/** Flows had so many calls (fewer than none for those that come back) that were not given by the order. */
export function chargeFlows(state: BudgetState, calls: Readonly<Record<string, number>>): BudgetState {
  const { round } = state;
  const next = { ...state.next };
  for (const [flow, count] of Object.entries(calls)) {
    const of = round + leadOf(state, flow) + count;
    if (of > round) next[flow] = of;
    else delete next[flow];
  }
  return { ...state, next };
}

/** Notes that a process is there with these requests, and that their flows ask. */
export function noteProcess(state: BudgetState, process: string, waiting: readonly Demand[]): BudgetState {
  const askedAt: Record<string, number> = {};
  for (const [flow, at] of Object.entries(state.askedAt)) if (at + activeMs > state.at) askedAt[flow] = at;
  for (const { flow } of waiting) askedAt[flow] = state.at;
  const out = state.processes[process]?.out ?? 0;
  return { ...state, askedAt, processes: { ...state.processes, [process]: { seenAt: state.at, out, waiting } } };
}

/** Nobody waits any more for a process that is silent. It may have used its turns: the upstream's next statement shows it. */
export function forgetSilent(state: BudgetState): BudgetState {
  const heard = Object.entries(state.processes).filter(([, { seenAt }]) => seenAt + silentMs > state.at);
  return { ...state, processes: Object.fromEntries(heard) };
}
