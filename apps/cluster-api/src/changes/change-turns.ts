import { clusterLimits } from '@corral/contracts';
import { Problem } from '../problem.js';
import { TurnRefused, type Turns, type TurnsOptions, turns } from './turns.js';

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
const RETRY_SECONDS = { full: 2, slow: 10 } as const;

/**
 * Schedules changes: one per team at a time, and teams in rotation. A change takes a database connection only after its
 * turn began, so waiting changes occupy none.
 *
 * @param more `concurrency`: the number of database connections for changes
 */
export function changeTurns(
  { waitingPerTeam, waitingPerProcess, waitMs }: ChangeLimits,
  more: Pick<TurnsOptions, 'concurrency' | 'after'>,
): Turns {
  const { take, countWaiting } = turns({
    ...more,
    waitingPerKey: waitingPerTeam,
    waitingInAll: waitingPerProcess,
    waitMs,
  });
  return {
    countWaiting,
    async take(key, gone, work) {
      try {
        return await take(key, gone, work);
      } catch (error) {
        throw error instanceof TurnRefused ? refusal(error, { waitingPerTeam, waitMs }) : error;
      }
    },
  };
}

function refusal({ whose, why }: TurnRefused, limits: Pick<ChangeLimits, 'waitingPerTeam' | 'waitMs'>): Problem {
  const { waitingPerTeam, waitMs } = limits;
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
