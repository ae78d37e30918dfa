import { type DnsErrorCode, ownerLabelOf, storableText } from '@corral/contracts';
import { isHeld, type Prisma, readClock, type Transaction } from '@corral/database';
import { type RrsetKey, type RrsetOwner, type RrsetWriteKind, recordCountOf } from '../rrset.js';
import {
  type BeginOutcome,
  countPresent,
  decideBegin,
  type LedgerOptions,
  type NewWrite,
  type Situation,
  type WriteLease,
} from './begin-rule.js';
import { type DeliveryCheck, findLatestWrite } from './copies.js';
import {
  countMirrored,
  endEntry,
  isHeldBy,
  keepAction,
  type LockedOwner,
  lockedOwner,
  lockOwner,
  mirrorRrset,
  readOpenEntries,
} from './owner-entries.js';

/**
 * First transaction of a write: reads what the rule needs, and records the write as pending if the rule admits it, before anything is
 * sent.
 *
 * @param wasDelivered whether the client of an identical earlier write has its answer; only then is this a new write
 */
function beginWrite(
  prisma: Prisma,
  options: LedgerOptions,
  newWrite: NewWrite,
  wasDelivered: DeliveryCheck,
): Promise<BeginOutcome> {
  return prisma.$transaction<BeginOutcome>(async (tx) => {
    const owner = await lockOwner(tx, newWrite.owner);
    if (owner === null) return { kind: 'ended' };
    const seen = await readSituation(tx, newWrite, owner);
    const decided = decideBegin(newWrite, seen, options, wasDelivered);
    if (decided.kind !== 'admitted') return decided;
    const entryId = await insertPending(tx, newWrite, seen, { reserve: decided.reserve, leaseMs: options.leaseMs });
    const lease = { entryId, fence: FIRST_FENCE, current: seen.body, recordsMax: decided.recordsMax };
    return { kind: 'begun', lease: { ...lease, owner: newWrite.owner, operation: newWrite.write.operation } };
  });
}

const FIRST_FENCE = 1;

async function readSituation(tx: Transaction, newWrite: NewWrite, locked: LockedOwner): Promise<Situation> {
  const { owner, key, write } = newWrite;
  const { zoneId, name, type } = key;
  const rrset = await tx.dnsRrset.findUnique({
    where: { zoneId_name_type: { zoneId, name, type } },
    select: { body: true },
  });
  const body = rrset?.body ?? null;
  return {
    owner: locked,
    isHeld: await isHeld(tx),
    latest: await findLatestWrite(tx, key),
    body,
    records: await countMirrored(tx, zoneId, ownerLabelOf(name)),
    open: await readOpenEntries(tx, owner.id),
    // Only writes that add values which the mirror already has depend on it.
    isInDoubt: countPresent(write, body) > 0 && (await isSetInDoubt(tx, newWrite)),
  };
}

/**
 * Whether the action of a write to the set still runs, or has failed, and the set was not read since. The indexes of running actions
 * and of rechecks are small, but Prisma's conditions do not fit them.
 */
async function isSetInDoubt(tx: Transaction, { owner, key }: NewWrite): Promise<boolean> {
  const { zoneId, name, type } = key;
  const [row] = await tx.$queryRaw<{ isInDoubt: boolean }[]>`
    SELECT EXISTS (SELECT FROM dns_audit_entry
                   WHERE zone_id = ${zoneId} AND name = ${name} AND type = ${type} AND recheck_at IS NOT NULL)
        OR EXISTS (SELECT FROM dns_action AS action JOIN dns_audit_entry AS entry ON entry.id = action.audit_entry_id
                   WHERE coalesce(action.demo_id, action.team_id) = ${owner.id}::uuid AND action.status = 'running'
                     AND zone_id = ${zoneId} AND name = ${name} AND type = ${type}) AS "isInDoubt"`;
  return row?.isInDoubt === true;
}

async function insertPending(
  tx: Transaction,
  { owner, tokenId, key, write, requestBody, requestId, requestHash }: NewWrite,
  { owner: { now }, body }: Situation,
  { reserve, leaseMs }: { readonly reserve: number; readonly leaseMs: number },
): Promise<number> {
  const { id } = await tx.dnsAuditEntry.create({
    data: {
      ...key,
      teamId: owner.teamId,
      demoId: owner.kind === 'demo' ? owner.id : null,
      actor: tokenId === null ? 'service' : 'token',
      tokenId,
      operation: write.operation,
      requestBody,
      requestId,
      requestHash: requestHash === null ? null : new Uint8Array(requestHash),
      state: 'pending',
      reservedRecords: reserve,
      beforeBody: body,
      leaseUntil: new Date(now.getTime() + leaseMs),
      leaseFence: FIRST_FENCE,
      createdAt: now,
    },
    select: { id: true },
  });
  return Number(id);
}

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

/** A write refused before it was sent upstream or recorded in the ledger. */
export interface RefusedWrite {
  readonly owner: RrsetOwner;
  readonly tokenId: string;
  /** The key as requested, which need not be valid. */
  readonly key: RrsetKey;
  readonly operation: RrsetWriteKind;
  readonly code: DnsErrorCode;
  readonly requestId: string;
}

/** Longer than any valid name or type. */
const NAME_CHARACTERS = 255;
const TYPE_CHARACTERS = 16;

/** A write that was never sent. */
interface UnsentWrite extends Omit<RefusedWrite, 'tokenId' | 'operation' | 'requestId'> {
  /** Null for a deletion by Corral itself. */
  readonly tokenId: string | null;
  readonly operation: string;
  readonly requestId: string | null;
}

/**
 * Counts a write that was never sent upstream: one entry per minute, token, name, type, operation and code. Safe with any number of
 * processes. No body is kept, so the size of an entry is bounded.
 */
async function countUnsent(
  db: Transaction,
  { owner, tokenId, key, operation, code, requestId }: UnsentWrite,
): Promise<void> {
  const demoId = owner.kind === 'demo' ? owner.id : null;
  const actor = tokenId === null ? 'service' : 'token';
  await db.$executeRaw`
    INSERT INTO dns_audit_entry AS known (team_id, demo_id, actor, token_id, zone_id, name, type, operation, refusal_code,
                                          request_id, state, count, minute, created_at, completed_at)
    VALUES (${owner.teamId}::uuid, ${demoId}::uuid, ${actor}::dns_actor, ${tokenId}::uuid, ${key.zoneId}, ${key.name}, ${key.type},
            ${operation}, ${code}, ${requestId}, 'unsent', 1, date_trunc('minute', clock_timestamp()), clock_timestamp(),
            clock_timestamp())
    ON CONFLICT (token_id, zone_id, name, type, operation, refusal_code, minute) WHERE minute IS NOT NULL
    DO UPDATE SET count = known.count + 1, request_id = excluded.request_id,
                  completed_at = greatest(known.completed_at, excluded.completed_at)`;
}

/** Audit entries for writes that never reached the ledger. */
export const refusedWrites = (prisma: Transaction) => ({
  async count({ key, ...write }: RefusedWrite): Promise<void> {
    const name = storableText(key.name, NAME_CHARACTERS, '\ufffd');
    const type = storableText(key.type, TYPE_CHARACTERS, '\ufffd');
    await countUnsent(prisma, { ...write, key: { ...key, name, type } });
  },
});
export type RefusedWrites = ReturnType<typeof refusedWrites>;
