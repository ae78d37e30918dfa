import { setTimeout as pause } from 'node:timers/promises';
import { readClock, rowClock } from '@corral/database';
import type { Log } from '@corral/service';
import type { Database } from '../services.js';

interface LeadOptions {
  readonly store: LeadershipStore;
  /** What to do as the leader of the task of that name, until the signal aborts. Is started again when it ends early. */
  readonly tasks: Readonly<Record<string, Work>>;
  /** Unique id of this process. */
  readonly holder: string;
  /** How long the holder may be silent before another process takes a task over, in milliseconds. */
  readonly leaseMs: number;
  readonly log: Log;
}

type Work = (signal: AbortSignal) => Promise<void>;

export interface Leading {
  isLeading(name: string): boolean;
  /** Ends the tasks and leaves them to other processes. Never rejects. */
  close(): Promise<void>;
}

/** Keeps a failing task from being restarted in a busy loop. */
const BROKEN_PAUSE_MS = 1_000;

/**
 * Performs each task while this process is its leader. Two processes may briefly perform one concurrently, when one hangs and does
 * not notice that its lease has ended. Tasks must tolerate that. All leases are held with one statement.
 */
export function lead({ store, tasks, holder, leaseMs, log }: LeadOptions): Leading {
  const stopped = new AbortController();
  const terms = new Map(Object.entries(tasks).map(([name, work]) => [name, termOf({ name, work, holder, log })]));
  const names = [...terms.keys()];

  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      // Counted from before the query, so that we never assume leadership for longer than others do.
      const askedAt = performance.now();
      const ours = await store.hold(names, holder, leaseMs).catch((error: unknown) => {
        log.warn('leadership not known', { tasks: names, error });
        return null;
      });
      for (const [name, term] of terms) {
        if (ours !== null) term.setEnd(ours.has(name) ? askedAt + leaseMs : 0);
        if (!stopped.signal.aborted) term.follow();
      }
      await pause(leaseMs / 4, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  };
  const running = run();

  return {
    isLeading: (name) => terms.get(name)?.isOn() ?? false,
    async close() {
      stopped.abort();
      await Promise.all([...terms.values()].map((term) => term.end()));
      await running;
      await store
        .giveUp(names, holder)
        .catch((error: unknown) => log.warn('leadership not given up', { tasks: names, error }));
    },
  };
}

/** The time during which this process performs a task. */
function termOf({ name, work, holder, log }: { name: string; work: Work; holder: string; log: Log }) {
  let ownUntil = 0;
  let current: AbortController | null = null;
  let working: Promise<void> = Promise.resolve();
  let leaving: Promise<void> | null = null;

  const perform = async (signal: AbortSignal): Promise<void> => {
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
    current = new AbortController();
    working = perform(current.signal);
  };
  const leave = async (): Promise<void> => {
    await working;
    leaving = null;
    log.info('task left', { task: name, holder });
  };
  const end = async (): Promise<void> => {
    if (current !== null) {
      current.abort();
      current = null;
      leaving = leave();
    }
    await leaving;
  };
  return {
    isOn: () => current !== null,
    /** @param until on the monotonic clock, in milliseconds */
    setEnd(until: number) {
      ownUntil = until;
    },
    /** Begins or ends it as the time says. A task that is slow to end delays no other, and does not begin again before. */
    follow(): void {
      const isOurs = performance.now() < ownUntil;
      if (isOurs && current === null && leaving === null) begin();
      if (!isOurs) void end();
    },
    end,
  };
}

/** Tasks with one leader per installation, each stored as a row with the holder and the end of its lease. */
export const leadershipStore = ({ pool, prisma }: Database) => ({
  /**
   * Acquires free tasks, and extends our own leases. Only reads while others have them.
   *
   * @returns which are ours for `leaseMs`
   */
  async hold(names: readonly string[], holder: string, leaseMs: number): Promise<ReadonlySet<string>> {
    const { rows } = await pool.query<{ name: string }>(
      `INSERT INTO leadership (name, holder, until)
       SELECT name, $2, clock_timestamp() + make_interval(secs => $3::float8 / 1000)
       FROM unnest($1::text[]) AS wanted (name)
       WHERE NOT EXISTS (SELECT FROM leadership
                         WHERE leadership.name = wanted.name AND holder <> $2 AND until > ${rowClock})
       ORDER BY name
       ON CONFLICT (name) DO UPDATE
       SET holder = excluded.holder, until = excluded.until,
           fence = leadership.fence + CASE WHEN leadership.holder = excluded.holder THEN 0 ELSE 1 END
       WHERE leadership.holder = excluded.holder OR leadership.until <= ${rowClock}
       RETURNING name`,
      [names, holder, leaseMs],
    );
    return new Set(rows.map(({ name }) => name));
  },

  /** Releases tasks to the next process that asks. */
  async giveUp(names: readonly string[], holder: string): Promise<void> {
    const until = await readClock(prisma);
    await prisma.leadership.updateMany({ where: { name: { in: [...names] }, holder }, data: { until } });
  },
});
type LeadershipStore = ReturnType<typeof leadershipStore>;
