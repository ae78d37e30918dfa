import type { RequestScope } from '@corral/admission';
import type { TeamId } from '@corral/contracts';
import { isLockTimeout, lockTeamChanges, type Prisma, type Transaction } from '@corral/database';
import { Problem } from '../problem.js';
import type { RequestContext } from './caller.js';

export type { Transaction };

/** In ms. A turn guarantees a free connection, so a longer wait means a problem in another process. */
const transactionLimits = { maxWait: 5_000, timeout: 10_000 };
const RETRY_SECONDS = 5;

export interface TeamChange extends Pick<RequestContext, 'scope'> {
  readonly team: { readonly id: TeamId };
}

/**
 * Runs `work` in one transaction that locks the team's changes. They are serialized by a queue within this process and
 * by a lock between processes. An error rolls everything back.
 *
 * @param work gets the database's clock, read under the lock
 * @throws Problem `service_unavailable` when another process holds the lock for too long
 */
export type ChangeTeam = <T>(of: TeamChange, work: (tx: Transaction, now: Date) => Promise<T>) => Promise<T>;

/** Runs work that uses a connection for changes at its turn. */
export type InTurn = <T>(owner: string, scope: RequestScope, work: () => Promise<T>) => Promise<T>;

/**
 * Returns the function through which all changes of a team go.
 *
 * @param prisma on the connections for changes
 */
export function teamChanges(prisma: Prisma, inTurn: InTurn): ChangeTeam {
  return ({ team, scope }, work) =>
    inTurn(team.id, scope, () =>
      prisma
        .$transaction(async (tx) => work(tx, await lockTeamChanges(tx, team.id)), transactionLimits)
        .catch((error: unknown) => {
          throw isLockTimeout(error) ? isLockedElsewhere(error) : error;
        }),
    );
}

const isLockedElsewhere = (cause: unknown): Problem =>
  new Problem(
    'service_unavailable',
    'Nothing was changed: another change of the team is still running on another replica. Repeat the request after the time in Retry-After.',
    { retryAfterSeconds: RETRY_SECONDS, cause },
  );
