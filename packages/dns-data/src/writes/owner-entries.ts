import { asTeamId, ownerLabelOf } from '@corral/contracts';
import { type Prisma, rowClock, type Sql, sql, sqlText, type Transaction } from '@corral/database';
import { type RrsetKey, type RrsetOwner, recordCountOf } from '../rrset.js';

/** The row of a team or of a demo. */
export interface OwnerRow {
  readonly kind: 'team' | 'demo';
  readonly id: string;
}

/**
 * Locks the row of a team or a demo until the transaction ends, and leaves a new version of it. Whatever changes what counts against its
 * quota does so: all that is read under the lock belongs together, and a write that was decided on before does not begin.
 */
export async function lockOwner(tx: Transaction, owner: OwnerRow): Promise<void> {
  await tx.$executeRaw(newVersionOf(owner));
}

/** The same for rows that are locked already. */
export async function leaveNewVersions(tx: Transaction, kind: OwnerRow['kind'], ids: readonly string[]): Promise<void> {
  await tx.$executeRaw`${newVersions(kind)} WHERE id = ANY(${ids}::uuid[])`;
}

/**
 * SQL: locks an owner's row until the transaction ends, and leaves a new version of it.
 *
 * @param expected the version (`xmin`) that it must have; else nothing happens
 */
export const newVersionOf = ({ kind, id }: OwnerRow, expected?: string): Sql =>
  sql`${newVersions(kind)} WHERE id = ${id}::uuid ${expected === undefined ? sql`` : sql`AND xmin = ${expected}::xid`}`;

/** SQL: an update that changes nothing but the `xmin` of rows. The right to lock a row covers the column. */
const newVersions = (kind: OwnerRow['kind']): Sql => sql`UPDATE ${sqlText(kind)} SET created_at = created_at`;

/** SQL: the records of a team, which are those in the zone of the teams. */
export const recordsOfTeam = (slug: string): string =>
  `(SELECT coalesce(sum(record_count), 0)::int FROM dns_rrset JOIN dns_zone ON dns_zone.id = zone_id
    WHERE NOT of_demos AND owner_label = ${slug})`;

/** SQL: the number of records in the mirror at a label of a zone. */
export const recordsAt = (zoneId: number, ownerLabel: string): Sql =>
  sql`(SELECT coalesce(sum(record_count), 0)::int FROM dns_rrset WHERE zone_id = ${zoneId} AND owner_label = ${ownerLabel})`;

/** The number of records in the mirror at a label of a zone. */
export async function countMirrored(db: Transaction, zoneId: number, ownerLabel: string): Promise<number> {
  const [row] = await db.$queryRaw<{ records: number }[]>`SELECT ${recordsAt(zoneId, ownerLabel)} AS records`;
  return row?.records ?? 0;
}

/** A write of which it is not yet certain how many records its set has upstream. */
export interface OpenEntry {
  readonly id: number;
  readonly key: RrsetKey;
  /** Records that it may add while it is pending; else 0. */
  readonly reserved: number;
  /** How many records its set may have as long as its action may fail; null while it is pending. */
  readonly ceiling: number | null;
  /** Records of its set in the mirror. */
  readonly mirrored: number;
}

/** SQL: the open entries of a team or a demo (`OpenEntry[]`). Each part has an index of its own. */
export const openEntriesOf = (ownerId: string): Sql => sql`
  (SELECT coalesce(json_agg(json_build_object(
            'id', entry.id, 'key', json_build_object('zoneId', zone_id, 'name', name, 'type', type),
            'reserved', reserved, 'ceiling', ceiling, 'mirrored', coalesce(rrset.record_count, 0))), '[]')
   FROM (SELECT id, zone_id, name, type, reserved_records AS reserved, NULL::int AS ceiling FROM dns_audit_entry
         WHERE coalesce(demo_id, team_id) = ${ownerId}::uuid AND state = 'pending'
         UNION ALL
         SELECT id, zone_id, name, type, 0, records_ceiling FROM dns_audit_entry
         WHERE coalesce(demo_id, team_id) = ${ownerId}::uuid AND records_ceiling IS NOT NULL) AS entry
   LEFT JOIN dns_rrset AS rrset USING (zone_id, name, type))`;

/** The open entries of a team or a demo. */
export async function readOpenEntries(db: Transaction, ownerId: string): Promise<OpenEntry[]> {
  const [row] = await db.$queryRaw<{ open: OpenEntry[] }[]>`SELECT ${openEntriesOf(ownerId)} AS open`;
  return row?.open ?? [];
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
export interface EndOfEntry {
  readonly state: 'completed' | 'refused' | 'settled';
  /** The upstream's answer. If it is not stated, one that is known already stays. */
  readonly upstreamStatus?: number;
  readonly upstreamBody?: string;
  /** Time in ms until the set is read again; null when the mirror is certain. */
  readonly recheckAfterMs: number | null;
  readonly afterBody?: string | null;
  readonly recordsCeiling?: number | null;
  readonly foundBody?: string | null;
  readonly foundApplied?: boolean;
}

/** What follows from a write that took effect, or was looked up. */
export interface Effect {
  readonly key: RrsetKey;
  /** The set's body now, null when it is gone. */
  readonly rrset: string | null;
  /** One that is known already is left as it is. */
  readonly action: { readonly id: number; readonly status: string; readonly body: string } | null;
  /** The mirror held this set, which had been removed outside Corral. Recorded as drift. */
  readonly drift?: string | null;
}

/**
 * Ends a pending entry with what follows from it, in one statement under the lock of its owner.
 *
 * @param effect null when the write changed nothing
 * @returns whether the entry was still held; else nothing is changed
 */
export async function endEntry(
  prisma: Prisma,
  { entryId, fence, owner }: EntryHold,
  end: EndOfEntry,
  effect: Effect | null,
): Promise<boolean> {
  const { upstreamStatus = null, upstreamBody = null, afterBody = null, foundBody = null, foundApplied = null } = end;
  // The state is compared as text: otherwise Postgres may look for the id in all of the index of pending entries, ended ones included.
  const [row] = await prisma.$queryRaw<{ ended: number }[]>`
    WITH owner AS (${newVersionOf(owner)} RETURNING id),
    clock AS (SELECT ${sqlText(rowClock)} AS now FROM owner),
    ended AS (
      UPDATE dns_audit_entry
      SET state = ${end.state}::dns_audit_state, completed_at = now, reserved_records = 0, lease_until = NULL,
          upstream_status = coalesce(${upstreamStatus}, upstream_status),
          upstream_body = coalesce(${upstreamBody}, upstream_body), after_body = ${afterBody},
          records_ceiling = ${end.recordsCeiling ?? null}, found_body = ${foundBody}, found_applied = ${foundApplied},
          recheck_at = now + make_interval(secs => ${end.recheckAfterMs}::float8 / 1000)
      FROM clock WHERE id = ${entryId} AND lease_fence = ${fence} AND state::text = 'pending'
      RETURNING now)
    ${effect === null ? sql`` : followUps(effect, { entryId, owner })}
    SELECT count(*)::int AS ended FROM ended`;
  return row?.ended === 1;
}

/** What follows once the entry has `ended`: the mirror, the action to follow, and drift that was found. */
function followUps({ key, rrset, action, drift }: Effect, { entryId, owner }: Omit<EntryHold, 'fence'>): Sql {
  const { zoneId, name, type } = key;
  const demoId = owner.kind === 'demo' ? owner.id : null;
  const mirrored =
    rrset === null
      ? sql`DELETE FROM dns_rrset USING ended WHERE zone_id = ${zoneId} AND name = ${name} AND type = ${type}`
      : sql`
        INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body, first_seen_at, updated_at)
        SELECT ${zoneId}, ${name}, ${type}, ${ownerLabelOf(name)}, ${recordCountOf(rrset)}, ${rrset}, now, now FROM ended
        ON CONFLICT (zone_id, name, type) DO UPDATE
        SET record_count = excluded.record_count, body = excluded.body, updated_at = excluded.updated_at`;
  const acted =
    action &&
    sql`, acted AS (
    INSERT INTO dns_action (id, team_id, demo_id, audit_entry_id, status, body, started_at, checked_at)
    SELECT ${action.id}, ${owner.teamId}::uuid, ${demoId}::uuid, ${entryId}, ${action.status}, ${action.body}, now, now FROM ended
    ON CONFLICT (id) DO NOTHING)`;
  const drifted =
    drift &&
    sql`, drifted AS (
    INSERT INTO dns_audit_entry (team_id, demo_id, actor, zone_id, name, type, operation, state, before_body, created_at, completed_at)
    SELECT ${owner.teamId}::uuid, ${demoId}::uuid, 'upstream', ${zoneId}, ${name}, ${type}, 'drift', 'observed', ${drift}, now, now
    FROM ended)`;
  return sql`, mirrored AS (${mirrored})${acted ?? sql``}${drifted ?? sql``}`;
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
