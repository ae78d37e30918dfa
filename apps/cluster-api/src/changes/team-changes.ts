import { fairQueue, NotAdmitted, outside, type RequestScope } from '@corral/admission';
import type { TeamId } from '@corral/contracts';
import { isLockTimeout, lockTeamChanges, type Prisma, type Transaction } from '@corral/database';
import type { ChangeLimits } from '../app-config.js';
import { Problem } from '../problem.js';

export type { Transaction };

/** Time limits in ms. The queue guarantees a free connection, so a longer wait means a problem in another process. */
const transactionLimits = { maxWait: 5_000, timeout: 10_000 };
/** A full queue drains within a few changes. A slow one takes longer. */
const RETRY_SECONDS = { full: 2, late: 10, lockedElsewhere: 5 } as const;

interface TeamChange {
  readonly team: { readonly id: TeamId };
  readonly scope: RequestScope;
}

/**
 * Runs `work` in one transaction that locks the team's changes. They are serialized by a queue within this process and
 * by a lock between processes. An error rolls everything back.
 *
 * @param work gets the database's clock, read under the lock
 * @throws Problem `service_unavailable` when another process holds the lock for too long, and as `RunQueued`
 */
export type ChangeTeam = <T>(of: TeamChange, work: (tx: Transaction, now: Date) => Promise<T>) => Promise<T>;

/**
 * Runs work that uses a connection for changes once the queue lets it. Until then it has no place among the requests that are worked on.
 *
 * @param owner a team, or whoever else the work must be the only one of
 * @throws Problem `rate_limit_exceeded`, `service_unavailable`, or the reason of the scope's signal. The work was not started then
 */
export type RunQueued = <T>(owner: string, scope: RequestScope, work: () => Promise<T>) => Promise<T>;

/**
 * Queues changes: one per team at a time, and one team after the other. A change takes a database connection only when it leaves the
 * queue, so waiting changes occupy none.
 *
 * @param prisma on the connections for changes
 * @param concurrency the number of these connections
 */
export function teamChanges(prisma: Prisma, limits: ChangeLimits, concurrency: number) {
  const { run, countWaiting } = fairQueue({
    concurrency,
    perOwner: 1,
    waiting: limits.waitingPerProcess,
    waitingPerOwner: limits.waitingPerTeam,
    waitMs: limits.waitMs,
  });
  const runQueued: RunQueued = (owner, scope, work) =>
    outside(scope, () => run(owner, scope, work)).catch((error: unknown) => {
      throw error instanceof NotAdmitted ? notAdmitted(error, limits) : error;
    });
  const changeTeam: ChangeTeam = ({ team, scope }, work) =>
    runQueued(team.id, scope, () =>
      prisma
        .$transaction(async (tx) => work(tx, await lockTeamChanges(tx, team.id)), transactionLimits)
        .catch((error: unknown) => {
          throw isLockTimeout(error) ? lockedElsewhere(error) : error;
        }),
    );
  return { runQueued, changeTeam, countWaiting };
}

function notAdmitted({ whose, why }: NotAdmitted, { waitingPerTeam, waitMs }: ChangeLimits): Problem {
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

const lockedElsewhere = (cause: unknown): Problem =>
  new Problem(
    'service_unavailable',
    'Nothing was changed: another change of the team is still running on another replica. Repeat the request after the time in Retry-After.',
    { retryAfterSeconds: RETRY_SECONDS.lockedElsewhere, cause },
  );
