/** Thrown by `take` when the work does not get a turn. */
export class TurnRefused extends Error {
  override readonly name = 'TurnRefused';
  /**
   * @param whose whether the work of the same key or of other keys is in the way
   * @param why too many are waiting, or the wait took too long
   */
  constructor(
    readonly whose: 'own' | 'others',
    readonly why: 'full' | 'slow',
  ) {
    super(`No turn: ${whose} ${why}`);
  }
}

export interface TurnsOptions {
  /** Concurrency limit over all keys. */
  readonly concurrency: number;
  readonly waitingPerKey: number;
  readonly waitingInAll: number;
  /** Longest wait in ms. */
  readonly waitMs: number;
  /** Calls back once after `ms` milliseconds. @returns a function that cancels the timer */
  readonly after: (ms: number, then: () => void) => () => void;
}

export interface Turns {
  /**
   * Runs `work` when it is its turn. Work of one key never overlaps, and waiting keys take turns. Started work runs to
   * its end.
   *
   * @param gone aborts the wait
   * @throws TurnRefused, or the reason of `gone`. The work was not started then
   */
  take<T>(key: string, gone: AbortSignal, work: () => Promise<T>): Promise<T>;
  countWaiting(): number;
}

interface Waiter {
  begin(): void;
}

/** A scheduler that runs one work item per key at a time, rotates between keys, and limits number and time of waits. */
export function turns({ concurrency, waitingPerKey, waitingInAll, waitMs, after }: TurnsOptions): Turns {
  const running = new Set<string>();
  /** Waiting work by key, next key first. A key moves to the end with each turn. */
  const waiting = new Map<string, Set<Waiter>>();
  let waitingCount = 0;

  const leave = (key: string, waiter: Waiter): void => {
    const queue = waiting.get(key) as Set<Waiter>;
    queue.delete(waiter);
    waitingCount -= 1;
    if (queue.size === 0) waiting.delete(key);
  };

  /** Skips running keys, which keep their place. At most `concurrency` keys are skipped. */
  const nextKey = (): string | undefined => {
    for (const key of waiting.keys()) if (!running.has(key)) return key;
    return undefined;
  };

  const beginNext = (): void => {
    while (running.size < concurrency) {
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
      // With a free slot, work only waits behind work of the same key.
      if (running.size < concurrency && !running.has(key)) return run(key, work);
      if ((waiting.get(key)?.size ?? 0) >= waitingPerKey) throw new TurnRefused('own', 'full');
      if (waitingCount >= waitingInAll) throw new TurnRefused('others', 'full');
      return wait(key, gone, work);
    },
    countWaiting: () => waitingCount,
  };
}
