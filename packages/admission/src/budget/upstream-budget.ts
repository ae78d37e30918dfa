import { randomUUID } from 'node:crypto';
import { secondsOf } from '../buckets/token-bucket.js';
import { type Clock, systemClock } from '../clock.js';
import { type BudgetState, type CallClass, freshState, levelOf, type PromisedTurn, usualLimit } from './account.js';
import { BudgetBusy, type BudgetStore, memoryStore } from './budget-store.js';
import { adopt, keptMs } from './promises.js';
import { type BudgetReading, readingOf, type TurnTaken, unknownReading } from './readings.js';
import { type CallEnd, type Statement, type Turn, takePause } from './statements.js';
import { type Answer, type Ask, exchange, type Question, type UsedUp } from './turns.js';

/** One call that is to be made. */
export interface Want {
  readonly class: CallClass;
  readonly flow: string;
  /** Calls of one key get their turns in the order in which they asked; null for any order. */
  readonly key: string | null;
}

export interface Patience {
  readonly patienceMs: number;
  /** The request had its turn and was answered 429: it comes before the others here. */
  readonly again?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Asks for a place when no turn is free; null when the request cannot wait. */
  readonly enterQueue?: (() => (() => void) | null) | undefined;
}

export type Turned =
  | { readonly kind: 'go'; readonly turn: Turn }
  | { readonly kind: 'aborted' }
  /** No turn in time: nothing will be sent later. A team's turn is kept from `resetAt` on. */
  | {
      readonly kind: 'too_long';
      readonly retryAfterSeconds: number;
      readonly resetAt: Date;
      readonly usedUp: UsedUp;
    };

export interface UpstreamBudget {
  /** Waits for a turn, in the order that is fair to all users of the budget. Each `go` must be ended with `end`. */
  turn(want: Want, patience: Patience): Promise<Turned>;
  /** Tells how the call ended that a turn was for. */
  end(turn: Turn, how: CallEnd): void;
  /** The budget as this process last knew it. */
  read(): BudgetReading;
  /** Requests that wait are refused. */
  close(): Promise<void>;
}

export interface BudgetOptions {
  /** Names the budget in the store. */
  readonly project: string;
  /** Where all processes that use the project share its budget. Default: this process has it to itself. */
  readonly store?: BudgetStore | undefined;
  /** The store went away. Called once until it is back. */
  readonly onAway: (error: Error) => void;
  readonly onTurn?: ((taken: TurnTaken) => void) | undefined;
  /** Wall clock, for `resetAt` only. */
  readonly now?: (() => number) | undefined;
  readonly clock?: Clock | undefined;
}

/** Requests that come together ask together. */
const gapMs = 25;
/** Who waits asks again within these times, whatever the account said: others may have left. */
const waitingMsMin = 100;
const waitingMsMax = 250;
/** Between two looks while something is to be reported, and as a sign of life. */
const busyMs = 1_000;
const idleMs = 10_000;
/** Longest wait for the store, and how often it is asked while it is away. */
const storeMs = 1_000;
const retryMs = 1_000;
/** Processes that are assumed by one that has never reached the store. */
const processesUnknown = 8;
/** What others drew since the store was last seen is not known: half of what was there is left alone. */
const caution = 2;

interface Waiting {
  readonly id: number;
  readonly want: Want;
  readonly isAgain: boolean;
  readonly since: number;
  deadline: number;
  readonly decide: (answer: Answer | { readonly kind: 'aborted' }) => void;
}

/** Takes part in the budget of a project: gives each call of this process its turn. */
export function openBudget(options: BudgetOptions): UpstreamBudget {
  const { onTurn = () => undefined, now: wallClock = Date.now, clock = systemClock } = options;
  const account = reachAccount(options, clock);
  const waiting = new Map<number, Waiting>();
  let ends: { turn: Turn; how: CallEnd; at: number }[] = [];
  let underWay = 0;
  let lastId = 0;
  let isClosed = false;
  let looking: Promise<void> | null = null;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let lookAt = Number.POSITIVE_INFINITY;
  let cancelTimer = (): void => undefined;

  /** Looks at the account then, if not earlier. */
  const lookBy = (at: number): void => {
    lookAt = Math.min(lookAt, Math.max(at, lookedAt + gapMs));
    if (looking !== null || isClosed) return;
    cancelTimer();
    cancelTimer = clock.after(Math.max(0, lookAt - clock.now()), startLook, waiting.size > 0);
  };
  const startLook = (): void => {
    looking = look(false).then(() => {
      looking = null;
      lookBy(nextLook());
    });
  };

  /** Reports what has ended, and asks for all that wait. */
  const look = async (leaves: boolean): Promise<void> => {
    lookedAt = clock.now();
    lookAt = Number.POSITIVE_INFINITY;
    const told = ends;
    const reported = told.map(({ turn, how, at }) => ({ turn, how: asOf(how, lookedAt - at) }));
    ends = [];
    const answers = await account.exchange({ ends: reported, asks: asksOf(waiting, lookedAt), leaves });
    if (answers === null) {
      ends = [...told, ...ends];
      return;
    }
    for (const [id, answer] of answers) {
      const request = waiting.get(id);
      if (answer.kind === 'go') underWay += 1;
      if (request !== undefined) request.decide(answer);
      // It has left meanwhile.
      else if (answer.kind === 'go') finish(answer.turn, { kind: 'unreached' });
    }
  };

  const nextLook = (): number => {
    if (waiting.size > 0) {
      const soonest = [...waiting.values()].reduce((least, { deadline }) => Math.min(least, deadline), Infinity);
      return Math.min(soonest, lookedAt + Math.min(waitingMsMax, Math.max(waitingMsMin, account.waitMs())));
    }
    const isBusy = underWay > 0 || ends.length > 0 || account.isBusy();
    return lookedAt + (isBusy ? busyMs : idleMs);
  };

  const finish = (turn: Turn, how: CallEnd): void => {
    underWay -= 1;
    ends.push({ turn, how, at: clock.now() });
    const isUrgent = how.kind === 'refused' || (how.kind === 'answered' && account.isSurprisedBy(how.statement));
    if (isUrgent) lookBy(clock.now());
    else lookBy(lookedAt + (waiting.size > 0 ? waitingMsMin : busyMs));
  };

  const tooLong = ({ retryAfterMs, usedUp }: { retryAfterMs: number; usedUp: UsedUp }): Turned => {
    const retryAfterSeconds = secondsOf(retryAfterMs);
    return { kind: 'too_long', retryAfterSeconds, resetAt: new Date(wallClock() + retryAfterSeconds * 1_000), usedUp };
  };
  const closed = { retryAfterMs: 0, usedUp: 'budget' } as const;

  const wait = (want: Want, { patienceMs, again = false, signal, enterQueue }: Patience): Promise<Turned> =>
    new Promise((resolve) => {
      let leaveQueue: (() => void) | null | undefined;
      const id = ++lastId;
      const settle = (turned: Turned): void => {
        waiting.delete(id);
        signal?.removeEventListener('abort', giveUp);
        leaveQueue?.();
        resolve(turned);
      };
      const giveUp = (): void => settle({ kind: 'aborted' });
      const request: Waiting = {
        id,
        want,
        isAgain: again,
        since: clock.now(),
        deadline: clock.now() + patienceMs,
        decide(answer) {
          if (answer.kind === 'refused') return settle(tooLong(answer));
          if (answer.kind !== 'wait') return settle(answer);
          if (leaveQueue === undefined) leaveQueue = enterQueue === undefined ? () => undefined : enterQueue();
          // Without a place it is refused with a time, which the next look brings.
          if (leaveQueue === null) request.deadline = clock.now();
        },
      };
      waiting.set(id, request);
      signal?.addEventListener('abort', giveUp, { once: true });
      lookBy(clock.now());
    });

  lookBy(clock.now());
  return {
    async turn(want, patience) {
      const startedAt = clock.now();
      const turned = patience.signal?.aborted
        ? ({ kind: 'aborted' } as const)
        : await (isClosed ? tooLong(closed) : wait(want, patience));
      const outcome = turned.kind === 'too_long' ? 'refused' : turned.kind;
      onTurn({ class: want.class, outcome, ms: clock.now() - startedAt });
      return turned;
    },
    end: finish,
    read: () => account.read(),
    async close() {
      isClosed = true;
      cancelTimer();
      await looking;
      // Requests that wait here get a time. Whichever process they reach then serves them.
      for (const request of waiting.values()) request.deadline = clock.now();
      await look(true);
      for (const { decide } of waiting.values()) decide({ kind: 'refused', ...closed, promise: null });
    },
  };
}

/** The upstream's time to wait counts from its answer, not from the report. */
const asOf = (how: CallEnd, agoMs: number): CallEnd =>
  how.kind === 'refused' && how.retryAfterMs !== null
    ? { ...how, retryAfterMs: Math.max(0, how.retryAfterMs - agoMs) }
    : how;

function asksOf(waiting: ReadonlyMap<number, Waiting>, now: number): Ask[] {
  return [...waiting.values()]
    .sort((one, other) => Number(other.isAgain) - Number(one.isAgain))
    .map(({ id, want, since, deadline }) => ({ id, ...want, waitedMs: now - since, patienceMs: deadline - now }));
}

/** An account that a process keeps alone: its part of the budget. */
interface Alone {
  state: BudgetState;
  readonly processes: number;
  /** Calls so far, by flow. */
  readonly made: Record<string, number>;
}

/** @throws Error when the store gives no answer in time: `late` is aborted with it */
function inTime<T>(work: Promise<T>, clock: Clock, late: AbortController): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      late.abort(new Error(`The store of the budget gave no answer within ${storeMs} ms`));
      reject(late.signal.reason);
    };
    const cancel = clock.after(storeMs, giveUp, true);
    work.then(resolve, reject).finally(cancel);
  });
}

/** Reaches the account in the store, or keeps one alone while that is away. Its exchanges never reject. */
function reachAccount({ project, store = memoryStore(), onAway }: BudgetOptions, clock: Clock) {
  let process = randomUUID();
  let seen: BudgetState | null = null;
  /** How far the store's clock is ahead of this one. */
  let aheadMs = Date.now() - clock.now();
  let alone: Alone | null = null;
  let retryAt = Number.NEGATIVE_INFINITY;
  let waitMs = waitingMsMin;
  /** Promises that were given here: an account that was lost, or that is kept alone, learns of them. */
  let promises: PromisedTurn[] = [];

  type Told = Pick<Question, 'ends' | 'asks' | 'leaves'>;
  const exchangeShared = async (told: Told) => {
    const madeAlone = { ...alone?.made };
    const pause = alone?.state ?? null;
    const question = { ...told, process, seen, newEpoch: randomUUID(), madeAlone, pause };
    const late = new AbortController();
    const from = alone;
    const update = store.update(project, (state, now) => {
      // Who was given up is told another way: nothing of it may be charged when the store is back.
      late.signal.throwIfAborted();
      aheadMs = now - clock.now();
      const isKnown = alone === null && state !== null && state.epoch === seen?.epoch;
      const exchanged = exchange(state, { ...question, promised: isKnown ? [] : promises }, now);
      return { state: exchanged.state, answer: exchanged };
    });
    // A late answer counts in this: what it charged is not charged again.
    update.then(() => from !== null && subtract(from.made, madeAlone)).catch(() => undefined);
    const exchanged = await inTime(update, clock, late);
    alone = null;
    seen = exchanged.state;
    return exchanged.answers;
  };

  const exchangeAlone = (told: Told): Map<number, Answer> => {
    alone ??= openAlone(seen, promises, clock.now() + aheadMs);
    const { processes, made } = alone;
    const ends = told.ends.map(({ turn, how }) => ({ turn: { ...turn, epoch: '' }, how: partOf(how, processes) }));
    const nothing = { seen: null, newEpoch: '', madeAlone: {}, pause: null, promised: [] };
    const question = { ...told, ...nothing, ends, process: 'this' };
    const { state, answers } = exchange(alone.state, question, clock.now() + aheadMs);
    alone.state = state;
    for (const answer of answers.values()) {
      if (answer.kind === 'go') made[answer.turn.flow] = (made[answer.turn.flow] ?? 0) + 1;
    }
    return answers;
  };

  return {
    /** @returns null when others were faster: nothing of it has arrived, and the next look tells it again */
    async exchange(told: Told): Promise<Map<number, Answer> | null> {
      let answers: Map<number, Answer> | null | undefined;
      if (alone === null || clock.now() >= retryAt) {
        answers = await exchangeShared(told).catch((error: Error) => {
          if (error instanceof BudgetBusy) return null;
          // It may have arrived. Under a new name, what was granted to the old one is not used twice.
          process = randomUUID();
          retryAt = clock.now() + retryMs;
          if (alone === null) onAway(error);
          return undefined;
        });
      }
      if (answers === null) return null;
      answers ??= exchangeAlone(told);
      promises = promises.filter(({ dueAt }) => dueAt + keptMs > clock.now() + aheadMs);
      waitMs = waitingMsMax;
      for (const answer of answers.values()) {
        if (answer.kind === 'wait') waitMs = Math.min(waitMs, answer.waitMs ?? 0);
        if (answer.kind === 'refused' && answer.promise !== null) promises.push(answer.promise);
      }
      return answers;
    },
    /** Until the next turn of a request that waits here. */
    waitMs: () => waitMs,
    /** Whether a promise that was given here is still open, or the account has to learn what happened alone. */
    isBusy: () => promises.length > 0 || alone !== null,
    /** Whether others have to know a statement soon. */
    isSurprisedBy: (statement: Statement | null) =>
      seen === null || seen.limit === null || (statement !== null && statement.remaining < levelOf(seen) / 2),
    read(): BudgetReading {
      if (alone === null) return seen === null ? unknownReading : readingOf(seen);
      return { ...readingOf(alone.state), limit: seen?.limit ?? null };
    },
  };
}

function openAlone(seen: BudgetState | null, promises: readonly PromisedTurn[], now: number): Alone {
  const processes = seen === null ? processesUnknown : Math.max(1, Object.keys(seen.processes).length);
  // Nothing was heard of the upstream: what it has published is assumed.
  const level = seen === null || seen.limit === null ? usualLimit : levelOf(seen);
  const limit = (seen?.limit ?? usualLimit) / processes;
  const fresh = freshState({ epoch: randomUUID(), now, limit, level: level / (processes * caution) });
  const state = adopt(seen === null ? fresh : takePause(fresh, seen), promises);
  return { state, processes, made: {} };
}

function subtract(from: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(counts)) from[name] = Math.max(0, (from[name] ?? 0) - count);
}

/** Scales a statement about the whole budget to one part. */
function partOf(how: CallEnd, processes: number): CallEnd {
  if ((how.kind !== 'answered' && how.kind !== 'refused') || how.statement === null) return how;
  const { limit, remaining } = how.statement;
  const part = { limit: limit === null ? null : limit / processes, remaining: Math.floor(remaining / processes) };
  return { ...how, statement: part };
}
