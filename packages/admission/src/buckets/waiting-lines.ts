/**
 * The requests that wait for tokens of one bucket. A slot is the time at which a promised token is available. Slots
 * belong to the line: the first waiter always gets the earliest slot, and when one leaves, the last slot is dropped.
 */
export interface WaitingLine<W> {
  /** In order of arrival. */
  readonly waiters: readonly W[];
  /** One per waiter, earliest first. */
  readonly slots: readonly number[];
}

export const emptyLine: WaitingLine<never> = { waiters: [], slots: [] };

/** Joins the line at its end, and adds the slot promised to the waiter. */
export function enter<W>({ waiters, slots }: WaitingLine<W>, waiter: W, slot: number): WaitingLine<W> {
  return { waiters: [...waiters, waiter], slots: [...slots, slot].sort((one, other) => one - other) };
}

/** @returns null when the waiter is not in the line; otherwise its token must be given back */
export function leave<W>({ waiters, slots }: WaitingLine<W>, waiter: W): WaitingLine<W> | null {
  if (!waiters.includes(waiter)) return null;
  return { waiters: waiters.filter((each) => each !== waiter), slots: slots.slice(0, -1) };
}

/** Removes the waiters whose tokens are available. */
export function serve<W>(
  { waiters, slots }: WaitingLine<W>,
  now: number,
): { line: WaitingLine<W>; served: readonly W[] } {
  const count = slots.filter((slot) => slot <= now).length;
  return {
    line: { waiters: waiters.slice(count), slots: slots.slice(count) },
    served: waiters.slice(0, count),
  };
}

/** A monotonic clock with timers, replaceable in tests. */
export interface Clock {
  /** Milliseconds; never goes back. */
  now(): number;
  /** Calls `run` once after `ms`. @returns a function that cancels the call */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

export interface WaitingLines {
  /**
   * Waits for a token promised in `waitMs`, behind earlier requests for the same key.
   *
   * @returns false when the signal aborted first; the token must then be given back
   */
  wait(key: string, waitMs: number, signal: AbortSignal): Promise<boolean>;
}

interface Waiter {
  readonly go: () => void;
}

interface Line {
  waiting: WaitingLine<Waiter>;
  cancelTimer: () => void;
}

/** The waiting lines of this process, one per key, with their timers. */
export function waitingLines(clock: Clock): WaitingLines {
  const lines = new Map<string, Line>();

  const keep = (key: string, waiting: WaitingLine<Waiter>): void => {
    lines.get(key)?.cancelTimer();
    const [first] = waiting.slots;
    if (first === undefined) lines.delete(key);
    else lines.set(key, { waiting, cancelTimer: clock.after(Math.max(0, first - clock.now()), () => serveDue(key)) });
  };
  const serveDue = (key: string): void => {
    const { line, served } = serve(lines.get(key)?.waiting ?? emptyLine, clock.now());
    keep(key, line);
    for (const { go } of served) go();
  };

  return {
    wait: (key, waitMs, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) {
          resolve(false);
          return;
        }
        const giveUp = (): void => {
          const left = leave(lines.get(key)?.waiting ?? emptyLine, waiter);
          if (left === null) return;
          keep(key, left);
          resolve(false);
        };
        const waiter: Waiter = {
          go: () => {
            signal.removeEventListener('abort', giveUp);
            resolve(true);
          },
        };
        signal.addEventListener('abort', giveUp, { once: true });
        keep(key, enter(lines.get(key)?.waiting ?? emptyLine, waiter, clock.now() + waitMs));
      }),
  };
}

export interface KeyedSemaphore {
  /** @returns a function that releases the place; null when all are taken */
  tryAcquire(key: string): (() => void) | null;
}

/** Limits how many may wait concurrently per key. */
export function keyedSemaphore(max: number): KeyedSemaphore {
  const taken = new Map<string, number>();
  return {
    tryAcquire(key) {
      const count = taken.get(key) ?? 0;
      if (count >= max) return null;
      taken.set(key, count + 1);
      let isReleased = false;
      return () => {
        if (isReleased) return;
        isReleased = true;
        const left = (taken.get(key) ?? 1) - 1;
        if (left === 0) taken.delete(key);
        else taken.set(key, left);
      };
    },
  };
}
