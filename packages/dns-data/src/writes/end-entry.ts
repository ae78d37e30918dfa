import { asTeamId, ownerLabelOf } from '@corral/contracts';
import type { Prisma, Transaction } from '@corral/database';
import { recordCountOf } from '../mirror/rrset-body.js';
import { lockOwner } from './records-held.js';
import type { RrsetKey, RrsetOwner } from './rrset-write.js';

/** The set of an entry, as a statement of ours returns it. */
export interface KeyRow {
  readonly id: bigint;
  readonly zone_id: bigint;
  readonly name: string;
  readonly type: string;
}

export const entryKey = ({ zone_id, name, type }: Omit<KeyRow, 'id'>): RrsetKey => ({
  zoneId: Number(zone_id),
  name,
  type,
});

export interface OwnedEntryRow extends KeyRow {
  readonly team_id: string | null;
  readonly demo_id: string | null;
}

/** The owner of a write. Every write has one. */
export function entryOwner({ team_id: team, demo_id: demo }: Pick<OwnedEntryRow, 'team_id' | 'demo_id'>): RrsetOwner {
  const teamId = team === null ? null : asTeamId(team);
  return demo === null ? { kind: 'team', id: team as string, teamId } : { kind: 'demo', id: demo, teamId };
}

/** The right to end a pending entry: that of its last holder. */
export interface EntryHold {
  readonly entryId: number;
  readonly fence: number;
  readonly owner: RrsetOwner;
}

/** Only the entry's last holder finds it, and only while it is pending. */
export const isHeldBy = ({ entryId, fence }: Pick<EntryHold, 'entryId' | 'fence'>) =>
  ({ id: entryId, leaseFence: fence, state: 'pending' }) as const;

/** What becomes of a pending entry. */
type EndOfEntry = Omit<Parameters<Transaction['dnsAuditEntry']['updateMany']>[0]['data'], 'leaseUntil'>;

/**
 * Ends a pending entry and changes what follows from it, under the lock of its owner.
 *
 * @param work gets the database's clock. Called only if the entry is still held
 * @returns whether it was
 */
export function endEntry(
  prisma: Prisma,
  hold: EntryHold,
  endAt: (now: Date) => EndOfEntry,
  work: (tx: Transaction, now: Date) => Promise<void>,
): Promise<boolean> {
  return prisma.$transaction(async (tx) => {
    const { now } = await lockedOwner(tx, hold.owner);
    const data = { ...endAt(now), reservedRecords: 0, leaseUntil: null, completedAt: now };
    const { count } = await tx.dnsAuditEntry.updateMany({ where: isHeldBy(hold), data });
    if (count === 0) return false;
    await work(tx, now);
    return true;
  });
}

/** @throws Error when the owner is gone, which its entries prevent */
export async function lockedOwner(tx: Transaction, owner: RrsetOwner) {
  const locked = await lockOwner(tx, owner);
  if (locked === null) throw new Error(`The ${owner.kind} ${owner.id} is gone`);
  return locked;
}

/** Makes the mirror have the set as given, null when it is gone. */
export async function mirrorRrset(
  tx: Pick<Transaction, 'dnsRrset'>,
  { zoneId, name, type }: RrsetKey,
  body: string | null,
  now: Date,
): Promise<void> {
  if (body === null) {
    await tx.dnsRrset.deleteMany({ where: { zoneId, name, type } });
    return;
  }
  const known = { recordCount: recordCountOf(body), body, updatedAt: now };
  await tx.dnsRrset.upsert({
    where: { zoneId_name_type: { zoneId, name, type } },
    create: { zoneId, name, type, ownerLabel: ownerLabelOf(name), firstSeenAt: now, ...known },
    update: known,
  });
}

/** Stores the action of a write. An action that is known already is left as it is. */
export async function keepAction(
  tx: Pick<Transaction, 'dnsAction'>,
  { entryId, owner }: EntryHold,
  { id, status, body }: { readonly id: number; readonly status: string; readonly body: string },
  now: Date,
): Promise<void> {
  const demoId = owner.kind === 'demo' ? owner.id : null;
  const action = { id, teamId: owner.teamId, demoId, auditEntryId: entryId, status, body };
  await tx.dnsAction.createMany({ data: [{ ...action, startedAt: now, checkedAt: now }], skipDuplicates: true });
}
