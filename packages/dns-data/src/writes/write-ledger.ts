import { type DnsErrorCode, ownerLabelOf, storableText } from '@corral/contracts';
import {
  isHeldNow,
  type Prisma,
  readClock,
  rowClock,
  type Sql,
  sql,
  sqlText,
  type Transaction,
} from '@corral/database';
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
import { type DeliveryCheck, type EarlierWrite, latestWriteTo } from './copies.js';
import { endEntry, isHeldBy, lockOwner, newVersionOf, openEntriesOf, recordsAt } from './owner-entries.js';

/**
 * First part of a write: reads what the rule needs, and records the write as pending if the rule admits it, before anything is sent.
 *
 * @param wasDelivered whether the client of an identical earlier write has its answer; only then is this a new write
 */
async function beginWrite(
  prisma: Prisma,
  options: LedgerOptions,
  newWrite: NewWrite,
  wasDelivered: DeliveryCheck,
): Promise<BeginOutcome> {
  // Repeated while others change the owner in between: nobody has to wait for one that stopped half-way.
  for (;;) {
    const seen = await readSituation(prisma, newWrite);
    if (seen === null) return { kind: 'ended' };
    const decided = decideBegin(newWrite, seen, options, wasDelivered);
    if (decided.kind !== 'admitted') return decided;
    const entryId = await insertPending(prisma, newWrite, seen, { reserve: decided.reserve, leaseMs: options.leaseMs });
    if (entryId === null) continue;
    const lease = { entryId, fence: FIRST_FENCE, current: seen.body, recordsMax: decided.recordsMax };
    return { kind: 'begun', lease: { ...lease, owner: newWrite.owner, operation: newWrite.write.operation } };
  }
}

const FIRST_FENCE = 1;

interface SeenSituation extends Situation {
  /** The version of the owner's row. Whatever changes what was seen leaves another one (`lockOwner`). */
  readonly version: string;
}

type SituationRow = Omit<SeenSituation, 'latest' | 'isInDoubt'> & (EarlierWrite | { readonly id: null });

/** Null when the owner is gone. */
async function readSituation(prisma: Prisma, { owner, key, write }: NewWrite): Promise<SeenSituation | null> {
  const { zoneId, name, type } = key;
  const ofSet = sql`zone_id = ${zoneId} AND name = ${name} AND type = ${type}`;
  const [row] = await prisma.$queryRaw<SituationRow[]>`
    SELECT now, version, is_live AS "isLive", is_suspended AS "isSuspended", records_max AS "recordsMax",
           ${sqlText(isHeldNow)} AS "isHeld", (SELECT body FROM dns_rrset WHERE ${ofSet}) AS body,
           ${recordsAt(zoneId, ownerLabelOf(name))} AS records, ${openEntriesOf(owner.id)} AS open, latest.*
    FROM (SELECT ${sqlText(rowClock)} AS now) AS clock CROSS JOIN LATERAL (${rightToWrite(owner)}) AS owner
    LEFT JOIN LATERAL (${latestWriteTo(key)}) AS latest ON true`;
  if (row === undefined) return null;
  // Only writes that add values which the mirror already has depend on the doubt. Of many rechecks, it is slow to find.
  const isInDoubt = countPresent(write, row.body) > 0 && (await isSetInDoubt(prisma, owner, ofSet));
  return { ...row, isInDoubt, latest: row.id === null ? null : row };
}

/** Whether the action of a write to the set still runs, or the set is to be read again. */
async function isSetInDoubt(prisma: Prisma, { id }: RrsetOwner, ofSet: Sql): Promise<boolean> {
  const [row] = await prisma.$queryRaw<{ isInDoubt: boolean }[]>`
    SELECT EXISTS (SELECT FROM dns_audit_entry WHERE ${ofSet} AND recheck_at IS NOT NULL)
        OR EXISTS (SELECT FROM dns_action AS action JOIN dns_audit_entry AS entry ON entry.id = action.audit_entry_id
                   WHERE coalesce(action.demo_id, action.team_id) = ${id}::uuid AND action.status = 'running'
                     AND ${ofSet}) AS "isInDoubt"`;
  return row?.isInDoubt === true;
}

const rightToWrite = ({ kind, id }: RrsetOwner): Sql =>
  kind === 'team'
    ? sql`SELECT xmin::text AS version, true AS is_live, suspended_at IS NOT NULL AS is_suspended, dns_records_max AS records_max
          FROM team WHERE id = ${id}::uuid`
    : sql`SELECT demo.xmin::text AS version, ended_at IS NULL AND expires_at > now AS is_live,
                 suspended_at IS NOT NULL AS is_suspended, NULL::int AS records_max
          FROM demo LEFT JOIN team ON team.id = team_id WHERE demo.id = ${id}::uuid`;

/** @returns null, and nothing is recorded, when the owner has changed since it was seen */
async function insertPending(
  prisma: Prisma,
  { owner, tokenId, key: { zoneId, name, type }, write, requestBody, requestId, requestHash }: NewWrite,
  { body, version }: SeenSituation,
  { reserve, leaseMs }: { readonly reserve: number; readonly leaseMs: number },
): Promise<number | null> {
  const demoId = owner.kind === 'demo' ? owner.id : null;
  const actor = tokenId === null ? 'service' : 'token';
  const [entry] = await prisma.$queryRaw<{ id: bigint }[]>`
    WITH owner AS (${newVersionOf(owner, version)} RETURNING id),
    clock AS (SELECT ${sqlText(rowClock)} AS now FROM owner)
    INSERT INTO dns_audit_entry (team_id, demo_id, actor, token_id, zone_id, name, type, operation, request_body, request_id,
                                 request_hash, state, reserved_records, before_body, lease_until, lease_fence, created_at)
    SELECT ${owner.teamId}::uuid, ${demoId}::uuid, ${actor}::dns_actor, ${tokenId}::uuid, ${zoneId}, ${name}, ${type},
           ${write.operation}, ${requestBody}, ${requestId}, ${requestHash}::bytea, 'pending', ${reserve}::int, ${body},
           now + make_interval(secs => ${leaseMs}::float8 / 1000), ${FIRST_FENCE}::int, now
    FROM clock RETURNING id`;
  return entry === undefined ? null : Number(entry.id);
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
  /** First part of a write: see `beginWrite`. */
  begin: (newWrite: NewWrite, wasDelivered: DeliveryCheck): Promise<BeginOutcome> =>
    beginWrite(prisma, options, newWrite, wasDelivered),

  /**
   * Second part: records a known outcome.
   *
   * @returns false when a settlement took over meanwhile; nothing is written then
   */
  finish(lease: WriteLease, key: RrsetKey, end: WriteEnd): Promise<boolean> {
    switch (end.state) {
      case 'unsent':
        return countAsUnsent(prisma, lease, key, end.code);
      case 'refused':
        return endEntry(prisma, lease, answered(end), null);
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

const answered = ({ state, status, body, recheck }: Exclude<WriteEnd, { state: 'unsent' }>) => ({
  state,
  upstreamStatus: status,
  upstreamBody: body,
  recheckAfterMs: recheck ? 0 : null,
});

/** Records an accepted write and its effect. */
function complete(prisma: Prisma, lease: WriteLease, key: RrsetKey, end: Completed): Promise<boolean> {
  const { rrset, action, wasRemoved = false } = end;
  const completed = { ...answered(end), afterBody: rrset, recordsCeiling: ceilingOf(lease, end) };
  return endEntry(prisma, lease, completed, { key, rrset, action, drift: wasRemoved ? lease.current : null });
}

/** A write that never reached the upstream is removed and counted in one transaction, so it is counted once. */
function countAsUnsent(prisma: Prisma, lease: WriteLease, key: RrsetKey, code: DnsErrorCode): Promise<boolean> {
  return prisma.$transaction(async (tx) => {
    await lockOwner(tx, lease.owner);
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
