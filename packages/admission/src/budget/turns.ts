import {
  type BucketName,
  type BudgetState,
  type CallClass,
  capacityOf,
  chargeAlone,
  chargeFlows,
  committedOf,
  type Demand,
  forgetSilent,
  freshState,
  inflowShares,
  isForTeam,
  leadOf,
  leave,
  levelOf,
  limitOf,
  noteProcess,
  type PromisedTurn,
  rateOf,
  refillUntil,
  reopen,
  takeRound,
} from './account.js';
import { adopt, dropUnredeemed, keepTurn, keptFor, unpromisedMs } from './promises.js';
import { type CallEnd, end, type Pause, type Turn, takePause } from './statements.js';

/** A request of a process for a call. A process asks for all that wait with it, the oldest first. */
export interface Ask {
  readonly id: number;
  readonly class: CallClass;
  readonly flow: string;
  /** Calls of one key get their turns in the order in which they asked; null for any order. */
  readonly key: string | null;
  readonly waitedMs: number;
  /** How much longer it can wait. */
  readonly patienceMs: number;
}

/** What a request is refused for: its team's share, since others come before it, or all that there is. */
export type UsedUp = 'share' | 'budget';

export type Answer =
  | { readonly kind: 'go'; readonly turn: Turn }
  /** Its turn is about then; null when that is not known. */
  | { readonly kind: 'wait'; readonly waitMs: number | null }
  /** Its turn would come too late. `promise` is the turn that is kept for its team, unless it has its maximum. */
  | {
      readonly kind: 'refused';
      readonly retryAfterMs: number;
      readonly usedUp: UsedUp;
      readonly promise: PromisedTurn | null;
    };

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
const longestWaitMs = 3_600_000;

/**
 * Answers all that wait at a process: each has its turn now, waits, or is refused because its turn would come too late.
 * Flows that wait, at whatever process, have one call each in a round, however many requests each has.
 */
export function ask(
  before: BudgetState,
  process: string,
  asks: readonly Ask[],
): { state: BudgetState; answers: Map<number, Answer> } {
  const answers = new Map<number, Answer>();
  const view = viewOf(noteProcess(before, process, demandsOf(asks, before.at)));
  const given = giveTurns(view, process, asks, answers);
  const refused = refuseLate(given.view, process, given.open, answers);
  // Those who left may have been all that came before others.
  const last = giveTurns(viewOf(refused.state), process, refused.waiting, answers);
  return { state: last.view.state, answers };
}

/** Gives turns to those whose time it is, in the order of their keys. @returns who waits on */
function giveTurns(before: View, process: string, asks: readonly Ask[], answers: Map<number, Answer>) {
  let view = before;
  let open = asks;
  for (let isDone = false; !isDone; ) {
    isDone = true;
    const waiting: Ask[] = [];
    for (const [index, each] of open.entries()) {
      const next = isBehind(waiting, each) ? null : findTurn(view, process, each, placeIn(waiting, each));
      if (next === null || next.waitMs !== 0) {
        waiting.push(each);
        continue;
      }
      isDone = false;
      const { epoch, ended } = view.state;
      answers.set(each.id, { kind: 'go', turn: { bucket: next.bucket, flow: each.flow, epoch, endedBefore: ended } });
      const others = [...waiting, ...open.slice(index + 1)];
      view = viewOf(withWaiting(take(view, process, each.flow, next), process, others));
    }
    open = waiting;
  }
  return { view, open };
}

/** Refuses those whose turn would come too late: who waits behind them has their place. */
function refuseLate(view: View, process: string, open: readonly Ask[], answers: Map<number, Answer>) {
  const waiting: Ask[] = [];
  const late: { ask: Ask; waitMs: number }[] = [];
  for (const each of open) {
    const { waitMs } = findTurn(view, process, each, placeIn(waiting, each));
    const isKnown = waitMs !== null && view.state.at >= view.state.gathersUntil;
    if (each.patienceMs <= 0 || (isKnown && waitMs > each.patienceMs)) late.push({ ask: each, waitMs: waitMs ?? 0 });
    else {
      waiting.push(each);
      answers.set(each.id, { kind: 'wait', waitMs });
    }
  }
  let state = withWaiting(view.state, process, waiting);
  for (const { ask: each, waitMs } of late) {
    if (isForTeam(each.class)) {
      const promised = promiseTurn(state, each.flow);
      state = promised.state;
      const { retryAfterMs, usedUp, promise } = promised;
      answers.set(each.id, { kind: 'refused', retryAfterMs, usedUp, promise });
    } else {
      // Calls of the service itself are repeated by their jobs.
      const retryAfterMs = Math.min(waitMs, longestWaitMs);
      answers.set(each.id, { kind: 'refused', retryAfterMs, usedUp: 'budget', promise: null });
    }
  }
  return { state, waiting };
}

const isSameLine = (one: Ask, other: Ask): boolean => one.class === other.class && one.flow === other.flow;

/** How many wait before a request in the line of its flow and class. */
const placeIn = (waiting: readonly Ask[], each: Ask): number =>
  waiting.reduce((count, other) => (isSameLine(other, each) ? count + 1 : count), 0);

/** Whether a request waits behind an earlier one of its key, in whatever class that is. */
const isBehind = (waiting: readonly Ask[], { key }: Ask): boolean =>
  key !== null && waiting.some((other) => other.key === key);

/** How many wait, by flow and class, without those behind an earlier request of their key. */
function demandsOf(asks: readonly Ask[], now: number): Demand[] {
  const lines = new Map<string, Demand>();
  const keys = new Set<string>();
  for (const { class: callClass, flow, key, waitedMs } of asks) {
    if (key !== null && keys.has(key)) continue;
    if (key !== null) keys.add(key);
    const name = `${callClass} ${flow}`;
    const line = lines.get(name) ?? { class: callClass, flow, count: 0, since: now };
    lines.set(name, { ...line, count: line.count + 1, since: Math.min(line.since, now - waitedMs) });
  }
  return [...lines.values()];
}

function withWaiting(state: BudgetState, process: string, asks: readonly Ask[]): BudgetState {
  const { seenAt, out } = state.processes[process] ?? { seenAt: state.at, out: 0 };
  const now = { seenAt, out, waiting: demandsOf(asks, state.at) };
  return { ...state, processes: { ...state.processes, [process]: now } };
}

/** Requests of a flow that wait, and how many rounds the flow is ahead: turns that it was promised count as used. */
interface Line extends Demand {
  readonly process: string;
  readonly lead: number;
}

/** What is needed of a state to find many turns. */
interface View {
  readonly state: BudgetState;
  readonly lines: readonly Line[];
  readonly promisesOf: (flow: string) => readonly PromisedTurn[];
  readonly linesOf: (flow: string) => readonly Line[];
  /** Calls that have to be left for promises. */
  readonly kept: number;
  readonly shares: Readonly<Record<BucketName, number>>;
}

function viewOf(state: BudgetState): View {
  const promises = Map.groupBy(state.promises, ({ flow }) => flow);
  const promisesOf = (flow: string): readonly PromisedTurn[] => promises.get(flow) ?? [];
  const lines = Object.entries(state.processes).flatMap(([process, { waiting }]) =>
    waiting.map((demand) => {
      return { ...demand, process, lead: leadOf(state, demand.flow) + promisesOf(demand.flow).length };
    }),
  );
  const byFlow = Map.groupBy(lines, ({ flow }) => flow);
  const linesOf = (flow: string): readonly Line[] => byFlow.get(flow) ?? [];
  return { state, lines, linesOf, promisesOf, kept: keptFor(state), shares: inflowShares(state) };
}

interface Found {
  /** Until its turn: 0 when it is now, null when nothing can be said. */
  readonly waitMs: number | null;
  readonly bucket: BucketName;
  /** Which the turn fulfils. */
  readonly promise?: PromisedTurn | undefined;
}

/** Finds the turn of a request before which `place` others wait in its line, if no further requests come. */
function findTurn(view: View, process: string, each: Ask, place: number): Found {
  const { state } = view;
  const since = state.at - each.waitedMs;
  // Requests of one flow that wait in several lines have their turns alternately.
  const isOther = (line: Line): boolean => line.process !== process || line.class !== each.class;
  const same = view.linesOf(each.flow).filter(isOther);
  const own = same.filter((line) => line.since < since).length + place * (1 + same.length);
  const pauseMs = Math.max(0, state.pausedUntil - state.at);
  const promises = view.promisesOf(each.flow);
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

type Waiter = Pick<Line, 'class' | 'flow' | 'since' | 'lead'> & { readonly own: number };

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
const draws = (state: BudgetState, { class: callClass }: Line, bucket: BucketName): boolean =>
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
function callsBefore(
  { state, lines }: View,
  bucket: BucketName,
  { flow, since, lead }: Pick<Line, 'flow' | 'since' | 'lead'>,
): number {
  let calls = 0;
  for (const other of lines) {
    const rounds = lead - other.lead;
    if (!draws(state, other, bucket) || other.flow === flow || rounds < 0 || (rounds === 0 && other.since >= since))
      continue;
    calls += Math.min(other.count, Math.max(1, rounds));
  }
  return calls;
}

function take(view: View, process: string, flow: string, { bucket, promise }: Found): BudgetState {
  const { state, lines } = view;
  const { [process]: own, ...others } = state.processes;
  const taken = {
    ...state,
    buckets: { ...state.buckets, [bucket]: state.buckets[bucket] - 1 },
    processes: { ...others, [process]: { seenAt: state.at, waiting: [], ...own, out: (own?.out ?? 0) + 1 } },
  };
  if (promise === undefined) {
    const others = lines.filter((line) => line.flow !== flow && draws(state, line, 'common'));
    return takeRound(
      taken,
      flow,
      others.map((line) => line.flow),
    );
  }
  const promises = state.promises.filter((each) => each !== promise);
  return chargeFlows({ ...taken, promises }, { [flow]: 1 });
}

/**
 * Promises a flow its next turn. Fairness decides when: as if all that wait or asked lately went on asking, one call of
 * each in a round. Flows that had calls before and do not ask now hold nobody back. The first turn is at most an hour
 * away, or a round of all. A flow that has its maximum of promises gets the time of the last one again.
 */
export function promiseTurn(state: BudgetState, flow: string) {
  const view = viewOf(state);
  const own = view.promisesOf(flow);
  const ownWaiting = view.linesOf(flow).reduce((sum, { count }) => sum + count, 0);
  const lead = leadOf(state, flow) + own.length + ownWaiting;
  const others = new Set([...Object.keys(state.askedAt), ...state.promises.map((each) => each.flow)]);
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

/** What a process tells the account since it last did, and asks. */
export interface Question {
  readonly process: string;
  readonly ends: readonly { readonly turn: Turn; readonly how: CallEnd }[];
  /** All that wait with it, the oldest first. */
  readonly asks: readonly Ask[];
  /** Calls that it made while it could not reach the account, by flow. */
  readonly madeAlone: Readonly<Record<string, number>>;
  /** A pause that it learned of meanwhile. */
  readonly pause: Pause | null;
  /** Promises that this account may not know. */
  readonly promised: readonly PromisedTurn[];
  /** The account as the process last saw it: it is opened again with that if it was lost. */
  readonly seen: BudgetState | null;
  /** Names a new account, should there be none. */
  readonly newEpoch: string;
  /** The process ends. */
  readonly leaves: boolean;
}

/** Takes note of what a process tells, and answers what it asks. The only change of the account. */
export function exchange(
  kept: BudgetState | null,
  { process, ends, asks, madeAlone, pause, promised, seen, newEpoch, leaves }: Question,
  now: number,
): { state: BudgetState; answers: Map<number, Answer> } {
  const opened =
    kept ?? (seen === null ? freshState({ epoch: newEpoch, now, limit: null }) : reopen(seen, newEpoch, now));
  const current = dropUnredeemed(forgetSilent(refillUntil(opened, now)));
  let state = adopt(chargeAlone(pause === null ? current : takePause(current, pause), madeAlone), promised);
  for (const { turn, how } of ends) state = end(state, process, turn, how);
  const asked = ask(state, process, asks);
  return leaves ? { ...asked, state: leave(asked.state, process) } : asked;
}
