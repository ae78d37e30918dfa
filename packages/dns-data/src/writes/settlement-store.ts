import { type Prisma, readClock, rowClock, type Sql, sql, sqlText } from '@corral/database';
import type { RrsetKey, RrsetWriteKind } from '../rrset.js';
import { settledAction } from './copies.js';
import {
  type EntryHold,
  endEntry,
  entryKey,
  entryOwner,
  isHeldBy,
  type KeyRow,
  type OwnedEntryRow,
} from './owner-entries.js';

/** A pending entry whose record set must be read upstream. */
export interface DueEntry extends EntryHold {
  readonly key: RrsetKey;
  readonly operation: RrsetWriteKind;
  readonly requestBody: string | null;
}

/** An entry whose record set is to be read again. */
export interface DueRecheck {
  readonly entryId: number;
  readonly key: RrsetKey;
  /** The time when it becomes due again unless it is dropped. */
  readonly recheckAt: Date;
}

export interface Settlement {
  /** The set as read upstream; null when absent there. */
  readonly found: string | null;
  /** Whether the write's effect was seen. */
  readonly applied: boolean;
  /** Time of settlement, used in the finished action. */
  readonly at: Date;
  /** Delay until the set is read again: an action may still have been running. */
  readonly recheckAfterMs: number;
}

interface DueRow extends OwnedEntryRow {
  lease_fence: number;
  operation: RrsetWriteKind;
  request_body: string | null;
}

const clock = sqlText(rowClock);
const taken = sqlText('id, team_id, demo_id, lease_fence, zone_id, name, type, operation, request_body');

/*
 * Searches name the states in their text: that is how Postgres knows that the small indexes of pending entries and of rechecks fit.
 */
export const settlementStore = (prisma: Prisma) => {
  const after = async (ms: number): Promise<Date> => new Date((await readClock(prisma)).getTime() + ms);

  const take = async (among: Sql, max: number, leaseMs: number): Promise<DueEntry[]> => {
    const rows = await prisma.$queryRaw<DueRow[]>`
      UPDATE dns_audit_entry
      SET lease_until = clock_timestamp() + make_interval(secs => ${leaseMs}::float8 / 1000), lease_fence = lease_fence + 1
      WHERE id IN (SELECT id FROM dns_audit_entry WHERE state = 'pending' AND lease_until <= ${clock} AND ${among}
                   ORDER BY lease_until, id LIMIT ${max} FOR UPDATE SKIP LOCKED)
      RETURNING ${taken}`;
    return rows.map(dueEntry);
  };

  /** Seconds since the earliest of these times of pending entries. */
  const readSecondsSince = async (column: 'lease_until' | 'created_at'): Promise<number> => {
    const [row] = await prisma.$queryRaw<{ seconds: number | null }[]>`
      SELECT extract(epoch FROM clock_timestamp() - min(${sqlText(column)}))::float8 AS seconds
      FROM dns_audit_entry WHERE state = 'pending'`;
    return Math.max(0, row?.seconds ?? 0);
  };

  return {
    /**
     * Takes over pending entries whose lease has expired: the holder died, or released the write without an outcome. The
     * longest due come first, so an unreadable set does not block others.
     */
    takePending: (max: number, leaseMs: number): Promise<DueEntry[]> => take(sqlText('true'), max, leaseMs),

    /** Does what `takePending` does for one set, so that a new write can settle the entry that blocks it. */
    async takePendingOf({ zoneId, name, type }: RrsetKey, leaseMs: number): Promise<DueEntry | null> {
      const [due = null] = await take(sql`zone_id = ${zoneId} AND name = ${name} AND type = ${type}`, 1, leaseMs);
      return due;
    },

    /** Extends the lease while the set is being read. */
    async renew(held: DueEntry, leaseMs: number): Promise<void> {
      const leaseUntil = await after(leaseMs);
      const where = { ...isHeldBy(held), leaseUntil: { lt: leaseUntil } };
      await prisma.dnsAuditEntry.updateMany({ where, data: { leaseUntil } });
    },

    /**
     * The outcome that another process recorded; null while the entry is pending or when it ended without a settlement.
     */
    async findSettled(entryId: number): Promise<{ applied: boolean; found: string | null; at: Date } | null> {
      const entry = await prisma.dnsAuditEntry.findUnique({
        where: { id: entryId, state: 'settled' },
        select: { foundApplied: true, foundBody: true, completedAt: true },
      });
      if (entry === null || entry.completedAt === null) return null;
      return { applied: entry.foundApplied === true, found: entry.foundBody, at: entry.completedAt };
    },

    /**
     * Takes entries whose set must be read again. They become due again after `retryMs` unless `dropRecheck` is called.
     */
    async takeRechecks(max: number, retryMs: number): Promise<DueRecheck[]> {
      const rows = await prisma.$queryRaw<(KeyRow & { recheck_at: Date })[]>`
        UPDATE dns_audit_entry SET recheck_at = clock_timestamp() + make_interval(secs => ${retryMs}::float8 / 1000)
        WHERE id IN (SELECT id FROM dns_audit_entry WHERE recheck_at <= ${clock}
                     ORDER BY recheck_at, id LIMIT ${max} FOR UPDATE SKIP LOCKED)
        RETURNING id, zone_id, name, type, recheck_at`;
      return rows.map((row) => ({ entryId: Number(row.id), key: entryKey(row), recheckAt: row.recheck_at }));
    },

    /** Ends a recheck after the set was read. A recheck requested meanwhile stays. */
    async dropRecheck({ entryId: id, recheckAt }: DueRecheck): Promise<void> {
      await prisma.dnsAuditEntry.updateMany({ where: { id, recheckAt }, data: { recheckAt: null } });
    },

    /**
     * Postpones a recheck by `retryMs` because the set could not be compared now. No effect if it was taken again
     * meanwhile.
     */
    async deferRecheck({ entryId: id, recheckAt }: DueRecheck, retryMs: number): Promise<void> {
      await prisma.dnsAuditEntry.updateMany({ where: { id, recheckAt }, data: { recheckAt: await after(retryMs) } });
    },

    /** Removes the recheck because the writer has read the set itself. */
    async forgetRecheck(entryId: number): Promise<void> {
      await prisma.dnsAuditEntry.updateMany({ where: { id: entryId }, data: { recheckAt: null } });
    },

    /** Returns an entry whose set could not be read now. It is due again after `retryMs`. */
    async postpone(due: DueEntry, retryMs: number): Promise<void> {
      await prisma.dnsAuditEntry.updateMany({ where: isHeldBy(due), data: { leaseUntil: await after(retryMs) } });
    },

    /** Ends a pending entry with what was found: entry, mirror and action together. False when another process took over. */
    settle(due: DueEntry, { found, applied, at, recheckAfterMs }: Settlement): Promise<boolean> {
      const action = applied ? settledAction({ ...due, found }, at) : null;
      const end = { state: 'settled', foundBody: found, foundApplied: applied, recheckAfterMs } as const;
      return endEntry(prisma, due, end, {
        key: due.key,
        rrset: found,
        action: action && { ...action, status: 'success' },
      });
    },

    /** Age of the oldest entry due for settlement, in seconds; 0 when none is due. */
    readBacklogSeconds: (): Promise<number> => readSecondsSince('lease_until'),

    /** Age of the oldest write without an outcome, also of one that is still being sent, in seconds; 0 when there is none. */
    readPendingSeconds: (): Promise<number> => readSecondsSince('created_at'),
  };
};
export type SettlementStore = ReturnType<typeof settlementStore>;

function dueEntry(row: DueRow): DueEntry {
  return {
    entryId: Number(row.id),
    fence: row.lease_fence,
    owner: entryOwner(row),
    key: entryKey(row),
    operation: row.operation,
    requestBody: row.request_body,
  };
}
