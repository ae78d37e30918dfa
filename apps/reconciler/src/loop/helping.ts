import type { Log } from '@corral/service';
import type { DueLook } from './due-look.js';

/** Why a process that does not know the Shoots takes jobs. */
export type HelpReason =
  /** The process with the watch has ended, and no other has followed it yet. */
  | 'no watch'
  /** More is due than one process carries out in some seconds. */
  | 'much due'
  /** The process with the watch is full, hangs, or is about to be found dead. */
  | 'not taken'
  /** It takes work, but too slowly. */
  | 'late'
  /** The database gave no answer. */
  | 'not known';

export interface Helping {
  readonly last: DueLook | null;
  /** Until when this process takes jobs, in milliseconds. */
  readonly until: number;
  /** Why it began to. Null if it does not. */
  readonly reason: HelpReason | null;
}

/** About what one process carries out in two to three seconds. */
export const MUCH_DUE = 256;
/** So long after it has become due, one process may begin with a cluster while others do nothing. */
export const LATE_MS = 5_000;
/** Whoever takes work takes the oldest within this time. Plans of passes are up to a second late. */
export const TAKEN_WITHIN_MS = 1_500;
/** Longer than the lease of the watch, so that a process that helps after a crash does so until another one has taken over. */
export const HELP_MS = 20_000;
/** Between two looks. */
export const LOOK_MS = 1_000;
/** The same while nothing is due. */
export const QUIET_LOOK_MS = 2_000;

export const notHelping: Helping = { last: null, until: Number.NEGATIVE_INFINITY, reason: null };

/** Null if the process with the watch keeps up. Compares no clocks: ages are Postgres' own. */
export function reasonToHelp(now: DueLook, before: DueLook | null): HelpReason | null {
  if (!now.isWatched) return 'no watch';
  if (now.due > MUCH_DUE) return 'much due';
  if (now.oldest === null) return null;
  if (now.oldest.forMs >= LATE_MS) return 'late';
  // A process that was suspended finds old work, but not the same work twice.
  const isSame = now.oldest.id === before?.oldest?.id && now.oldest.dueAt === before.oldest.dueAt;
  return isSame && now.oldest.forMs >= TAKEN_WITHIN_MS ? 'not taken' : null;
}

/**
 * @param now null if the database gave no answer
 * @param at when, in milliseconds of any clock of this process
 */
export function afterLook(before: Helping, now: DueLook | null, at: number): Helping {
  const reason = now === null ? 'not known' : reasonToHelp(now, before.last);
  if (reason !== null) return { last: now, until: at + HELP_MS, reason: before.reason ?? reason };
  return at < before.until ? { ...before, last: now } : { ...notHelping, last: now };
}

export interface HelpDeps {
  readonly look: () => Promise<DueLook>;
  /** Whether this process takes jobs. Called at each look, because BullMQ may miss a single call that comes while it stops. */
  readonly takeJobs: (isTaken: boolean) => void;
  readonly log: Log;
}

export interface Helper {
  /** Whether this process has the watch, and so knows the Shoots: then it takes jobs always. */
  setWatching(isWatching: boolean): void;
  close(): Promise<void>;
}

/**
 * Decides whether this process takes jobs: always while it has the watch, otherwise only while work is late. Who knows the Shoots needs
 * no reads for its passes, and what one process does at the same time shares statements and commits.
 */
export function helpWhenLate({ look, takeJobs, log }: HelpDeps): Helper {
  let isClosed = false;
  let isWatching = false;
  let helping = notHelping;
  let timer: NodeJS.Timeout | undefined;

  const step = async (): Promise<void> => {
    const seen = await look().catch(() => null);
    if (isWatching || isClosed) return;
    const before = helping.reason;
    helping = afterLook(helping, seen, performance.now());
    takeJobs(helping.reason !== null);
    if (before === null && helping.reason !== null) log.info('helping with clusters', { reason: helping.reason });
    if (before !== null && helping.reason === null) log.info('clusters left to the process with the watch');
  };
  const run = async (): Promise<void> => {
    if (isWatching) takeJobs(true);
    else await step();
    if (isClosed) return;
    const isQuiet = helping.reason === null && helping.last?.oldest === null;
    timer = setTimeout(
      () => {
        running = run();
      },
      isQuiet ? QUIET_LOOK_MS : LOOK_MS,
    );
  };
  let running = run();
  return {
    setWatching(is) {
      isWatching = is;
      helping = notHelping;
      if (is && !isClosed) takeJobs(true);
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
