import {
  type BucketName,
  type BudgetState,
  bucketRules,
  type CallClass,
  capacityOf,
  committedOf,
  type Demand,
  inflowShares,
  leadOf,
  levelOf,
  limitOf,
  type PromisedTurn,
  rateOf,
} from './account.js';

/*
 * A request has its turn by the order of the flows, or by a promise.
 */

/** Maximum calls under way before the upstream has stated what is left. Its first answer states it. */
const underWayUnheard = 10;
/** Sums of fractions may fall short by a rounding error. */
const rounding = 1e-6;
/** Part of the limit that reserves do not lend: the first calls of their classes need not wait, whatever others do. */
const notLent = 1 / 360;
/** Part of the common bucket that a sync leaves alone: it comes after everything else. */
const leftBySync = 1 / 2;
/** Room between two promised turns of one flow: for a call of another one, even if its patience began just after a third. */
const callsBetween = 2.5;
/** Time in which the whole budget flows in. */
export const longestWaitMs = 3_600_000;

/** Requests of a flow that wait, and how many rounds the flow is ahead: turns that it was promised count as used. */
interface Line extends Demand {
  readonly process: string;
  readonly lead: number;
}

/** What is needed of a state to find many turns. */
export interface View {
  readonly state: BudgetState;
  readonly lines: readonly Line[];
  readonly promises: ReadonlyMap<string, readonly PromisedTurn[]>;
  /** Calls that have to be left for promises. */
  readonly kept: number;
  readonly shares: Readonly<Record<BucketName, number>>;
}

/** @param before the view of an earlier state: what promises say is taken from it as long as they are the same */
export function viewOf(state: BudgetState, before?: View): View {
  const isSame = before?.state.promises === state.promises;
  const promises = isSame ? before.promises : Map.groupBy(state.promises, ({ flow }) => flow);
  const lines: Line[] = [];
  for (const [process, { waiting }] of Object.entries(state.processes)) {
    for (const demand of waiting) {
      const lead = leadOf(state, demand.flow) + (promises.get(demand.flow)?.length ?? 0);
      lines.push({ class: demand.class, flow: demand.flow, count: demand.count, since: demand.since, process, lead });
    }
  }
  return { state, lines, promises, kept: isSame ? before.kept : keptFor(state), shares: inflowShares(state) };
}

export interface Found {
  /** The time until its turn: 0 when it is now, null when nothing can be said. */
  readonly waitMs: number | null;
  readonly bucket: BucketName;
  /** The promise that the turn fulfils. */
  readonly promise?: PromisedTurn | undefined;
}

/** A request, as far as the time of its turn depends on it. */
interface Wanted {
  readonly class: CallClass;
  readonly flow: string;
  readonly waitedMs: number;
}

/** Finds the turn of a request before which `place` others wait in its line, if no further requests come. */
export function findTurn(view: View, process: string, each: Wanted, place: number): Found {
  const { state } = view;
  const since = state.at - each.waitedMs;
  // Requests of one flow that wait in several lines have their turns alternately.
  const same = view.lines.filter(
    (line) => line.flow === each.flow && (line.process !== process || line.class !== each.class),
  );
  const own = same.filter((line) => line.since < since).length + place * (1 + same.length);
  const pauseMs = Math.max(0, state.pausedUntil - state.at);
  const promises = view.promises.get(each.flow) ?? [];
  const lead = leadOf(state, each.flow) + promises.length + own;
  const waiter = { class: each.class, flow: each.flow, since, own, lead };
  if (state.limit === null) {
    const before = own + callsBefore(view, 'common', waiter);
    const isFree = committedOf(state) + before < underWayUnheard;
    return { waitMs: pauseMs > 0 ? pauseMs : isFree ? 0 : null, bucket: 'common' };
  }
  // A promise that is not due yet belongs to the request that comes back for it.
  if ((promises[own]?.dueAt ?? Number.POSITIVE_INFINITY) <= state.at) {
    const lackMs = (1 - rounding - levelOf(state)) / rateOf(state);
    return { waitMs: Math.max(pauseMs, lackMs, 0), bucket: 'common', promise: promises[0] };
  }
  const [first, second] = bucketsFor(state, each.class).map((bucket) => {
    return { bucket, waitMs: Math.max(pauseMs, waitIn(view, bucket, waiter)) };
  }) as [Found & { waitMs: number }, (Found & { waitMs: number }) | undefined];
  return second !== undefined && second.waitMs < first.waitMs ? second : first;
}

/** The buckets of a class: while the common one is lent what the reserves hold, a class uses its own first. */
function bucketsFor({ buckets }: BudgetState, callClass: CallClass): readonly BucketName[] {
  if (callClass === 'write') return ['common'];
  return buckets.common >= 1 ? ['common', callClass] : [callClass, 'common'];
}

/** The place of a request in the order of the flows. */
interface Position {
  readonly flow: string;
  readonly since: number;
  readonly lead: number;
}

interface Waiter extends Position {
  readonly class: CallClass;
  readonly own: number;
}

/** How long until a request has a call from a bucket. */
function waitIn(view: View, bucket: BucketName, waiter: Waiter): number {
  const { state, shares } = view;
  const before = waiter.own + callsBefore(view, bucket, waiter);
  const free = freeCalls(view, waiter.class, bucket);
  if (free - before >= 1 - rounding) return 0;
  const lack = 1 + before - (bucket === 'common' ? free : state.buckets[bucket]);
  const lackMs = lack <= 0 ? 0 : lack / (rateOf(state) * shares[bucket]);
  return Math.max(1, lackMs, unpromisedMs(state, levelOf(state) - before, rateOf(state)));
}

/** What a sync finds in the common bucket: it leaves a part alone. */
const commonForSync = (state: BudgetState): number => state.buckets.common - leftBySync * capacityOf(state, 'common');

/** Whether a request can have its turn from a bucket as it is. */
export const draws = (state: BudgetState, callClass: CallClass, bucket: BucketName): boolean =>
  bucket === 'common' ? callClass !== 'sync' || commonForSync(state) >= 1 : callClass === bucket;

/**
 * How many calls of a class a bucket has now. What is kept for promises is not available; what the reserves hold and do
 * not use, they lend to the common bucket but for the last few.
 */
function freeCalls({ state, kept }: View, callClass: CallClass, bucket: BucketName): number {
  const level = levelOf(state);
  if (bucket !== 'common') return Math.min(level - kept, state.buckets[bucket]);
  const lastOfReserves = Math.min(level - state.buckets.common, notLent * limitOf(state));
  const free = level - Math.max(kept, lastOfReserves);
  return callClass === 'sync' ? Math.min(free, commonForSync(state)) : free;
}

/**
 * Calls that others have from a bucket before a request: flows in earlier rounds, and those in its round that have waited
 * for longer.
 */
function callsBefore({ state, lines }: View, bucket: BucketName, { flow, since, lead }: Position): number {
  let calls = 0;
  for (const other of lines) {
    const rounds = lead - other.lead;
    if (other.flow === flow || rounds < 0 || (rounds === 0 && other.since >= since)) continue;
    if (draws(state, other.class, bucket)) calls += Math.min(other.count, Math.max(1, rounds));
  }
  return calls;
}

/** What a request is refused for: its team's share, since others come before it, or all that there is. */
export type UsedUp = 'share' | 'budget';

/**
 * Promises a flow its next turn. Fairness decides when: as if all that wait or asked lately went on asking, one call of
 * each in a round. Flows that had calls before and do not ask now hold nobody back. The first turn is at most an hour
 * away, or a round of all. A flow that has its maximum of promises gets the time of the last one again.
 */
export function promiseTurn(state: BudgetState, flow: string) {
  const view = viewOf(state);
  const own = view.promises.get(flow) ?? [];
  const ownWaiting = view.lines.reduce((sum, line) => (line.flow === flow ? sum + line.count : sum), 0);
  const lead = leadOf(state, flow) + own.length + ownWaiting;
  const others = new Set([...Object.keys(state.askedAt), ...view.promises.keys()]);
  others.delete(flow);
  const ofOthers = [...others].reduce((sum, each) => sum + Math.max(0, lead - leadOf(state, each)), 0);
  const usedUp: UsedUp = ofOthers > 0 ? 'share' : 'budget';
  const callMs = 1 / (rateOf(state) * view.shares.common);
  const free = Math.max(0, freeCalls(view, 'write', 'common'));
  const longestMs = own.length > 0 ? Number.POSITIVE_INFINITY : Math.max(longestWaitMs, (others.size + 1) * callMs);
  const roundsMs = Math.min(Math.max(0, own.length + ownWaiting + ofOthers - free) * callMs, longestMs);
  const lastMs = (own.at(-1)?.dueAt ?? Number.NEGATIVE_INFINITY) - state.at + callsBetween * callMs;
  const before = callsBefore(view, 'common', { flow, since: state.at, lead });
  return { usedUp, ...keepTurn(state, { flow, fairMs: Math.max(roundsMs, lastMs), before }) };
}

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
function keptFor(state: BudgetState): number {
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
function unpromisedMs({ at, promises }: BudgetState, supply: number, perMs: number): number {
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
function keepTurn(
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
