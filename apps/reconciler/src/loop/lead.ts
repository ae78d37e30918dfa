import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '@corral/service';
import type { LeadershipStore } from './leadership-store.js';

export interface LeadOptions {
  readonly store: LeadershipStore;
  /** Of the task. */
  readonly name: string;
  /** Of this process; unique among all. */
  readonly holder: string;
  /** After so long without a sign of life another process takes the task over. */
  readonly leaseMs: number;
  /** Does the task until the signal, however often that is begun anew. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  readonly log: Log;
}

export interface Leading {
  isLeading(): boolean;
  /** Ends the task and leaves it to another process. Never rejects. */
  close(): Promise<void>;
}

/** A task that goes wrong at once must not be begun in a busy loop. */
const BROKEN_PAUSE_MS = 1_000;

/**
 * Does a task as long as this process is the one to do it. Two processes may do it for a moment, when one of them hangs
 * and does not notice that its time is over: the task has to bear that.
 */
export function lead({ store, name, holder, leaseMs, work, log }: LeadOptions): Leading {
  const stopped = new AbortController();
  let term: AbortController | null = null;
  let working: Promise<void> = Promise.resolve();

  const runTask = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      try {
        await work(signal);
      } catch (error) {
        log.error('leading task failed', { task: name, error });
      }
      await pause(BROKEN_PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  const begin = (): void => {
    log.info('task taken', { task: name, holder });
    term = new AbortController();
    working = runTask(term.signal);
  };
  const end = async (): Promise<void> => {
    if (term === null) return;
    term.abort();
    term = null;
    await working;
    log.info('task left', { task: name, holder });
  };

  const run = async (): Promise<void> => {
    let ownUntil = 0;
    while (!stopped.signal.aborted) {
      // Counted from before the question, so that we never believe in our term for longer than the others do.
      const askedAt = performance.now();
      const isOurs = await store.hold(name, holder, leaseMs).catch((error: unknown) => {
        log.warn('leadership not known', { task: name, error });
        return null;
      });
      if (isOurs) ownUntil = askedAt + leaseMs;
      if (isOurs === false) ownUntil = 0;
      const isLeading = performance.now() < ownUntil && !stopped.signal.aborted;
      if (isLeading && term === null) begin();
      if (!isLeading) await end();
      await pause(leaseMs / 4, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  };
  const running = run();

  return {
    isLeading: () => term !== null,
    async close() {
      stopped.abort();
      await end();
      await running;
      await store
        .giveUp(name, holder)
        .catch((error: unknown) => log.warn('leadership not given up', { task: name, error }));
    },
  };
}
