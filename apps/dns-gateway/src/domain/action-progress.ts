import type { ActionRecord, ActionStore } from '@corral/dns-mirror';
import type { ActionReading } from '@corral/hcloud';

export interface ActionProgressDeps {
  readonly store: Pick<ActionStore, 'findActions' | 'recordActions'>;
  /** Asks the upstream; rejects when it cannot be reached. */
  readonly read: (ids: readonly number[]) => Promise<ActionReading[]>;
  readonly pause: (ms: number) => Promise<unknown>;
  readonly now: () => number;
  /** At most one upstream call in so long, for all waiting clients together. */
  readonly pollIntervalMs: number;
  /** An action that runs for longer is reported as failed: some clients would wait for ever. */
  readonly runningMsMax: number;
  readonly onReadError: (error: Error) => void;
}

export interface ActionProgress {
  /** The asked actions that are the team's, by id. Finished ones cost no upstream call. */
  find(teamId: string, ids: readonly number[]): Promise<readonly ActionRecord[]>;
}

/** How long an answer may wait for the upstream's word. */
const REFRESH_MS_MAX = 3_000;

/** Follows actions on behalf of all clients: whoever asks while a call is due or under way shares it. */
export function actionProgress(deps: ActionProgressDeps): ActionProgress {
  const refresh = coalesce(deps);
  return {
    async find(teamId, ids) {
      const known = await deps.store.findActions(teamId, ids);
      const stale = known.filter((action) => isStale(action, deps.now(), deps.pollIntervalMs));
      if (stale.length === 0) return known;
      // A slow upstream holds nobody up for longer than clients wait: they get what was last known, and ask again.
      await Promise.race([refresh(stale.map((action) => action.id)), deps.pause(REFRESH_MS_MAX)]);
      const fresh = await deps.store.findActions(teamId, ids);
      const overdue = fresh.filter((action) => isOverdue(action, deps.now(), deps.runningMsMax));
      if (overdue.length === 0) return fresh;
      await deps.store.recordActions(overdue.map((action) => givenUp(action, new Date(deps.now()))));
      return deps.store.findActions(teamId, ids);
    },
  };
}

function isStale({ status, checkedAt }: ActionRecord, now: number, intervalMs: number): boolean {
  return status === 'running' && now - checkedAt.getTime() >= intervalMs;
}

function isOverdue({ status, startedAt }: ActionRecord, now: number, runningMsMax: number): boolean {
  return status === 'running' && now - startedAt.getTime() > runningMsMax;
}

/** The end of an action that the upstream never ended. Its other members stay as stated. */
export function givenUp({ id, body }: ActionRecord, at: Date): { id: number; status: string; body: string } {
  const message = 'The upstream did not report an end in time. Read the record set to see its state.';
  const ended = { status: 'error', finished: at.toISOString(), error: { code: 'timeout', message } };
  return { id, status: 'error', body: JSON.stringify({ ...JSON.parse(body), ...ended }) };
}

/** One call at a time, none sooner than an interval after the one before; ids that come meanwhile go into the next. */
function coalesce(deps: ActionProgressDeps): (ids: readonly number[]) => Promise<void> {
  let wanted = new Set<number>();
  let next: Promise<void> | null = null;
  let lastCallAt = Number.NEGATIVE_INFINITY;
  let running: Promise<void> = Promise.resolve();

  const call = async (): Promise<void> => {
    await running;
    const waitMs = lastCallAt + deps.pollIntervalMs - deps.now();
    if (waitMs > 0) await deps.pause(waitMs);
    const ids = [...wanted];
    wanted = new Set();
    next = null;
    lastCallAt = deps.now();
    const refreshed = deps.read(ids).then(
      (told) => deps.store.recordActions(told),
      // The clients get what was last known: "still running" is true enough, and they ask again.
      (error: Error) => deps.onReadError(error),
    );
    // Whatever becomes of this call, the next one only has to wait for its end.
    running = refreshed.catch(() => undefined);
    await refreshed;
  };

  return (ids) => {
    for (const id of ids) wanted.add(id);
    next ??= call();
    return next;
  };
}
