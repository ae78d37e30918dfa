import { type BucketName, bucketNames, bucketRules, type CallClass, callClasses } from './call-class.js';
import { type FairOrder, leadOf, newOrder } from './fair-order.js';

/**
 * What all processes that use one upstream project share. Plain data, so that it can be kept as JSON; times are in
 * milliseconds on the clock of the store.
 */
export interface BudgetState {
  /** Of this description: a state in another form is as good as lost. */
  readonly form: typeof stateForm;
  /** Names this account: what is known of another one says nothing here. */
  readonly epoch: string;
  /** Until when the refill is accounted for. */
  readonly at: number;
  /** Calls per hour as the upstream stated them; null before it said anything. */
  readonly limit: number | null;
  /** Calls that each bucket has, fractions included. Common is below zero while it borrows from the reserves. */
  readonly buckets: Readonly<Record<BucketName, number>>;
  readonly order: FairOrder;
  /** When each flow last asked for a call, within `activeMs`. */
  readonly askedAt: Readonly<Record<string, number>>;
  /** Calls that have ended since the epoch began. */
  readonly ended: number;
  /** After a 429 no replica calls until then. */
  readonly pausedUntil: number;
  /** How many 429 there were since the last other answer. */
  readonly refusals: number;
  /** Turns that are kept for refused requests, the earliest first. */
  readonly promises: readonly PromisedTurn[];
  readonly replicas: Readonly<Record<string, ReplicaState>>;
}

export interface ReplicaState {
  readonly seenAt: number;
  /** Past it, what the replica holds is no longer counted on. */
  readonly leaseUntil: number;
  /** Calls it may make or has under way. */
  readonly out: number;
  readonly waiting: readonly Demand[];
  /** Turns that came while the replica was not asking: it gets them when it next does. */
  readonly turns: readonly Turns[];
}

/** A turn that is kept for a flow from then on, for a while. */
export interface PromisedTurn {
  readonly flow: string;
  readonly dueAt: number;
}

/** Requests of one flow that wait at one replica. */
export interface Demand {
  readonly class: CallClass;
  readonly flow: string;
  readonly count: number;
  /** Since when the oldest has been waiting. */
  readonly since: number;
}

/** Calls that a flow may make, and which bucket they came out of. */
export interface Turns {
  readonly class: CallClass;
  readonly flow: string;
  readonly bucket: BucketName;
  readonly count: number;
}

export const stateForm = 3;

/** The upstream's published budget: one project, one hour. Assumed until it states its own. */
export const usualLimit = 3_600;
const hourMs = 3_600_000;

export const limitOf = ({ limit }: Pick<BudgetState, 'limit'>): number => limit ?? usualLimit;

/** What flows in per millisecond. */
export const rateOf = (state: Pick<BudgetState, 'limit'>): number => limitOf(state) / hourMs;

export const capacityOf = (state: Pick<BudgetState, 'limit'>, bucket: BucketName): number =>
  limitOf(state) * bucketRules[bucket].holds;

/**
 * Calls that may be made and were not handed out. The common bucket may be below zero: then others use what the reserves
 * hold, until its class claims that.
 */
export function levelOf({ buckets }: Pick<BudgetState, 'buckets'>): number {
  return bucketNames.reduce((sum, name) => sum + buckets[name], 0);
}

/** Below this part of the common bucket every request waits for its turn. */
const ampleShare = 1 / 4;

/** Whether there is so much that no request has to wait. */
export function isAmple(state: BudgetState): boolean {
  return state.buckets.common >= ampleShare * capacityOf(state, 'common') && state.at >= state.pausedUntil;
}

/** Calls that were handed out and whose end is not known. */
export function committedOf({ replicas }: Pick<BudgetState, 'replicas'>): number {
  const of = ({ out, turns }: ReplicaState): number => turns.reduce((sum, { count }) => sum + count, out);
  return Object.values(replicas).reduce((sum, replica) => sum + of(replica), 0);
}

/** @param level calls that are there; all that fits unless given */
export function freshState(of: { epoch: string; now: number; limit: number | null; level?: number }): BudgetState {
  const { epoch, now, limit } = of;
  const full = limitOf({ limit });
  const part = Math.min(1, Math.max(0, of.level ?? full) / full);
  const buckets = mapBuckets((name) => part * capacityOf({ limit }, name));
  return {
    form: stateForm,
    epoch,
    at: now,
    limit,
    buckets,
    order: newOrder,
    askedAt: {},
    ended: 0,
    pausedUntil: 0,
    refusals: 0,
    promises: [],
    replicas: {},
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
export function inflowShares(state: Pick<BudgetState, 'limit' | 'buckets'>): Record<BucketName, number> {
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
  return {
    ...state,
    buckets: mapBuckets((name) => Math.min(levelAfter(name), capacityOf(state, name))),
  };
}

/** Takes a new limit: what does not fit into smaller reserves is everybody's, and what does not fit there is lost. */
export function setLimit(state: BudgetState, limit: number): BudgetState {
  const capacity = (name: BucketName): number => capacityOf({ limit }, name);
  const reserved = mapBuckets((name) => (name === 'common' ? 0 : Math.min(state.buckets[name], capacity(name))));
  const common = levelOf(state) - bucketNames.reduce((sum, name) => sum + reserved[name], 0);
  const levelAfter = { ...reserved, common: Math.min(common, capacity('common')) };
  return { ...state, limit, buckets: levelAfter };
}

export function mapBuckets<T>(of: (name: BucketName) => T): Record<BucketName, T> {
  return Object.fromEntries(bucketNames.map((name) => [name, of(name)])) as Record<BucketName, T>;
}

/** What one flow waits for, and how far it is ahead: a team, or the service itself for a class of calls (`~poll`). */
export interface FlowReading {
  readonly flow: string;
  /** Requests that wait for a turn. */
  readonly waiting: number;
  /** Since when the oldest of them waits; null if none does. */
  readonly waitingSince: Date | null;
  /** Calls that the flow made since the others that wait had theirs: so many rounds later is its next turn. */
  readonly ahead: number;
  /** When the turns begin that are kept for its refused requests, the earliest first. */
  readonly promisedAt: readonly Date[];
}

/** The flows that wait, are ahead or have a promise: who waits longest first, then who is furthest ahead. */
export function flowsOf({ order, promises, replicas }: BudgetState): FlowReading[] {
  const demands = Object.values(replicas).flatMap(({ waiting }) => waiting);
  const names = new Set([...demands, ...promises].map(({ flow }) => flow).concat(Object.keys(order.next)));
  return [...names]
    .map((flow) => {
      const own = demands.filter((demand) => demand.flow === flow && demand.count > 0);
      const since = own.map((demand) => demand.since);
      return {
        flow,
        waiting: own.reduce((sum, { count }) => sum + count, 0),
        waitingSince: since.length === 0 ? null : new Date(Math.min(...since)),
        ahead: leadOf(order, flow),
        promisedAt: promises.filter((promise) => promise.flow === flow).map(({ dueAt }) => new Date(dueAt)),
      };
    })
    .sort(
      (a, b) =>
        (a.waitingSince?.getTime() ?? Number.POSITIVE_INFINITY) -
          (b.waitingSince?.getTime() ?? Number.POSITIVE_INFINITY) ||
        b.ahead - a.ahead ||
        (a.flow < b.flow ? -1 : 1),
    );
}

/** The budget as others may see it. */
export interface BudgetReading {
  /** Calls per hour; null before the upstream said anything. */
  readonly limit: number | null;
  /** Calls that can be made immediately; null before the upstream said anything. */
  readonly remaining: number | null;
  /** When the whole budget is back without further calls. */
  readonly resetAt: Date | null;
  /** Requests that wait for a turn. */
  readonly waiting: Readonly<Record<CallClass, number>>;
}

export function readingOf(state: BudgetState): BudgetReading {
  const waiting = Object.fromEntries(callClasses.map((name) => [name, 0])) as Record<CallClass, number>;
  for (const { waiting: demands } of Object.values(state.replicas)) {
    for (const demand of demands) waiting[demand.class] += demand.count;
  }
  if (state.limit === null) return { limit: null, remaining: null, resetAt: null, waiting };
  const level = levelOf(state);
  const resetAt = new Date(Math.ceil(state.at + (state.limit - level) / rateOf(state)));
  return { limit: state.limit, remaining: Math.max(0, Math.floor(level)), resetAt, waiting };
}
