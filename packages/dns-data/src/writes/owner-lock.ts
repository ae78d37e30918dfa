import { rowClock, sqlText, type Transaction } from '@corral/database';
import type { RrsetOwner } from './rrset-write.js';

/** The owner of a set, as read under its lock. */
export interface LockedOwner {
  /** Whether it may write. Ending a demo takes the lock too, so no write begins after its end was committed. */
  readonly isLive: boolean;
  /** A team's own quota of records; null for that of the installation. */
  readonly recordsMax: number | null;
  /** The database's clock. */
  readonly now: Date;
}

const clock = sqlText(rowClock);

/**
 * Locks the row of a team or a demo until the transaction ends. Whatever changes what counts against its quota holds this lock, so all
 * that is read under it belongs together. The clock is read outside of the statement that locks, which would read it before it waits.
 *
 * @returns null when the owner is gone
 */
export async function lockOwner(
  tx: Pick<Transaction, '$queryRaw'>,
  { kind, id }: Pick<RrsetOwner, 'kind' | 'id'>,
): Promise<LockedOwner | null> {
  const [owner = null] =
    kind === 'team'
      ? await tx.$queryRaw<LockedOwner[]>`
          SELECT true AS "isLive", dns_records_max AS "recordsMax", ${clock} AS now
          FROM (SELECT dns_records_max FROM team WHERE id = ${id}::uuid FOR NO KEY UPDATE) AS locked`
      : await tx.$queryRaw<LockedOwner[]>`
          SELECT ended_at IS NULL AND expires_at > ${clock} AS "isLive", NULL::int AS "recordsMax", ${clock} AS now
          FROM (SELECT ended_at, expires_at FROM demo WHERE id = ${id}::uuid FOR NO KEY UPDATE) AS locked`;
  return owner;
}

/** Locks several demos, in the order that all who lock several follow. */
export async function lockDemos(tx: Pick<Transaction, '$queryRaw'>, ids: readonly string[]): Promise<void> {
  await tx.$queryRaw`SELECT id FROM demo WHERE id = ANY(${ids}::uuid[]) ORDER BY id FOR NO KEY UPDATE`;
}
