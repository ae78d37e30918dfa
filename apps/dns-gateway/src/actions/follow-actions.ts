import type { ActionRecord, ActionStore, CheckedAction, PollTurns, RrsetKey } from '@corral/dns-data';
import type { ActionReading } from '@corral/hcloud';

export interface FollowActionsDeps {
  readonly polls: Pick<PollTurns, 'takePoll' | 'endPoll' | 'findChecked'>;
  readonly store: Pick<ActionStore, 'recordActions'>;
  /** Reads a set again after its write turned out to have failed. Never fails. */
  readonly lookAgain: (entryId: number, key: RrsetKey) => Promise<void>;
  /** Asks the upstream. Rejects when it is unavailable. */
  readonly read: (ids: readonly number[]) => Promise<ActionReading[]>;
  readonly pause: (ms: number) => Promise<unknown>;
  readonly now: () => number;
  /** Minimum time in milliseconds between two upstream calls of all processes together. */
  readonly pollIntervalMs: number;
  readonly onReadError: (error: Error) => void;
}

/** `reported`: the upstream has reported all of them again. `ended`: the first of them has ended. */
export type FollowUntil = 'reported' | 'ended';

/** Ends when the condition is met, when the upstream is unavailable, or when the signal aborts. */
export type FollowActions = (
  actions: readonly ActionRecord[],
  until: FollowUntil,
  signal: AbortSignal,
) => Promise<void>;

interface Waiter {
  readonly until: FollowUntil;
  /** Time of the last known state, by action id. */
  readonly knownAt: ReadonlyMap<number, number>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** How long a polling process may be silent before another process takes over. */
const LEASE_MS = 5_000;
/** How long an action stays wanted after a client asked. Clients ask about once per second. */
const WANTED_MS = 3_000;
/** How often this process checks for results while another process polls. */
const LOOK_MS_MIN = 25;
const LOOK_MS_MAX = 250;

/**
 * Follows actions on behalf of all clients. Each process runs one loop while clients wait. One process at a time asks the
 * upstream for everything that is wanted anywhere, and the others read the results from Postgres.
 */
export function followActions(deps: FollowActionsDeps): FollowActions {
  const waiters = new Set<Waiter>();
  let isLooping = false;

  const loop = async (): Promise<void> => {
    while (waiters.size > 0) {
      const isAway = await pollOrWait(deps, idsOf([...waiters]));
      // Later waiters are not in this query, so nothing is known about their actions.
      const present = [...waiters];
      const checked = new Map((await deps.polls.findChecked(idsOf(present))).map((action) => [action.id, action]));
      // Without the upstream, clients get the last known state. "Still running" is accurate enough, and they ask again.
      for (const waiter of present) if (isAway || isDone(waiter, checked)) release(waiter);
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

  return async (actions, until, signal) => {
    if (signal.aborted) return;
    const { promise: done, resolve, reject } = Promise.withResolvers<void>();
    const knownAt = new Map(actions.map(({ id, checkedAt }) => [id, checkedAt.getTime()]));
    const waiter: Waiter = { until, knownAt, resolve, reject };
    const giveUp = () => release(waiter);
    signal.addEventListener('abort', giveUp);
    waiters.add(waiter);
    startLoop();
    await done.finally(() => signal.removeEventListener('abort', giveUp));
  };
}

const idsOf = (waiters: readonly Waiter[]): number[] => [
  ...new Set(waiters.flatMap(({ knownAt }) => [...knownAt.keys()])),
];

/** @returns whether the upstream was unavailable */
async function pollOrWait(deps: FollowActionsDeps, ids: readonly number[]): Promise<boolean> {
  const options = { intervalMs: deps.pollIntervalMs, leaseMs: LEASE_MS, wantedMs: WANTED_MS };
  const turn = await deps.polls.takePoll(ids, options);
  if (turn.kind === 'taken') {
    await deps.pause(Math.min(LOOK_MS_MAX, Math.max(LOOK_MS_MIN, turn.waitMs)));
    return false;
  }
  const startedAt = deps.now();
  const readings = await deps.read(turn.ids).catch((error: Error) => {
    deps.onReadError(error);
    return null;
  });
  try {
    const failed = await deps.store.recordActions(readings ?? []);
    // A client that sees the failed action must find the set in its actual state.
    await Promise.all(failed.map(({ entryId, key }) => deps.lookAgain(entryId, key)));
  } finally {
    const restMs = Math.max(0, startedAt + deps.pollIntervalMs - deps.now());
    await deps.polls.endPoll(turn.until, readings === null ? [] : turn.ids, restMs);
  }
  return readings === null;
}

function isDone({ until, knownAt }: Waiter, checked: ReadonlyMap<number, CheckedAction>): boolean {
  const hasEnded = (id: number): boolean => checked.get(id)?.isRunning !== true;
  if (until === 'ended') return [...knownAt.keys()].some(hasEnded);
  return [...knownAt].every(([id, at]) => hasEnded(id) || Number(checked.get(id)?.checkedAt) > at);
}
