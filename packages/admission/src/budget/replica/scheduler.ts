import type { BudgetReading } from '../account/budget-state.js';
import { type CallClass, callClasses } from '../account/call-class.js';
import type { UsedUp } from '../account/promise-turns.js';
import type { BudgetGrant } from '../account/renew-lease.js';
import type { Refusal } from './refusals.js';
import { type CallEnd, type Decided, type Findings, type Turn, turnKeeper } from './turn-keeper.js';
import type { Want } from './waiting-room.js';

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

export interface Patience {
  readonly patienceMs: number;
  /** The request had its turn and was answered 429. */
  readonly again?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Asks for a place when no turn is free; null when the request cannot wait. */
  readonly enterQueue?: (() => (() => void) | null) | undefined;
}

/** How a request for a turn ended, for metrics. */
export interface TurnTaken {
  readonly class: CallClass;
  readonly outcome: 'go' | 'refused' | 'aborted';
  readonly ms: number;
}

export interface Scheduler {
  /** Waits for a turn, in the order that is fair to all users of the budget. Each `go` must be ended with `end`. */
  turn(want: Want, patience: Patience): Promise<Turned>;
  /** Tells how the call ended that a turn was for. */
  end(turn: Turn, how: CallEnd): void;
  read(): BudgetReading;
  /** Gives back what was not used. Requests that wait are refused. */
  close(): Promise<void>;
}

export interface SchedulerDeps {
  /** Never rejects. */
  readonly renew: (findings: Findings) => Promise<BudgetGrant>;
  readonly onTurn: (taken: TurnTaken) => void;
  /** Wall clock. */
  readonly now: () => number;
  /** Monotonic, milliseconds. */
  readonly tick: () => number;
}

/** Requests that come in a row share a report. */
const REPORT_GAP_MS = 25;

/** Drives a turn keeper: its reports, its timers, and the promises of those who wait. */
export function startScheduler({ renew, onTurn, now, tick }: SchedulerDeps): Scheduler {
  const keeper = turnKeeper();
  const settleOf = new Map<number, (decided: Decided | { kind: 'aborted' }) => void>();
  let timer: { readonly at: number; readonly timeout: NodeJS.Timeout } | undefined;
  let renewing: Promise<void> | null = null;
  let lastRenewalAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;

  const settle = (decided: readonly Decided[]): void => {
    for (const each of decided) settleOf.get(each.id)?.(each);
  };

  const renewOnce = async (leaves = false): Promise<void> => {
    const askedAt = tick();
    lastRenewalAt = askedAt;
    const lease = await renew(keeper.report(askedAt, { leaves }));
    settle(keeper.takeUp(lease, askedAt, tick()));
  };

  /** Keeps a timer that ends earlier: each call moves the time twice, mostly further ahead, and new timers of other lengths cost much. */
  const wakeBy = (wakeAt: number, at: number): void => {
    if (timer === undefined || timer.at > wakeAt) {
      clearTimeout(timer?.timeout);
      timer = undefined;
      if (wakeAt === Number.POSITIVE_INFINITY) return;
      const onTime = () => {
        timer = undefined;
        wake();
      };
      timer = { at: wakeAt, timeout: setTimeout(onTime, Math.max(1, wakeAt - at)) };
    }
    if (keeper.waiting() === 0) timer.timeout.unref();
    else timer.timeout.ref();
  };

  const wake = (): void => {
    if (isClosed) return;
    const at = tick();
    settle(keeper.expire(at));
    const { reportAt, expireAt } = keeper.wakeAt(at);
    const renewAt = Math.max(reportAt, lastRenewalAt + REPORT_GAP_MS);
    if (renewing === null && renewAt <= at) {
      renewing = renewOnce().finally(() => {
        renewing = null;
        wake();
      });
    }
    wakeBy(Math.min(renewing === null ? renewAt : Number.POSITIVE_INFINITY, expireAt), at);
  };

  const tooLong = ({ waitMs, usedUp }: Pick<Refusal, 'waitMs' | 'usedUp'>): Turned => {
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
    return { kind: 'too_long', retryAfterSeconds, resetAt: new Date(now() + retryAfterSeconds * 1_000), usedUp };
  };
  const closed = { waitMs: 0, usedUp: 'budget' } as const;

  const wait = (id: number, signal: AbortSignal | undefined): Promise<Turned> =>
    new Promise((resolve) => {
      const giveUp = (): void => {
        keeper.cancel(id);
        settleOf.get(id)?.({ kind: 'aborted' });
      };
      settleOf.set(id, (decided) => {
        settleOf.delete(id);
        signal?.removeEventListener('abort', giveUp);
        resolve(decided.kind === 'too_long' ? tooLong(decided) : decided);
      });
      signal?.addEventListener('abort', giveUp, { once: true });
      wake();
    });

  const turn = async (want: Want, { patienceMs, again = false, signal, enterQueue }: Patience): Promise<Turned> => {
    if (signal?.aborted) return { kind: 'aborted' };
    if (isClosed) return tooLong(closed);
    const asked = keeper.ask(want, { patienceMs, again }, tick());
    if (asked.kind === 'too_long') return tooLong(asked);
    if (asked.kind === 'refuse') return wait(asked.id, signal);
    if (asked.kind === 'go') {
      wake();
      return asked;
    }
    const leaveQueue = enterQueue === undefined ? () => undefined : enterQueue();
    const turned = wait(asked.id, signal);
    if (leaveQueue !== null) return turned.finally(leaveQueue);
    settle(keeper.giveUp(asked.id, tick()));
    wake();
    return turned;
  };

  wake();
  return {
    async turn(want, patience) {
      const startedAt = tick();
      const turned = await turn(want, patience);
      const outcome = turned.kind === 'too_long' ? 'refused' : turned.kind;
      onTurn({ class: want.class, outcome, ms: tick() - startedAt });
      return turned;
    },
    end(ended, how) {
      keeper.end(ended, how, tick());
      wake();
    },
    read: () => keeper.lease()?.reading ?? unknownReading,
    async close() {
      isClosed = true;
      clearTimeout(timer?.timeout);
      await renewing;
      // Requests that wait here get a time. Whichever process they reach then serves them.
      for (const id of [...settleOf.keys()]) settle(keeper.giveUp(id, tick()));
      await renewOnce(true);
      for (const id of [...settleOf.keys()]) settle([{ kind: 'too_long', id, ...closed }]);
    },
  };
}

const noneWaiting = Object.fromEntries(callClasses.map((name) => [name, 0])) as Record<CallClass, number>;
const unknownReading: BudgetReading = { limit: null, remaining: null, resetAt: null, waiting: noneWaiting };
