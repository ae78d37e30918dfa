import type { DnsErrorCode } from '@corral/contracts';
import { type Prisma, readClock } from '@corral/database';
import { recordCountOf } from '../mirror/rrset-body.js';
import type { BeginOutcome, LedgerOptions, NewWrite, WriteLease } from './begin-rule.js';
import { beginWrite } from './begin-write.js';
import type { DeliveryCheck } from './copies.js';
import { endEntry, isHeldBy, keepAction, lockedOwner, mirrorRrset } from './end-entry.js';
import { countUnsent } from './refused-writes.js';
import type { RrsetKey } from './rrset-write.js';

/** The known outcome of a write in progress. */
export type WriteEnd =
  | {
      state: 'completed';
      status: number;
      body: string;
      /** The set's body now, null when it is gone. */
      rrset: string | null;
      action: { id: number; status: string; body: string } | null;
      recheck: boolean;
      /** The mirror held a set that had been removed outside Corral. Recorded as drift. */
      wasRemoved?: boolean;
    }
  | { state: 'refused'; status: number; body: string; recheck: boolean }
  | { state: 'unsent'; code: DnsErrorCode };

type Completed = Extract<WriteEnd, { state: 'completed' }>;

/** The ledger of pending writes. It keeps quotas, ordering and the audit log correct across crashes and replicas. */
export const writeLedger = (prisma: Prisma, options: LedgerOptions) => ({
  /** First transaction of a write: see `beginWrite`. */
  begin: (newWrite: NewWrite, wasDelivered: DeliveryCheck): Promise<BeginOutcome> =>
    beginWrite(prisma, options, newWrite, wasDelivered),

  /**
   * Second transaction: records a known outcome.
   *
   * @returns false when a settlement took over meanwhile; nothing is written then
   */
  finish(lease: WriteLease, key: RrsetKey, end: WriteEnd): Promise<boolean> {
    switch (end.state) {
      case 'unsent':
        return countAsUnsent(prisma, lease, key, end.code);
      case 'refused':
        return endEntry(
          prisma,
          lease,
          (now) => answered(end, now),
          async () => undefined,
        );
      case 'completed':
        return complete(prisma, lease, key, end);
    }
  },

  /**
   * Records that the outcome is unknown. The entry stays pending, keeps its reservation, and may be settled after
   * `settleAfterMs`.
   *
   * @param answer the upstream's answer, if there was one
   */
  async release(
    lease: WriteLease,
    settleAfterMs: number,
    answer: { status: number; body: string } | null,
  ): Promise<void> {
    const now = await readClock(prisma);
    const known = answer === null ? {} : { upstreamStatus: answer.status, upstreamBody: answer.body };
    const data = { ...known, leaseUntil: new Date(now.getTime() + settleAfterMs) };
    await prisma.dnsAuditEntry.updateMany({ where: isHeldBy(lease), data });
  },

  /** The clients of these entries have received their answers, so a later identical request is a new write. */
  async markAnswered(entryIds: readonly number[]): Promise<void> {
    await prisma.dnsAuditEntry.updateMany({ where: { id: { in: [...entryIds] } }, data: { answered: true } });
  },
});
export type WriteLedger = ReturnType<typeof writeLedger>;

const answered = ({ state, status, body, recheck }: Exclude<WriteEnd, { state: 'unsent' }>, now: Date) => ({
  state,
  upstreamStatus: status,
  upstreamBody: body,
  recheckAt: recheck ? now : null,
});

/** Records an accepted write and its effect. */
function complete(prisma: Prisma, lease: WriteLease, key: RrsetKey, end: Completed): Promise<boolean> {
  const { rrset, action, wasRemoved = false } = end;
  const effect = { afterBody: rrset, recordsCeiling: ceilingOf(lease, end) };
  return endEntry(
    prisma,
    lease,
    (now) => ({ ...answered(end, now), ...effect }),
    async (tx, now) => {
      await mirrorRrset(tx, key, rrset, now);
      if (action !== null) await keepAction(tx, lease, action, now);
      if (!wasRemoved) return;
      const { owner, current: beforeBody } = lease;
      const of = { ...key, teamId: owner.teamId, demoId: owner.kind === 'demo' ? owner.id : null, beforeBody };
      const drift = {
        actor: 'upstream',
        operation: 'drift',
        state: 'observed',
        createdAt: now,
        completedAt: now,
      } as const;
      await tx.dnsAuditEntry.create({ data: { ...of, ...drift }, select: { id: true } });
    },
  );
}

/** A write that never reached the upstream is removed and counted in one transaction, so it is counted once. */
function countAsUnsent(prisma: Prisma, lease: WriteLease, key: RrsetKey, code: DnsErrorCode): Promise<boolean> {
  return prisma.$transaction(async (tx) => {
    await lockedOwner(tx, lease.owner);
    const select = { tokenId: true, requestId: true } as const;
    const entry = await tx.dnsAuditEntry.findFirst({ where: isHeldBy(lease), select });
    const { count } = await tx.dnsAuditEntry.deleteMany({ where: isHeldBy(lease) });
    if (entry === null || count === 0) return false;
    await countUnsent(tx, { ...entry, owner: lease.owner, key, operation: lease.operation, code });
    return true;
  });
}

/**
 * The most records that the set may have while it is not certain that this write and earlier ones took effect. Null when the mirror has
 * no fewer, or when it is certain.
 */
function ceilingOf({ operation, recordsMax }: WriteLease, { rrset, action }: Completed): number | null {
  if (action === null || action.status === 'error') return null;
  // Records were added to those of earlier writes, whatever became of these. Other writes add none, or state all of the set.
  const isCertain = action.status === 'success' && operation !== 'add_records';
  return !isCertain && recordsMax > recordCountOf(rrset) ? recordsMax : null;
}
