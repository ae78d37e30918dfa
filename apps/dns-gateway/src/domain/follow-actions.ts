import type { setTimeout } from 'node:timers/promises';
import type { ActionRecord, ActionStore, CheckedAction, PollTurns, RrsetKey } from '@corral/dns-mirror';
import type { ActionReading } from '@corral/hcloud';

export interface FollowActionsDeps {
  readonly polls: Pick<PollTurns, 'claimPoll' | 'endPoll' | 'findChecked'>;
  readonly store: Pick<ActionStore, 'recordActions'>;
  /** Reads a set again whose write had no effect after all. Never fails. */
  readonly lookAgain: (entryId: number, key: RrsetKey) => Promise<void>;
  /** Asks the upstream; rejects when it cannot be reached. */
  readonly read: (ids: readonly number[]) => Promise<ActionReading[]>;
  readonly pause: (ms: number) => Promise<unknown>;
  readonly now: () => number;
  /** At most one upstream call in so long, for the waiting clients of all processes together. */
  readonly pollIntervalMs: number;
  readonly onReadError: (error: Error) => void;
}

export interface Followed {
  /** Resolves once what is waited for has happened, or the upstream cannot be asked. */
  readonly told: Promise<void>;
  /** Nobody waits any more. */
  stop(): void;
}

/** What is waited for: that the upstream has told of all of them anew, or that the first of them has ended. */
export type FollowUntil = 'told' | 'ended';

interface Waiter {
  readonly until: FollowUntil;
  /** When each was last told of. */
  readonly knownAt: ReadonlyMap<number, number>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A process that polls and is not heard of for so long is taken for dead. */
const LEASE_MS = 5_000;
/** Clients ask about once a second while they wait. */
const WANTED_MS = 3_000;
/** While another process polls, this one looks so often whether it has been told. */
const LOOK_MS_MIN = 25;
const LOOK_MS_MAX = 250;

/**
 * Follows actions on behalf of all clients. One loop per process, as long as somebody waits; of all processes one at a
 * time asks the upstream, for everything that is waited for anywhere, and the others see in Postgres what it was told.
 */
export function followActions(
  deps: FollowActionsDeps,
): (actions: readonly ActionRecord[], until: FollowUntil) => Followed {
  const waiters = new Set<Waiter>();
  let isLooping = false;

  const loop = async (): Promise<void> => {
    while (waiters.size > 0) {
      const isAway = await pollOrWait(deps, idsOf([...waiters]));
      // Whoever comes from here on is not among those that are looked for: nothing is known of theirs.
      const present = [...waiters];
      const checked = new Map((await deps.polls.findChecked(idsOf(present))).map((action) => [action.id, action]));
      // Without the upstream the clients get what was last known: "still running" is true enough, and they ask again.
      for (const waiter of present) if (isAway || isTold(waiter, checked)) release(waiter);
    }
  };

  const release = (waiter: Waiter): void => {
    waiters.delete(waiter);
    waiter.resolve();
  };

  const startLoop = (): void => {
    if (isLooping) return;
    isLooping = true;
    loop()
      .catch((error: unknown) => {
        for (const { reject } of waiters) reject(error);
        waiters.clear();
      })
      .finally(() => {
        isLooping = false;
        if (waiters.size > 0) startLoop();
      });
  };

  return (actions, until) => {
    let stop = (): void => undefined;
    const told = new Promise<void>((resolve, reject) => {
      const knownAt = new Map(actions.map(({ id, checkedAt }) => [id, checkedAt.getTime()]));
      const waiter: Waiter = { until, knownAt, resolve, reject };
      stop = () => void waiters.delete(waiter);
      waiters.add(waiter);
    });
    startLoop();
    return { told, stop };
  };
}

const idsOf = (waiters: readonly Waiter[]): number[] => [
  ...new Set(waiters.flatMap(({ knownAt }) => [...knownAt.keys()])),
];

/** Waits until one of the actions has ended, for so long at most, and no longer than somebody waits. */
export async function untilOneEnds(
  followed: Followed,
  { waitMs, gone, pause }: { waitMs: number; gone: AbortSignal; pause: typeof setTimeout },
): Promise<void> {
  const over = new AbortController();
  const patience = pause(waitMs, undefined, { signal: AbortSignal.any([over.signal, gone]) }).catch(() => undefined);
  await Promise.race([followed.told, patience]).finally(followed.stop);
  over.abort();
}

/** @returns whether the upstream was asked in vain */
async function pollOrWait(deps: FollowActionsDeps, ids: readonly number[]): Promise<boolean> {
  const options = { intervalMs: deps.pollIntervalMs, leaseMs: LEASE_MS, wantedMs: WANTED_MS };
  const turn = await deps.polls.claimPoll(ids, options);
  if (turn.kind === 'taken') {
    await deps.pause(Math.min(LOOK_MS_MAX, Math.max(LOOK_MS_MIN, turn.waitMs)));
    return false;
  }
  const startedAt = deps.now();
  const told = await deps.read(turn.ids).catch((error: Error) => {
    deps.onReadError(error);
    return null;
  });
  try {
    const failed = await deps.store.recordActions(told ?? []);
    // Who is told that the action failed shall find the set as it is.
    await Promise.all(failed.map(({ entryId, key }) => deps.lookAgain(entryId, key)));
  } finally {
    const restMs = Math.max(0, startedAt + deps.pollIntervalMs - deps.now());
    await deps.polls.endPoll(turn.claim, told === null ? [] : turn.ids, restMs);
  }
  return told === null;
}

function isTold({ until, knownAt }: Waiter, checked: ReadonlyMap<number, CheckedAction>): boolean {
  const hasEnded = (id: number): boolean => checked.get(id)?.isRunning !== true;
  if (until === 'ended') return [...knownAt.keys()].some(hasEnded);
  return [...knownAt].every(([id, at]) => hasEnded(id) || Number(checked.get(id)?.checkedAt) > at);
}
