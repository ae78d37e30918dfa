import { type Clock, NotAdmitted, type RequestScope, waiting } from '@corral/admission';
import type { DnsCaller } from '@corral/auth';
import { type ActionRecord, type ActionStore, timedOutAction } from '@corral/dns-data';
import { mayFollow } from '../rrsets/access.js';
import type { FollowActions, FollowUntil } from './follow-actions.js';

export interface ActionProgressDeps {
  readonly store: Pick<ActionStore, 'findActions' | 'recordActions'>;
  readonly follow: FollowActions;
  readonly now: () => number;
  /** An answer younger than this is fresh enough, in milliseconds. */
  readonly pollIntervalMs: number;
  /** An action that runs for longer is reported as failed, because some clients would wait forever. */
  readonly runningMsMax: number;
  /** Times how long reads are held. */
  readonly clock: Clock;
  /** Maximum time for which a read is held, in milliseconds. */
  readonly holdMs: number;
  /** Aborted when the process drains. Nothing is held afterwards. */
  readonly draining: AbortSignal;
}

export interface Progress {
  readonly actions: readonly ActionRecord[];
  /** Whether the read was held. */
  readonly isHeld: boolean;
}

export interface ActionProgress {
  /**
   * The requested actions that the caller may follow, by id. While all of them run, it waits for the first one to end, as long as
   * reads are held. Finished actions cost no upstream call.
   */
  find(caller: DnsCaller, ids: readonly number[], scope: RequestScope): Promise<Progress>;
}

/** Reports the progress of actions with a recent upstream state. */
export function actionProgress(deps: ActionProgressDeps): ActionProgress {
  const untilOf = (known: readonly ActionRecord[]): FollowUntil | null => {
    const running = known.filter(({ status }) => status === 'running');
    if (running.length === 0) return null;
    // The caller does not know about an end that is recorded here, so it need not wait for the other actions.
    if (running.length === known.length) return 'ended';
    return running.some((action) => isStale(action, deps.now(), deps.pollIntervalMs)) ? 'reported' : null;
  };

  /**
   * Holds a read until actions change, up to the maximum time.
   *
   * @returns false when it is not held, because its token has too many held reads or the process drains
   */
  const hold = async (running: readonly ActionRecord[], until: FollowUntil, scope: RequestScope): Promise<boolean> => {
    if (deps.draining.aborted) return false;
    const over = new AbortController();
    const signal = AbortSignal.any([scope.signal, deps.draining, over.signal]);
    const held = async (): Promise<void> => {
      const callOff = deps.clock.after(deps.holdMs, () => over.abort());
      await deps.follow(running, until, signal).finally(callOff);
    };
    try {
      await waiting(scope, held);
      return true;
    } catch (error) {
      if (error instanceof NotAdmitted) return false;
      throw error;
    }
  };

  return {
    async find(caller, ids, scope) {
      const read = async () => {
        const ofOwner = await deps.store.findActions(caller.ownerId, ids);
        return ofOwner.filter((action) => mayFollow(caller, action));
      };
      const known = await read();
      const until = untilOf(known);
      if (until === null) return { actions: known, isHeld: false };
      const running = known.filter(({ status }) => status === 'running');
      const isHeld = await hold(running, until, scope);
      if (!isHeld || scope.signal.aborted) return { actions: known, isHeld };
      const fresh = await read();
      const overdue = fresh.filter((action) => isOverdue(action, deps.now(), deps.runningMsMax));
      if (overdue.length === 0) return { actions: fresh, isHeld };
      await deps.store.recordActions(overdue.map((action) => timedOutAction(action, new Date(deps.now()))));
      return { actions: await read(), isHeld };
    },
  };
}

function isStale({ status, checkedAt }: ActionRecord, now: number, intervalMs: number): boolean {
  return status === 'running' && now - checkedAt.getTime() >= intervalMs;
}

function isOverdue({ status, startedAt }: ActionRecord, now: number, runningMsMax: number): boolean {
  return status === 'running' && now - startedAt.getTime() > runningMsMax;
}
