import { isLockTimeout, lockTeamChanges, type Prisma, type Transaction } from '@corral/database';
import type { Asking } from '../domain/caller.js';
import type { Turns } from '../domain/turns.js';
import { Problem } from '../problem.js';

export type { Transaction };

/** A turn comes with a free connection. A change that takes so long waits for another process, and something is wrong. */
const patience = { maxWait: 5_000, timeout: 10_000 };
const RETRY_SECONDS = 5;

export interface TeamChange extends Pick<Asking, 'gone' | 'setAside'> {
  readonly team: { readonly id: string };
}

/**
 * Runs `work` in one transaction that holds the changes of the team: they come one after the other, in this process by turns
 * and among processes by a lock. What it throws undoes everything.
 *
 * @throws Problem `service_unavailable` when another process holds for long what this one needs
 * @param work is given the database's clock, read under the lock
 */
export type ChangeTeam = <T>(of: TeamChange, work: (tx: Transaction, now: Date) => Promise<T>) => Promise<T>;

/**
 * The one way in which something of a team changes.
 *
 * @param prisma on the connections for changes
 */
export const teamChanges =
  (prisma: Prisma, { take }: Pick<Turns, 'take'>): ChangeTeam =>
  ({ team, gone, setAside }, work) => {
    const goOn = setAside();
    return take(team.id, gone, async () => {
      goOn();
      try {
        return await prisma.$transaction(async (tx) => work(tx, await lockTeamChanges(tx, team.id)), patience);
      } catch (error) {
        throw isLockTimeout(error) ? isHeldElsewhere(error) : error;
      }
    }).finally(goOn);
  };

const isHeldElsewhere = (cause: unknown): Problem =>
  new Problem(
    'service_unavailable',
    'Nothing was changed: another change of the team is still running on another replica. Repeat the request after the time in Retry-After.',
    { retryAfterSeconds: RETRY_SECONDS, cause },
  );
