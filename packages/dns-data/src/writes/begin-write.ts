import { ownerLabelOf } from '@corral/contracts';
import { isHeld, type Prisma, type Transaction } from '@corral/database';
import type { BeginOutcome, LedgerOptions, NewWrite } from './begin-rule.js';
import { countPresent, decideBegin, type Situation } from './begin-rule.js';
import { type DeliveryCheck, findLatestWrite } from './copies.js';
import { countMirrored, type LockedOwner, lockOwner, readOpenEntries } from './records-held.js';

/**
 * First transaction of a write: reads what the rule needs, and records the write as pending if the rule admits it, before anything is
 * sent.
 *
 * @param wasDelivered whether the client of an identical earlier write has its answer; only then is this a new write
 */
export function beginWrite(
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

async function readSituation(
  tx: Transaction,
  { owner, key, write }: NewWrite,
  locked: LockedOwner,
): Promise<Situation> {
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
    isInDoubt: countPresent(write, body) > 0 && (await isSetInDoubt(tx, { owner, key })),
  };
}

/**
 * Whether the action of a write to the set still runs, or has failed, and the set was not read since. The indexes of running actions
 * and of rechecks are small, but Prisma's conditions do not fit them.
 */
async function isSetInDoubt(
  tx: Pick<Transaction, '$queryRaw'>,
  { owner, key }: Pick<NewWrite, 'owner' | 'key'>,
): Promise<boolean> {
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
  tx: Pick<Transaction, 'dnsAuditEntry'>,
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
