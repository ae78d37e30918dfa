/** What `take` is told, in place of running the work. */
export class TurnRefused extends Error {
  override readonly name = 'TurnRefused';
  /**
   * @param whose whether the key's own work is in the way, or that of others
   * @param why too many wait, or the wait was too long
   */
  constructor(
    readonly whose: 'own' | 'others',
    readonly why: 'full' | 'slow',
  ) {
    super(`No turn: ${whose} ${why}`);
  }
}

export interface TurnsOptions {
  /** How many run at the same time, of whatever keys. */
  readonly atOnce: number;
  readonly waitingPerKey: number;
  readonly waitingInAll: number;
  /** How long one waits. */
  readonly waitMs: number;
  /** Calls back once, after so long. @returns what calls it off */
  readonly after: (ms: number, then: () => void) => () => void;
}

export interface Turns {
  /**
   * Runs `work` when it is its turn: alone among those of its key, and keys that wait have theirs one after the other. What
   * has begun runs to its end.
   *
   * @param gone ends the wait when it aborts
   * @throws TurnRefused, or the reason of `gone`, when the work was not begun and never will be
   */
  take<T>(key: string, gone: AbortSignal, work: () => Promise<T>): Promise<T>;
  countWaiting(): number;
}

interface Waiter {
  begin(): void;
}

/** One at a time per key, keys in turns, and bounds on how many wait and how long. */
export function turns({ atOnce, waitingPerKey, waitingInAll, waitMs, after }: TurnsOptions): Turns {
  const running = new Set<string>();
  /** By key, those first that are next; a key goes to the end with each turn that it has. */
  const waiting = new Map<string, Set<Waiter>>();
  let waitingCount = 0;

  const leave = (key: string, waiter: Waiter): void => {
    const queue = waiting.get(key) as Set<Waiter>;
    queue.delete(waiter);
    waitingCount -= 1;
    if (queue.size === 0) waiting.delete(key);
  };

  /** Keys that run are passed over and keep their place: no more of them than run at once are looked at. */
  const nextKey = (): string | undefined => {
    for (const key of waiting.keys()) if (!running.has(key)) return key;
    return undefined;
  };

  const beginNext = (): void => {
    while (running.size < atOnce) {
      const key = nextKey();
      if (key === undefined) return;
      const queue = waiting.get(key) as Set<Waiter>;
      const [first] = queue;
      waiting.delete(key);
      waiting.set(key, queue);
      (first as Waiter).begin();
    }
  };

  const run = async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    running.add(key);
    try {
      return await work();
    } finally {
      running.delete(key);
      beginNext();
    }
  };

  const wait = <T>(key: string, gone: AbortSignal, work: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const queue = waiting.get(key) ?? new Set<Waiter>();
      const end = (): void => {
        leave(key, waiter);
        gone.removeEventListener('abort', giveUp);
        callOff();
      };
      const waiter: Waiter = {
        begin() {
          end();
          resolve(run(key, work));
        },
      };
      const giveUp = (): void => {
        end();
        reject(gone.reason);
      };
      waiting.set(key, queue.add(waiter));
      waitingCount += 1;
      gone.addEventListener('abort', giveUp);
      const callOff = after(waitMs, () => {
        const [first] = queue;
        const whose = running.has(key) || first !== waiter ? 'own' : 'others';
        end();
        reject(new TurnRefused(whose, 'slow'));
      });
    });

  return {
    async take(key, gone, work) {
      gone.throwIfAborted();
      // Where a place is free nobody waits but behind their own.
      if (running.size < atOnce && !running.has(key)) return run(key, work);
      if ((waiting.get(key)?.size ?? 0) >= waitingPerKey) throw new TurnRefused('own', 'full');
      if (waitingCount >= waitingInAll) throw new TurnRefused('others', 'full');
      return wait(key, gone, work);
    },
    countWaiting: () => waitingCount,
  };
}
