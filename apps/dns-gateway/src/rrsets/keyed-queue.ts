import { setTimeout } from 'node:timers/promises';

export interface QueueWait {
  /** Maximum wait in milliseconds. */
  readonly waitMs: number;
  /** Waiting work leaves the queue when it aborts. */
  readonly gone: AbortSignal;
  /** Takes a place in the queue, only called when the work must wait. Null when there is none. */
  readonly enterQueue: () => (() => void) | null;
}

/** Runs work of the same key sequentially in order of arrival, and work of different keys concurrently. */
export interface KeyedQueue {
  /** @returns for anything but `done`, the work was not started and never will be */
  run<T>(key: string, wait: QueueWait, work: () => Promise<T>): Promise<Turned<T>>;
  /** Whether work with that key would have to wait. */
  isBusy(key: string): boolean;
}

export type Turned<T> = { kind: 'done'; value: T } | { kind: 'late' } | { kind: 'gone' } | { kind: 'full' };

export function keyedQueue(): KeyedQueue {
  const tails = new Map<string, Promise<void>>();

  return {
    isBusy: (key) => tails.has(key),
    async run(key, { waitMs, gone, enterQueue }, work) {
      const turn = tails.get(key);
      const leaveQueue = turn === undefined ? () => undefined : enterQueue();
      if (leaveQueue === null) return { kind: 'full' };
      const { promise: ended, resolve: endTurn } = Promise.withResolvers<void>();
      const tail = (turn ?? Promise.resolve()).then(() => ended);
      tails.set(key, tail);
      try {
        const came = turn === undefined ? 'turn' : await comesWithin(turn, waitMs, gone).finally(leaveQueue);
        if (came !== 'turn') return { kind: came };
        return { kind: 'done', value: await work() };
      } finally {
        endTurn();
        if (tails.get(key) === tail) void tail.then(() => tails.get(key) === tail && tails.delete(key));
      }
    },
  };
}

async function comesWithin(turn: Promise<void>, waitMs: number, gone: AbortSignal): Promise<'turn' | 'late' | 'gone'> {
  const over = new AbortController();
  const signal = AbortSignal.any([gone, over.signal]);
  const late = setTimeout(waitMs, 'late' as const, { signal }).catch(() => 'gone' as const);
  return Promise.race([turn.then(() => 'turn' as const), late]).finally(() => over.abort());
}
