import type { TeamId } from '@corral/contracts';
import {
  inTransaction,
  isLockTimeout,
  lockTeamChanges,
  type Pool,
  type Prisma,
  type RawStatements,
  rawStatements,
  type Transaction,
} from '@corral/database';
import { Problem } from '../problem.js';
import type { RequestContext } from './caller.js';
import type { Turns } from './turns.js';

export type { RawStatements, Transaction };

/** In ms. A turn guarantees a free connection, so a longer wait means a problem in another process. */
const transactionLimits = { maxWait: 5_000, timeout: 10_000 };
const RETRY_SECONDS = 5;

export interface TeamChange extends Pick<RequestContext, 'gone' | 'setAside'> {
  readonly team: { readonly id: TeamId };
}

/**
 * Runs `work` in one transaction that locks the team's changes. They are serialized by turns within this process and by
 * a lock between processes. An error rolls everything back.
 *
 * @param work gets the database's clock, read under the lock
 * @throws Problem `service_unavailable` when another process holds the lock for too long
 */
export type ChangeTeam<Tx extends RawStatements = Transaction> = <T>(
  of: TeamChange,
  work: (tx: Tx, now: Date) => Promise<T>,
) => Promise<T>;

type InTransaction<Tx> = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;

/**
 * Returns the functions through which all changes of a team go: one for changes that use Prisma's models, and one that sends
 * statements directly, for the changes of clusters, which are frequent.
 *
 * @param connections the connections for changes
 */
export function teamChanges(
  { prisma, pool }: { readonly prisma: Prisma; readonly pool: Pool },
  turns: Pick<Turns, 'take'>,
): { readonly changeTeam: ChangeTeam; readonly changeTeamDirectly: ChangeTeam<RawStatements> } {
  return {
    changeTeam: inTurn(turns, (work) => prisma.$transaction(work, transactionLimits)),
    changeTeamDirectly: inTurn(turns, (work) => inTransaction(pool, (client) => work(rawStatements(client)))),
  };
}

const inTurn =
  <Tx extends RawStatements>({ take }: Pick<Turns, 'take'>, transaction: InTransaction<Tx>): ChangeTeam<Tx> =>
  ({ team, gone, setAside }, work) => {
    const resume = setAside();
    return take(team.id, gone, async () => {
      resume();
      try {
        return await transaction(async (tx) => work(tx, await lockTeamChanges(tx, team.id)));
      } catch (error) {
        throw isLockTimeout(error) ? isLockedElsewhere(error) : error;
      }
    }).finally(resume);
  };

const isLockedElsewhere = (cause: unknown): Problem =>
  new Problem(
    'service_unavailable',
    'Nothing was changed: another change of the team is still running on another replica. Repeat the request after the time in Retry-After.',
    { retryAfterSeconds: RETRY_SECONDS, cause },
  );
