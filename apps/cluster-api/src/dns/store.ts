import { type DnsTokenRecord, dnsTokenRecordOf, inForce, isKept, shownOfDnsToken } from '@corral/auth';
import { type DnsTokenState, roleCovers, type TeamId } from '@corral/contracts';
import { readClock } from '@corral/database';
import type { DnsActorRow } from '../audit/dns-store.js';
import type { PersonCaller } from '../changes/caller.js';
import type { Transaction } from '../changes/team-changes.js';
import { isBehind, newestFirst, type Position } from '../paging.js';
import { notFound } from '../problem.js';

interface TokenQuery {
  readonly limit: number;
  /** Sort key of the last item of the previous page. */
  readonly after: Position | null;
  readonly state: DnsTokenState | null;
}

/** The DNS tokens of a team that the caller may see, newest first. */
export async function listTokens(
  db: Transaction,
  caller: PersonCaller,
  { limit, after, state }: TokenQuery,
): Promise<DnsTokenRecord[]> {
  const rows = await db.dnsToken.findMany({
    where: {
      ...visibleTo(caller),
      AND: [state === null ? {} : isIn(state, await readClock(db)), after === null ? {} : isBehind(after)],
    },
    orderBy: newestFirst,
    take: limit,
    select: shownOfDnsToken,
  });
  return rows.map(dnsTokenRecordOf);
}

/** @returns null when the caller may not see the token */
export async function findToken(db: Transaction, caller: PersonCaller, id: string): Promise<DnsTokenRecord | null> {
  const row = await db.dnsToken.findFirst({ where: { ...visibleTo(caller), id }, select: shownOfDnsToken });
  return row && dnsTokenRecordOf(row);
}

/** Members see the tokens that they created, administrators all tokens of the team. Nobody sees those of sessions. */
const visibleTo = ({ team, role, userId }: PersonCaller) => ({
  teamId: team.id,
  ...isKept,
  ...(role === 'admin' ? {} : { createdById: userId }),
});

function isIn(state: DnsTokenState, now: Date) {
  switch (state) {
    case 'active':
      return inForce(now);
    case 'expired':
      return { revokedAt: null, expiresAt: { lte: now } };
    case 'revoked':
      return { revokedAt: { not: null } };
  }
}

/** The last change of a record set: its time, and who made it. */
export interface RecordSetChange extends Omit<DnsActorRow, 'actor'> {
  readonly name: string;
  readonly type: string;
  readonly changedAt: Date;
  /** Null when the audit log does not have the change. */
  readonly actor: DnsActorRow['actor'] | null;
}

/** The last changes of a team's record sets. Reminders, and writes that took no effect, are in the audit log but are no changes. */
export const listRecordSetChanges = (
  db: Transaction,
  { id, slug }: { readonly id: TeamId; readonly slug: string },
): Promise<RecordSetChange[]> => db.$queryRaw<RecordSetChange[]>`
  SELECT rrset.name, rrset.type, rrset.updated_at AS "changedAt", entry.actor::text AS actor, token.id AS "tokenId",
         token.name AS "tokenName", app_user.number AS "userNumber", app_user.email, token.account
  FROM dns_rrset AS rrset JOIN dns_zone AS zone ON zone.id = rrset.zone_id AND NOT zone.of_demos
  LEFT JOIN LATERAL (
    SELECT actor, token_id FROM dns_audit_entry
    WHERE team_id = ${id}::uuid AND zone_id = rrset.zone_id AND name = rrset.name AND type = rrset.type
      AND (state IN ('completed', 'observed') OR found_applied) AND operation <> 'remind'
    ORDER BY dns_audit_entry.id DESC LIMIT 1
  ) AS entry ON true
  LEFT JOIN dns_token AS token ON token.id = entry.token_id
  LEFT JOIN app_user ON token.session_id IS NOT NULL AND app_user.id = token.created_by
  WHERE rrset.owner_label = ${slug}
  ORDER BY rrset.name, rrset.type`;

/**
 * The caller with their current role: a member who was removed since the request was authorized must not leave a new token behind.
 *
 * @throws Problem `not_found` for a former member, or one who is only a viewer now
 */
export async function withCurrentRole(tx: Transaction, caller: PersonCaller): Promise<PersonCaller> {
  const key = { teamId: caller.team.id, userId: caller.userId };
  const membership = await tx.membership.findUnique({ where: { teamId_userId: key }, select: { role: true } });
  if (membership === null || !roleCovers(membership.role, 'member')) throw notFound();
  return { ...caller, ...membership };
}
