import {
  type BudgetReading,
  type BudgetState,
  capacityOf,
  type Demand,
  freshState,
  isAmple,
  levelOf,
  type ReplicaState,
  readingOf,
  refillUntil,
  setLevelOf,
  setLimit,
  type Turns,
  usualLimit,
} from './budget-state.js';
import type { BucketName } from './call-class.js';
import { chargeCalls, chargeFreeCalls } from './fair-order.js';
import { type Forecast, forecast } from './forecast.js';
import { grantTurns, without } from './grant-turns.js';
import { type Observation, observe, observeRefusal } from './observe.js';
import { type Promised, promiseTurns } from './promise-turns.js';
import { adopt, dropUnredeemed } from './promises.js';

/** What a replica reports when it renews its lease: all that happened since the last renewal. */
export interface Report {
  readonly replica: string;
  /** Calls that were handed to it, were made and have ended. */
  readonly ended: number;
  /** Calls that it does not make: turns of a flow, or of none (null). */
  readonly returned: readonly { readonly bucket: BucketName; readonly flow: string | null; readonly count: number }[];
  /** Free calls that it used, by flow. */
  readonly used: Readonly<Record<string, number>>;
  /** Calls that it made on its own account while the shared one was out of reach, by flow. */
  readonly madeAlone: Readonly<Record<string, number>>;
  readonly observed: Observation | null;
  /** The latest 429. */
  readonly refused: { readonly retryAfterMs: number | null } | null;
  /** Whether an answer other than 429 came in. */
  readonly answered: boolean;
  readonly waiting: readonly (Omit<Demand, 'since'> & { readonly waitedMs: number })[];
  /** How many requests it is about to refuse, by flow: each is promised a turn to come back for. */
  readonly refusing: Readonly<Record<string, number>>;
  /** Promises of another account than the `known` one, which does not have them yet. */
  readonly promised: readonly { readonly flow: string; readonly inMs: number }[];
  /** Free calls that it still holds; null when it wants none. */
  readonly freeUnused: number | null;
  /** What it last knew, for the case that the shared account is lost. */
  readonly known: { readonly epoch: string; readonly limit: number | null; readonly level: number } | null;
  /** Names a new account, should there be none. */
  readonly newEpoch: string;
  /** It ends: nothing is handed to it any more. */
  readonly leaves: boolean;
}

/** What a replica may do until it renews. */
export interface BudgetGrant {
  readonly epoch: string;
  /** `ended` of the account: the age of what calls begun from now on will state. */
  readonly ended: number;
  /** How long free calls may be used, from when the report was sent. */
  readonly validMs: number;
  /** Calls for any flow, without waiting. */
  readonly free: number;
  readonly turns: readonly Turns[];
  readonly forecasts: readonly Forecast[];
  /** When the requests that the replica is about to refuse may come back. */
  readonly promised: readonly Promised[];
  /** Until the next call of any replica. */
  readonly pauseMs: number;
  /** Replicas that reported within `replicaMs`, this one included. */
  readonly replicas: number;
  readonly level: number;
  readonly reading: BudgetReading;
}

/** Without a renewal for this time, what a replica holds counts as lost. */
export const leaseMs = 3_000;
/** It may use free calls for less, since its report takes a while. */
const validMs = 2_000;
/** A replica that was seen within this time may come back. */
export const replicaMs = 30_000;

/** One replica holds a hundred-and-twenty-eighth of the common bucket at most, so that what dies with it is little. */
const freeShare = 1 / 128;
const freeMax = 100;

/**
 * Accounts for a report and decides what its replica may do next. Pure: the state after it depends on nothing else.
 *
 * @param state null when there is none, at the very start or because it was lost
 * @param now on the clock of the store
 */
export function renewLease(
  state: BudgetState | null,
  report: Report,
  now: number,
): { state: BudgetState; lease: BudgetGrant } {
  const opened = refillUntil(state ?? openAccount(report, now), now);
  const reckoned = reckon(dropLost(opened), report);
  const kept = dropUnredeemed(report.known?.epoch === reckoned.epoch ? adopt(reckoned, report.promised) : reckoned);
  const { state: promising, promised } = promiseTurns(grantTurns(kept), report.refusing);
  return handOver(promising, report, promised);
}

function openAccount({ known, newEpoch }: Report, now: number): BudgetState {
  const level = known === null ? {} : { level: known.level };
  return freshState({ epoch: newEpoch, now, limit: known?.limit ?? null, ...level });
}

/**
 * Forgets replicas that stopped renewing. Turns that they never fetched are returned immediately. What they did fetch may have
 * been used: the upstream's next statement shows it, see `observe`.
 */
function dropLost(state: BudgetState): BudgetState {
  let next = state;
  for (const [id, replica] of Object.entries(state.replicas)) {
    if (replica.leaseUntil > state.at) continue;
    const { [id]: _lost, ...others } = next.replicas;
    const idle = { ...replica, out: 0, waiting: [], turns: [] };
    const isGone = replica.seenAt + replicaMs <= state.at;
    next = { ...takeBack(next, replica.turns), replicas: isGone ? others : { ...others, [id]: idle } };
  }
  return next;
}

function takeBack(
  state: BudgetState,
  returned: readonly { bucket: BucketName; flow: string | null; count: number }[],
): BudgetState {
  const buckets = { ...state.buckets };
  let { order } = state;
  for (const { bucket, flow, count } of returned) {
    buckets[bucket] = Math.min(capacityOf(state, bucket), buckets[bucket] + count);
    if (flow !== null) order = chargeCalls(order, { [flow]: -count });
  }
  return { ...state, buckets, order };
}

function reckon(state: BudgetState, report: Report): BudgetState {
  const before = state.replicas[report.replica] ?? newcomer(state.at);
  const isHeld = <T extends { count: number }>(sum: number, { count }: T): number => sum + count;
  const returnedCount = report.returned.reduce(isHeld, 0);
  // Only what is known to be out can come back: a lease that was lost was written off with what it held.
  const returned = returnedCount <= before.out ? report.returned : [];
  const out = Math.max(0, before.out - report.ended - returnedCount);
  const replicas = {
    ...state.replicas,
    [report.replica]: { ...before, out, waiting: demandsOf(report, before, state) },
  };
  const settled = takeBack({ ...state, replicas, ended: state.ended + report.ended }, returned);
  const charged = noteAsking(chargeAlone(chargeUsed(settled, report.used), report.madeAlone), report);
  const seen = takeNote(charged, report);
  if (report.refused !== null) return observeRefusal(seen, report.refused.retryAfterMs);
  return report.answered ? { ...seen, refusals: 0 } : seen;
}

/** A flow counts as asking for so long after its last request. */
const activeMs = 300_000;

function noteAsking(state: BudgetState, { waiting, used, refusing }: Report): BudgetState {
  const asking = [...waiting.map(({ flow }) => flow), ...Object.keys(used), ...Object.keys(refusing)];
  const recent = Object.entries(state.askedAt).filter(([, at]) => at + activeMs > state.at);
  return { ...state, askedAt: Object.fromEntries([...recent, ...asking.map((flow) => [flow, state.at] as const)]) };
}

const newcomer = (now: number): ReplicaState => ({ seenAt: now, leaseUntil: now, out: 0, waiting: [], turns: [] });

/** The turns that a replica has not fetched yet are for requests that it still reports as waiting. */
function demandsOf(report: Report, { turns }: ReplicaState, { at }: BudgetState): Demand[] {
  const reported = report.waiting.map(({ class: callClass, flow, count, waitedMs }) => ({
    class: callClass,
    flow,
    count,
    since: at - waitedMs,
  }));
  return turns.reduce<Demand[]>((demands, turn) => without(demands, turn, turn.count), reported);
}

/** Free calls were taken out of the common bucket when they were handed out; now it is known for whom. */
function chargeUsed(state: BudgetState, used: Report['used']): BudgetState {
  return { ...state, order: chargeFreeCalls(state.order, used) };
}

function chargeAlone(state: BudgetState, made: Report['madeAlone']): BudgetState {
  const calls = Object.values(made).reduce((sum, count) => sum + count, 0);
  return calls === 0 ? state : setLevelOf({ ...state, order: chargeCalls(state.order, made) }, levelOf(state) - calls);
}

function takeNote(state: BudgetState, { observed, answered, known }: Report): BudgetState {
  if (observed !== null) {
    const endedBefore = known?.epoch === state.epoch ? observed.endedBefore : null;
    return observe(state, { ...observed, endedBefore });
  }
  // An upstream that answers and states nothing: what it has published holds.
  return answered && state.limit === null ? setLevelOf(setLimit(state, usualLimit), usualLimit) : state;
}

function handOver(
  state: BudgetState,
  report: Report,
  promised: readonly Promised[],
): { state: BudgetState; lease: BudgetGrant } {
  const { [report.replica]: mine, ...others } = state.replicas as Record<string, ReplicaState>;
  const { out, waiting, turns } = mine as ReplicaState;
  if (report.leaves) {
    const left = { ...takeBack(state, turns), replicas: others };
    return { state: left, lease: leaseOf(left, report, { free: 0, turns: [], promised }) };
  }
  const free = freeFor(state, report);
  const renewed: ReplicaState = {
    seenAt: state.at,
    leaseUntil: state.at + leaseMs,
    waiting,
    turns: [],
    out: turns.reduce((sum, { count }) => sum + count, out + free),
  };
  const after = {
    ...state,
    buckets: { ...state.buckets, common: state.buckets.common - free },
    replicas: { ...others, [report.replica]: renewed },
  };
  return { state: after, lease: leaseOf(after, report, { free, turns, promised }) };
}

function leaseOf(
  state: BudgetState,
  report: Report,
  given: Pick<BudgetGrant, 'free' | 'turns' | 'promised'>,
): BudgetGrant {
  const { epoch, ended, pausedUntil, at, replicas } = state;
  return {
    epoch,
    ended,
    validMs,
    ...given,
    forecasts: forecast(state, report.replica),
    pauseMs: Math.max(0, pausedUntil - at),
    replicas: Math.max(1, Object.keys(replicas).length),
    level: levelOf(state),
    reading: readingOf(state),
  };
}

/** While there is plenty, calls are handed out ahead of the requests, so that none of them waits. */
function freeFor(state: BudgetState, { freeUnused }: Report): number {
  if (freeUnused === null || state.limit === null || !isAmple(state)) return 0;
  return Math.max(0, Math.min(freeMax, Math.floor(state.buckets.common * freeShare)) - freeUnused);
}
