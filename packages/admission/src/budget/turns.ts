import {
  type BudgetState,
  type CallClass,
  chargeFlows,
  type Demand,
  forgetSilent,
  freshState,
  isForTeam,
  noteProcess,
  refillUntil,
  takeRound,
} from './account.js';
import {
  draws,
  dropUnredeemed,
  type Found,
  findTurn,
  longestWaitMs,
  promiseTurn,
  type UsedUp,
  type View,
  viewOf,
} from './find-turn.js';
import { type CallEnd, end, type Turn } from './statements.js';

/** A request of a process for a call. A process asks for all that wait with it, the oldest first. */
export interface Ask {
  readonly id: number;
  readonly class: CallClass;
  readonly flow: string;
  readonly waitedMs: number;
  /** How much longer it can wait. */
  readonly patienceMs: number;
}

export type Answer =
  | { readonly kind: 'go'; readonly turn: Turn }
  /** Its turn is about then; null when that is not known. */
  | { readonly kind: 'wait'; readonly waitMs: number | null }
  /** Its turn would come too late. A team's is kept from `retryAfterMs` on. */
  | { readonly kind: 'refused'; readonly retryAfterMs: number; readonly usedUp: UsedUp };

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
  const noted = noteProcess(before, process, demandsOf(linesOf(asks), before.at));
  const given = giveTurns(noted, process, asks, answers);
  const refused = refuseLate(given, process, asks, answers);
  // Those who left may have been all that came before others.
  const state = giveTurns(
    refused,
    process,
    asks.filter((each) => answers.get(each.id)?.kind === 'wait'),
    answers,
  );
  return { state, answers };
}

/** Requests of one class and flow, which have their turns one after the other. */
type Line = Ask[];

const nameOf = ({ class: callClass, flow }: Ask): string => `${callClass} ${flow}`;

const linesOf = (asks: readonly Ask[]): Line[] => [...Map.groupBy(asks, nameOf).values()];

function demandsOf(lines: readonly Line[], now: number): Demand[] {
  return lines.flatMap((line) => {
    const [first] = line;
    if (first === undefined) return [];
    const longestMs = line.reduce((most, { waitedMs }) => Math.max(most, waitedMs), 0);
    return [{ class: first.class, flow: first.flow, count: line.length, since: now - longestMs }];
  });
}

const withWaiting = (state: BudgetState, process: string, waiting: readonly Demand[]): BudgetState => {
  const { seenAt, out } = state.processes[process] ?? { seenAt: state.at, out: 0 };
  return { ...state, processes: { ...state.processes, [process]: { seenAt, out, waiting } } };
};

/** Gives turns to those whose time it is. */
function giveTurns(
  before: BudgetState,
  process: string,
  asks: readonly Ask[],
  answers: Map<number, Answer>,
): BudgetState {
  const lines = linesOf(asks);
  let view = viewOf(before);
  /** The first of a line, if it is its time. */
  const giveNext = (line: Line): boolean => {
    const [first] = line;
    const next = first === undefined ? null : findTurn(view, process, first, 0);
    if (first === undefined || next?.waitMs !== 0) return false;
    line.shift();
    const { ended, at } = view.state;
    answers.set(first.id, { kind: 'go', turn: { bucket: next.bucket, flow: first.flow, endedBefore: ended } });
    view = viewOf(withWaiting(take(view, process, first.flow, next), process, demandsOf(lines, at)), view);
    return true;
  };
  // A turn of one line may be what another one waited for.
  for (let isDone = false; !isDone; ) {
    isDone = true;
    for (const line of lines) while (giveNext(line)) isDone = false;
  }
  return view.state;
}

/** Refuses those whose turn would come too late: who waits behind them has their place. */
function refuseLate(
  before: BudgetState,
  process: string,
  asks: readonly Ask[],
  answers: Map<number, Answer>,
): BudgetState {
  const view = viewOf(before);
  const places = new Map<string, number>();
  const waiting: Ask[] = [];
  const late: { ask: Ask; waitMs: number }[] = [];
  for (const each of asks.filter(({ id }) => !answers.has(id))) {
    const name = nameOf(each);
    const place = places.get(name) ?? 0;
    const { waitMs } = findTurn(view, process, each, place);
    if (each.patienceMs <= 0 || (waitMs !== null && waitMs > each.patienceMs))
      late.push({ ask: each, waitMs: waitMs ?? 0 });
    else {
      places.set(name, place + 1);
      waiting.push(each);
      answers.set(each.id, { kind: 'wait', waitMs });
    }
  }
  let state = withWaiting(before, process, demandsOf(linesOf(waiting), before.at));
  for (const { ask: each, waitMs } of late) {
    if (isForTeam(each.class)) {
      const promised = promiseTurn(state, each.flow);
      state = promised.state;
      const { retryAfterMs, usedUp } = promised;
      answers.set(each.id, { kind: 'refused', retryAfterMs, usedUp });
    } else {
      // Calls of the service itself are repeated by their jobs.
      const retryAfterMs = Math.min(waitMs, longestWaitMs);
      answers.set(each.id, { kind: 'refused', retryAfterMs, usedUp: 'budget' });
    }
  }
  return state;
}

function take({ state, lines }: View, process: string, flow: string, { bucket, promise }: Found): BudgetState {
  const { [process]: own, ...others } = state.processes;
  const taken = {
    ...state,
    buckets: { ...state.buckets, [bucket]: state.buckets[bucket] - 1 },
    processes: { ...others, [process]: { seenAt: state.at, waiting: [], ...own, out: (own?.out ?? 0) + 1 } },
  };
  if (promise !== undefined) {
    const promises = state.promises.filter((each) => each !== promise);
    return chargeFlows({ ...taken, promises }, { [flow]: 1 });
  }
  const waiting = lines.filter((line) => line.flow !== flow && draws(state, line.class, 'common'));
  return takeRound(
    taken,
    flow,
    waiting.map((line) => line.flow),
  );
}

/** What a process tells the account since it last did, and asks. */
export interface Told {
  readonly ends: readonly { readonly turn: Turn; readonly how: CallEnd }[];
  /** All that wait with it, the oldest first. */
  readonly asks: readonly Ask[];
}

/** Takes note of what a process tells, and answers what it asks. The only change of the account. */
export function exchange(
  kept: BudgetState | null,
  process: string,
  { ends, asks }: Told,
  now: number,
): { state: BudgetState; answers: Map<number, Answer> } {
  const opened = kept ?? freshState({ now, limit: null });
  let state = dropUnredeemed(forgetSilent(refillUntil(opened, now)));
  for (const { turn, how } of ends) state = end(state, process, turn, how);
  return ask(state, process, asks);
}
