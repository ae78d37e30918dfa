import { fairQueue, NotAdmitted, outside, type RequestScope } from '@corral/admission';
import { clusterLimits } from '@corral/contracts';
import { Problem } from '../problem.js';

/** How many changes may wait for their turn and for how long. */
export interface ChangeLimits {
  readonly waitingPerTeam: number;
  readonly waitingPerProcess: number;
  readonly waitMs: number;
}

export const changeDefaults: ChangeLimits = {
  waitingPerTeam: clusterLimits.changesWaitingPerTeam,
  waitingPerProcess: clusterLimits.changesWaitingPerProcess,
  waitMs: clusterLimits.changeWaitSeconds * 1_000,
};

/** A full queue drains within a few changes. A slow one takes longer. */
const RETRY_SECONDS = { full: 2, late: 10 } as const;

export interface ChangeQueue {
  /**
   * Runs a change at its turn. It has a connection for changes then, and no place among the requests that are worked on.
   *
   * @param owner a team, or whoever else the change must be the only one of
   * @throws Problem `rate_limit_exceeded`, `service_unavailable`, or the reason of the scope's signal. The change was not started then
   */
  readonly run: <T>(owner: string, scope: RequestScope, change: () => Promise<T>) => Promise<T>;
  countWaiting(): number;
}

/**
 * Queues changes: one per team at a time, and teams in turns. A change takes a database connection only after its turn began, so
 * waiting changes occupy none.
 *
 * @param concurrency the number of database connections for changes
 */
export function changeQueue(limits: ChangeLimits, concurrency: number): ChangeQueue {
  const { waitingPerTeam, waitingPerProcess, waitMs } = limits;
  const { run, countWaiting } = fairQueue({
    concurrency,
    perOwner: 1,
    waiting: waitingPerProcess,
    waitingPerOwner: waitingPerTeam,
    waitMs,
  });
  return {
    countWaiting,
    run: (owner, scope, change) =>
      outside(scope, () => run(owner, scope, change)).catch((error: unknown) => {
        throw error instanceof NotAdmitted ? refusal(error, limits) : error;
      }),
  };
}

function refusal({ whose, why }: NotAdmitted, { waitingPerTeam, waitMs }: ChangeLimits): Problem {
  const retry = { retryAfterSeconds: RETRY_SECONDS[why] };
  const again = 'Repeat the request after the time in Retry-After';
  if (whose === 'others') {
    return new Problem(
      'service_unavailable',
      `Nothing was changed: too many changes of all teams are waiting. ${again}.`,
      retry,
    );
  }
  const waits =
    why === 'full'
      ? `the team already has ${waitingPerTeam} waiting changes, which is the limit`
      : `earlier changes of the team did not finish within ${waitMs / 1_000} s`;
  return new Problem(
    'rate_limit_exceeded',
    `Nothing was changed: ${waits}. ${again}, and send fewer changes at the same time.`,
    retry,
  );
}
