import { randomUUID } from 'node:crypto';
import { secondsOf } from '../buckets/buckets.js';
import { beginWait, type Clock, type RequestScope, systemClock } from '../request-scope.js';
import { type BudgetState, type CallClass, levelOf } from './account.js';
import { type BudgetStore, memoryStore, storeMs } from './budget-store.js';
import type { UsedUp } from './find-turn.js';
import { type BudgetReading, readingOf, type TurnTaken, unknownReading } from './readings.js';
import type { CallEnd, Statement, Turn } from './statements.js';
import { type Answer, type Ask, exchange, type Told } from './turns.js';

/** One call that is to be made. */
interface Want {
  readonly class: CallClass;
  readonly flow: string;
}

interface Patience {
  readonly patienceMs: number;
  /** The request had its turn and was answered 429: it comes before the others here. */
  readonly again?: boolean;
  /** The request on whose behalf it waits, if it does: the wait ends with its signal, and counts as one of its waits. */
  readonly scope?: RequestScope | undefined;
}

/** What a request is refused for, apart from `UsedUp`: too many requests like it wait already. */
export type Lack = UsedUp | 'places';

export type Turned =
  | { readonly kind: 'go'; readonly turn: Turn }
  | { readonly kind: 'aborted' }
  /** The account is out of reach, or this process takes part no more: nothing is known of the budget, and nothing may be sent. */
  | { readonly kind: 'no_account' }
  /** No turn in time: nothing will be sent later. A team's turn is kept from `resetAt` on. */
  | { readonly kind: 'too_long'; readonly retryAfterSeconds: number; readonly resetAt: Date; readonly usedUp: Lack };

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
  /** All processes that use the project share its budget there. Default: this process has it to itself. */
  readonly store?: BudgetStore | undefined;
  /** The store went away, and with it all turns. Called once until it is back. */
  readonly onAway: (error: Error) => void;
  readonly onTurn?: ((taken: TurnTaken) => void) | undefined;
  /** Wall clock, for `resetAt` only. */
  readonly now?: (() => number) | undefined;
  readonly clock?: Clock | undefined;
}

/** Requests that come together ask together: the least time between two looks on which requests waited. */
const gapMs = 25;
/** A request that waits asks again within these times, whatever the account said: others may have left. */
const waitingMsMin = 100;
const waitingMsMax = 250;
/** The pause between two looks while something is to be reported, and as a sign of life. */
const busyMs = 1_000;
const idleMs = 10_000;
/** How often the store is asked while it is away. */
const retryMs = 1_000;
const noAccount = { kind: 'no_account' } as const;
const unknownTime = { kind: 'wait', waitMs: null } as const;

interface Waiting {
  readonly id: number;
  readonly want: Want;
  readonly isAgain: boolean;
  readonly since: number;
  deadline: number;
  readonly decide: (answer: Answer | typeof noAccount) => void;
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
  let askedAt = Number.NEGATIVE_INFINITY;
  let lookAt = Number.POSITIVE_INFINITY;
  let cancelTimer = (): void => undefined;

  /** Looks at the account then, if not earlier. */
  const lookBy = (at: number): void => {
    lookAt = Math.min(lookAt, Math.max(at, askedAt + gapMs));
    if (looking !== null || isClosed) return;
    cancelTimer();
    cancelTimer = clock.after(Math.max(0, lookAt - clock.now()), startLook, waiting.size > 0);
  };
  const startLook = (): void => {
    looking = look().then(() => {
      looking = null;
      lookBy(nextLook());
    });
  };

  /** Reports what has ended, and asks for all that wait. */
  const look = async (): Promise<void> => {
    lookedAt = clock.now();
    if (waiting.size > 0) askedAt = lookedAt;
    lookAt = Number.POSITIVE_INFINITY;
    const told = ends;
    const reported = told.map(({ turn, how, at }) => ({ turn, how: asOf(how, lookedAt - at) }));
    ends = [];
    const answers = await account.exchange({ ends: reported, asks: asksOf(waiting, lookedAt) });
    if (answers === null) {
      ends = [...told, ...ends];
      const now = clock.now();
      for (const { deadline, decide } of waiting.values()) decide(deadline <= now ? noAccount : unknownTime);
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
      const waitMs = account.isAway() ? retryMs : Math.min(waitingMsMax, Math.max(waitingMsMin, account.waitMs()));
      return Math.min(soonest, lookedAt + waitMs);
    }
    return lookedAt + (underWay > 0 || ends.length > 0 ? busyMs : idleMs);
  };

  const finish = (turn: Turn, how: CallEnd): void => {
    underWay -= 1;
    ends.push({ turn, how, at: clock.now() });
    const isUrgent = how.kind === 'refused' || (how.kind === 'answered' && account.isSurprisedBy(how.statement));
    if (isUrgent) lookBy(clock.now());
    else lookBy(lookedAt + (waiting.size > 0 ? waitingMsMin : busyMs));
  };

  const tooLong = ({ retryAfterMs, usedUp }: { retryAfterMs: number; usedUp: Lack }): Turned => {
    const retryAfterSeconds = secondsOf(retryAfterMs);
    return { kind: 'too_long', retryAfterSeconds, resetAt: new Date(wallClock() + retryAfterSeconds * 1_000), usedUp };
  };

  const wait = (want: Want, { patienceMs, again = false, scope }: Patience): Promise<Turned> =>
    new Promise((resolve) => {
      /** Undefined before it waits; null: it has no place to wait. */
      let endWait: (() => void) | null | undefined;
      const id = ++lastId;
      const settle = (turned: Turned): void => {
        waiting.delete(id);
        scope?.signal.removeEventListener('abort', giveUp);
        endWait?.();
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
          if (answer.kind === 'refused') {
            return settle(tooLong(endWait === null ? { ...answer, usedUp: 'places' } : answer));
          }
          if (answer.kind !== 'wait') return settle(answer);
          if (endWait === undefined && scope !== undefined) endWait = beginWait(scope);
          // Without a place it is refused with a time, which the next look brings.
          if (endWait === null) request.deadline = clock.now();
        },
      };
      waiting.set(id, request);
      scope?.signal.addEventListener('abort', giveUp, { once: true });
      lookBy(clock.now());
    });

  lookBy(clock.now());
  return {
    async turn(want, patience) {
      const startedAt = clock.now();
      const turned = patience.scope?.signal.aborted
        ? ({ kind: 'aborted' } as const)
        : await (isClosed ? noAccount : wait(want, patience));
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
      await look();
      for (const { decide } of waiting.values()) decide(noAccount);
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

/** Reaches the account in the store. Its exchanges never reject. */
function reachAccount({ project, store = memoryStore(), onAway }: BudgetOptions, clock: Clock) {
  let process = randomUUID();
  let seen: BudgetState | null = null;
  let isAway = false;
  let waitMs = waitingMsMin;
  let lastUpdate: Promise<unknown> = Promise.resolve();

  const exchangeInTime = (told: Told) => {
    const late = new AbortController();
    const update = async () => {
      late.signal.throwIfAborted();
      return store.update(project, (state, now) => {
        // A request that was given up is told again: nothing of it may be charged when the store is back.
        late.signal.throwIfAborted();
        const answer = exchange(state, process, told, now);
        return { state: answer.state, answer };
      });
    };
    // One that was given up may go on with its connection. The next one begins when it has ended.
    const updated = lastUpdate.then(update, update);
    lastUpdate = updated;
    return inTime(updated, clock, late);
  };

  return {
    /** @returns null when the store is away: the next look tells and asks it again */
    async exchange(told: Told): Promise<Map<number, Answer> | null> {
      try {
        const { state, answers } = await exchangeInTime(told);
        isAway = false;
        seen = state;
        waitMs = waitingMsMax;
        for (const answer of answers.values()) {
          if (answer.kind === 'wait') waitMs = Math.min(waitMs, answer.waitMs ?? 0);
        }
        return answers;
      } catch (error) {
        // It may have arrived. Under a new name, what was granted to the old one is not used twice.
        process = randomUUID();
        if (!isAway) onAway(error as Error);
        isAway = true;
        return null;
      }
    },
    isAway: () => isAway,
    /** The time until the next turn of a request that waits here. */
    waitMs: () => waitMs,
    /** Whether others have to know a statement soon. */
    isSurprisedBy: (statement: Statement | null) =>
      seen === null || seen.limit === null || (statement !== null && statement.remaining < levelOf(seen) / 2),
    read: (): BudgetReading => (seen === null ? unknownReading : readingOf(seen)),
  };
}
