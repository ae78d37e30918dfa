import { asTeamId, ownerLabelOf } from '@corral/contracts';
import { lockRows, type Prisma, readClock, type Transaction } from '@corral/database';
import { type RrsetKey, type RrsetOwner, recordCountOf } from '../rrset.js';

/** The row of a team or of a demo. */
export interface OwnerRow {
  readonly kind: 'team' | 'demo';
  readonly id: string;
}

/** The owner of a set, as read under its lock. */
export interface LockedOwner {
  /** Whether it may write. Ending a demo takes the lock too, so no write begins after its end was committed. */
  readonly isLive: boolean;
  /** Whether operators have suspended the team, or that of the demo. */
  readonly isSuspended: boolean;
  /** A team's own quota of records; null for that of the installation. */
  readonly recordsMax: number | null;
  /** The database's clock. */
  readonly now: Date;
}

/**
 * Locks the row of a team or a demo until the transaction ends. Whatever changes what counts against its quota holds this lock, so all
 * that is read under it belongs together.
 *
 * @returns null when the owner is gone
 */
export async function lockOwner(tx: Transaction, { kind, id }: OwnerRow): Promise<LockedOwner | null> {
  await lockRows(tx, kind, { id });
  const now = await readClock(tx);
  if (kind === 'team') {
    const team = await tx.team.findUnique({ where: { id }, select: ofTeam });
    return team && { isLive: true, isSuspended: team.suspendedAt !== null, recordsMax: team.dnsRecordsMax, now };
  }
  const select = { endedAt: true, expiresAt: true, team: { select: ofTeam } } as const;
  const demo = await tx.demo.findUnique({ where: { id }, select });
  if (demo === null) return null;
  const isLive = demo.endedAt === null && demo.expiresAt > now;
  return { isLive, isSuspended: demo.team?.suspendedAt != null, recordsMax: null, now };
}

const ofTeam = { suspendedAt: true, dnsRecordsMax: true } as const;

/** SQL: the records of a team, which are those in the zone of the teams. */
export const recordsOfTeam = (slug: string): string =>
  `(SELECT coalesce(sum(record_count), 0)::int FROM dns_rrset JOIN dns_zone ON dns_zone.id = zone_id
    WHERE NOT of_demos AND owner_label = ${slug})`;

/** The number of records in the mirror at a label of a zone. */
export async function countMirrored(db: Transaction, zoneId: number, ownerLabel: string): Promise<number> {
  const { _sum } = await db.dnsRrset.aggregate({ where: { zoneId, ownerLabel }, _sum: { recordCount: true } });
  return _sum.recordCount ?? 0;
}

/** A write of which it is not yet certain how many records its set has upstream. */
export interface OpenEntry {
  readonly id: bigint;
  readonly key: RrsetKey;
  /** Records that it may add while it is pending; else 0. */
  readonly reserved: number;
  /** How many records its set may have as long as its action may fail; null while it is pending. */
  readonly ceiling: number | null;
  /** Records of its set in the mirror. */
  readonly mirrored: number;
}

/** Reads the open entries of a team or a demo. Each part has an index of its own, which Prisma's conditions do not fit. */
export async function readOpenEntries(db: Transaction, ownerId: string): Promise<OpenEntry[]> {
  const rows = await db.$queryRaw<(Omit<OpenEntry, 'key'> & { zoneId: bigint; name: string; type: string })[]>`
    SELECT entry.id, zone_id AS "zoneId", name, type, reserved, ceiling, coalesce(rrset.record_count, 0) AS mirrored
    FROM (SELECT id, zone_id, name, type, reserved_records AS reserved, NULL::int AS ceiling FROM dns_audit_entry
          WHERE coalesce(demo_id, team_id) = ${ownerId}::uuid AND state = 'pending'
          UNION ALL
          SELECT id, zone_id, name, type, 0, records_ceiling FROM dns_audit_entry
          WHERE coalesce(demo_id, team_id) = ${ownerId}::uuid AND records_ceiling IS NOT NULL) AS entry
    LEFT JOIN dns_rrset AS rrset USING (zone_id, name, type)`;
  return rows.map(({ zoneId, name, type, ...entry }) => ({ key: { zoneId: Number(zoneId), name, type }, ...entry }));
}

/** Records that count against a quota beside those in the mirror. */
export interface RecordsHeld {
  /** Those that pending writes may add. */
  readonly reserved: number;
  /** Beyond them, those that reappear if actions fail. */
  readonly byActions: number;
}

/** @param open all open entries of an owner */
export function recordsHeld(open: readonly OpenEntry[]): RecordsHeld {
  const bySet = Map.groupBy(open, ({ key: { zoneId, name, type } }) => `${zoneId}/${name}/${type}`);
  const reservedIn = (entries: readonly OpenEntry[]): number =>
    entries.reduce((sum, { reserved }) => sum + reserved, 0);
  const byActions = [...bySet.values()].map((entries) => {
    const ceiling = Math.max(0, ...entries.map((each) => each.ceiling ?? 0));
    const [{ mirrored }] = entries as [OpenEntry, ...OpenEntry[]];
    return Math.max(0, ceiling - mirrored - reservedIn(entries));
  });
  return { reserved: reservedIn(open), byActions: byActions.reduce((sum, records) => sum + records, 0) };
}

/** How many records a set may have if actions of writes to it fail; 0 when none can. */
export function ceilingOf(open: readonly OpenEntry[], { zoneId, name, type }: RrsetKey): number {
  const ofSet = open.filter(({ key }) => key.zoneId === zoneId && key.name === name && key.type === type);
  return Math.max(0, ...ofSet.map(({ ceiling }) => ceiling ?? 0));
}

/** A token, and how much of its owner's quota is used. */
export interface TokenUse {
  readonly name: string;
  readonly createdAt: Date;
  /** Belongs to the session of a person. */
  readonly isOfSession: boolean;
  /** Records in the mirror. */
  readonly used: number;
  /** Records of writes whose outcome, or whose action's outcome, is open. */
  readonly reserved: number;
  /** The team's own quota; null for that of the installation. */
  readonly recordsMax: number | null;
}

interface TokenOfOwner {
  readonly kind: 'team' | 'demo';
  readonly tokenId: string;
  readonly ownerId: string;
  readonly ownerLabel: string;
}

/** Reads a token with the use of its owner's quota, in one snapshot. Null when the owner has no such token. */
export type ReadTokenUse = (token: TokenOfOwner, zoneId: number) => Promise<TokenUse | null>;

export const tokenUseReader =
  (prisma: Prisma): ReadTokenUse =>
  ({ kind, tokenId, ownerId, ownerLabel }, zoneId) =>
    prisma.$transaction(
      async (tx) => {
        const token = await tx.dnsToken.findFirst({
          where: { id: tokenId, ...(kind === 'team' ? { teamId: ownerId } : { demoId: ownerId }) },
          select: { name: true, createdAt: true, sessionId: true, team: { select: { dnsRecordsMax: true } } },
        });
        if (token === null) return null;
        const { reserved, byActions } = recordsHeld(await readOpenEntries(tx, ownerId));
        return {
          name: token.name,
          createdAt: token.createdAt,
          isOfSession: token.sessionId !== null,
          used: await countMirrored(tx, zoneId, ownerLabel),
          reserved: reserved + byActions,
          recordsMax: token.team?.dnsRecordsMax ?? null,
        };
      },
      { isolationLevel: 'RepeatableRead' },
    );

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
export function entryOwner({ team_id: team, demo_id: demo }: OwnedEntryRow): RrsetOwner {
  const teamId = team === null ? null : asTeamId(team);
  return demo === null ? { kind: 'team', id: team as string, teamId } : { kind: 'demo', id: demo, teamId };
}

/** The right to end a pending entry: that of its last holder. */
export interface EntryHold {
  readonly entryId: number;
  /** Grows with each holder. */
  readonly fence: number;
  readonly owner: RrsetOwner;
}

/** Only the entry's last holder finds it, and only while it is pending. */
export const isHeldBy = ({ entryId, fence }: EntryHold) =>
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
  tx: Transaction,
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
  tx: Transaction,
  { entryId, owner }: EntryHold,
  { id, status, body }: { readonly id: number; readonly status: string; readonly body: string },
  now: Date,
): Promise<void> {
  const demoId = owner.kind === 'demo' ? owner.id : null;
  const action = { id, teamId: owner.teamId, demoId, auditEntryId: entryId, status, body };
  await tx.dnsAction.createMany({ data: [{ ...action, startedAt: now, checkedAt: now }], skipDuplicates: true });
}

interface DnsUsage {
  readonly records: number;
  /** Reserved for pending writes. */
  readonly reservedRecords: number;
  readonly rrsets: number;
  /** The team's own quota of records; null for that of the installation. */
  readonly recordsMax: number | null;
  /** The team's own limit of requests per minute; null for that of the installation. */
  readonly requestsMax: number | null;
}

/** What a team has of DNS, and its own limits. */
export async function readUsage(prisma: Transaction, team: { id: string; slug: string }): Promise<DnsUsage> {
  const [mirrored, reserved, own] = await Promise.all([
    prisma.dnsRrset.aggregate({
      where: { ownerLabel: team.slug, zone: { ofDemos: false } },
      _sum: { recordCount: true },
      _count: true,
    }),
    prisma.dnsAuditEntry.aggregate({
      where: { teamId: team.id, demoId: null, state: 'pending' },
      _sum: { reservedRecords: true },
    }),
    prisma.team.findUnique({ where: { id: team.id }, select: { dnsRecordsMax: true, dnsRequestsMax: true } }),
  ]);
  return {
    records: mirrored._sum.recordCount ?? 0,
    reservedRecords: reserved._sum.reservedRecords ?? 0,
    rrsets: mirrored._count,
    recordsMax: own?.dnsRecordsMax ?? null,
    requestsMax: own?.dnsRequestsMax ?? null,
  };
}
