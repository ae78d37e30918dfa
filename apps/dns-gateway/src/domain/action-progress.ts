import type { DnsCaller } from '@corral/auth';
import type { ActionRecord, ActionStore } from '@corral/dns-mirror';
import type { Followed } from './follow-actions.js';
import { mayFollow } from './rrset-access.js';

export interface ActionProgressDeps {
  readonly store: Pick<ActionStore, 'findActions' | 'recordActions'>;
  readonly follow: (actions: readonly ActionRecord[]) => Followed;
  readonly pause: (ms: number) => Promise<unknown>;
  readonly now: () => number;
  /** What was told less than so long ago is fresh enough. */
  readonly pollIntervalMs: number;
  /** An action that runs for longer is reported as failed: some clients would wait for ever. */
  readonly runningMsMax: number;
}

export interface ActionProgress {
  /** The asked actions that are the caller's to follow, by id. Finished ones cost no upstream call. */
  find(caller: DnsCaller, ids: readonly number[]): Promise<readonly ActionRecord[]>;
}

/** How long an answer may wait for the upstream's word. */
const REFRESH_MS_MAX = 3_000;

/** Tells how actions get on, as the upstream said a moment ago. */
export function actionProgress(deps: ActionProgressDeps): ActionProgress {
  return {
    async find(caller, ids) {
      const read = async () => {
        const ofOwner = await deps.store.findActions(caller.ownerId, ids);
        return ofOwner.filter((action) => mayFollow(caller, action));
      };
      const known = await read();
      const stale = known.filter((action) => isStale(action, deps.now(), deps.pollIntervalMs));
      if (stale.length === 0) return known;
      // A slow upstream holds nobody up for longer than clients wait: they get what was last known, and ask again.
      const followed = deps.follow(stale);
      await Promise.race([followed.told, deps.pause(REFRESH_MS_MAX)]).finally(followed.stop);
      const fresh = await read();
      const overdue = fresh.filter((action) => isOverdue(action, deps.now(), deps.runningMsMax));
      if (overdue.length === 0) return fresh;
      await deps.store.recordActions(overdue.map((action) => givenUp(action, new Date(deps.now()))));
      return read();
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
