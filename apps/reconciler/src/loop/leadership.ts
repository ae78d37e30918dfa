import { setTimeout as pause } from 'node:timers/promises';
import { type Pool, rowClock } from '@corral/database';
import type { Log } from '@corral/service';

interface LeadOptions {
  readonly store: LeadershipStore;
  /** Name of the task. */
  readonly name: string;
  /** Unique id of this process. */
  readonly holder: string;
  /** How long the holder may be silent before another process takes the task over, in milliseconds. */
  readonly leaseMs: number;
  /** Performs the task until the signal aborts. Is started again when it ends early. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  readonly log: Log;
}

export interface Leading {
  isLeading(): boolean;
  /** Ends the task and leaves it to another process. Never rejects. */
  close(): Promise<void>;
}

/** Keeps a failing task from being restarted in a busy loop. */
const BROKEN_PAUSE_MS = 1_000;

/**
 * Performs a task while this process is its leader. Two processes may briefly perform it concurrently, when one hangs and does not
 * notice that its lease has ended. The task must tolerate that.
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
      // Counted from before the query, so that we never assume leadership for longer than others do.
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

/** A task with one leader per installation, stored as a row with the holder and the end of its lease. */
export const leadershipStore = (pool: Pool) => ({
  /** Acquires a free task, or extends our own lease. @returns whether it is ours for `leaseMs` */
  async hold(name: string, holder: string, leaseMs: number): Promise<boolean> {
    const { rowCount } = await pool.query(
      `INSERT INTO leadership (name, holder, until)
       VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3::float8 / 1000))
       ON CONFLICT (name) DO UPDATE
       SET holder = excluded.holder, until = excluded.until,
           fence = leadership.fence + CASE WHEN leadership.holder = excluded.holder THEN 0 ELSE 1 END
       WHERE leadership.holder = excluded.holder OR leadership.until <= ${rowClock}`,
      [name, holder, leaseMs],
    );
    return rowCount === 1;
  },

  /** Releases the task to the next process that asks. */
  async giveUp(name: string, holder: string): Promise<void> {
    await pool.query('UPDATE leadership SET until = clock_timestamp() WHERE name = $1 AND holder = $2', [name, holder]);
  },
});
type LeadershipStore = ReturnType<typeof leadershipStore>;
