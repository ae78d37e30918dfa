import { lockTeamChanges, type Prisma, type Transaction } from '@corral/database';
import type { Asking } from '../domain/caller.js';
import type { Turns } from '../domain/turns.js';

export type { Transaction };

/** A turn comes with a free connection. A change that takes so long waits for another process, and something is wrong. */
const patience = { maxWait: 5_000, timeout: 10_000 };

export interface TeamChange extends Pick<Asking, 'gone'> {
  readonly team: { readonly id: string };
}

/**
 * Runs `work` in one transaction that holds the changes of the team: they come one after the other, in this process by turns
 * and among processes by a lock. What it throws undoes everything.
 *
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
  ({ team, gone }, work) =>
    take(team.id, gone, () =>
      prisma.$transaction(async (tx) => work(tx, await lockTeamChanges(tx, team.id)), patience),
    );
