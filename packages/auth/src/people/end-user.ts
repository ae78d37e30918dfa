import { asTeamId, type UserId } from '@corral/contracts';
import { lockChangesOfTeams, lockRows, readClock, type Transaction } from '@corral/database';
import { revokeOrHandOverDnsTokens } from '../dns/token-store.js';
import { endSessions } from '../sessions/store.js';
import type { NamedTeam } from './team-store.js';
import type { NamedUser } from './user-store.js';

/** What a deleted person had in one team. */
export interface EndedMembership {
  readonly team: string;
  readonly wasMember: boolean;
  /** Names of the revoked DNS tokens. */
  readonly dnsTokensRevoked: readonly string[];
  /** Whether the team has no administrator left. */
  readonly lacksAdmin: boolean;
}

export interface UserEnd {
  readonly sessions: number;
  readonly identities: number;
  /** Ordered by slug. */
  readonly teams: readonly EndedMembership[];
}

/**
 * Removes all access of a person: sessions, identities, memberships, invitations, and the DNS tokens that they created,
 * for any team. Their name stays in the audit log, where each team gets an entry that names the operator.
 */
export async function endUser(tx: Transaction, user: NamedUser, operator: string): Promise<UserEnd> {
  await lockTeamsOf(tx, user.id);
  // Blocks new rows that refer to the person until the end: no session, membership or token.
  await lockRows(tx, 'app_user', { id: user.id }, 'UPDATE');
  const { id: userId, email } = user;
  // All tokens at once, in order of id across teams, to avoid deadlocks.
  await lockRows(tx, 'dns_token', { created_by: userId, revoked_at: null });
  const now = await readClock(tx);
  const sessions = await endSessions(tx, { userId });
  const identities = await tx.userIdentity.deleteMany({ where: { userId } });
  await tx.invitation.updateMany({ where: { email, revokedAt: null }, data: { revokedAt: now, mailDueAt: null } });
  const teams = await tx.team.findMany({
    where: concerning(userId),
    orderBy: { slug: 'asc' },
    select: { id: true, slug: true },
  });
  const left: EndedMembership[] = [];
  for (const { id, slug } of teams) left.push(await takeOut(tx, { id: asTeamId(id), slug }, user, operator));
  return { sessions, identities: identities.count, teams: left };
}

/** Ends the membership of a person in one team, and revokes the DNS tokens that they created for it. The team gets an entry. */
export async function endMembership(
  tx: Transaction,
  team: NamedTeam,
  user: NamedUser,
  operator: string,
): Promise<EndedMembership> {
  await lockChangesOfTeams(tx, [team.id]);
  return takeOut(tx, team, user, operator);
}

const concerning = (userId: UserId) => ({
  OR: [{ memberships: { some: { userId } } }, { dnsTokens: { some: { createdById: userId, revokedAt: null } } }],
});

/** Every change of a team takes this lock first. */
async function lockTeamsOf(tx: Transaction, userId: UserId): Promise<void> {
  const teams = await tx.team.findMany({ where: concerning(userId), select: { id: true } });
  await lockChangesOfTeams(
    tx,
    teams.map(({ id }) => asTeamId(id)),
  );
}

async function takeOut(
  tx: Transaction,
  { id: teamId, slug }: NamedTeam,
  { id: userId, email }: NamedUser,
  operator: string,
): Promise<EndedMembership> {
  const tokens = await revokeOrHandOverDnsTokens(tx, teamId, userId, 'revoke', {
    userId: null,
    requestId: null,
    operator,
  });
  const dnsTokensRevoked = tokens.map(({ name }) => name);
  const { count } = await tx.membership.deleteMany({ where: { teamId, userId } });
  if (count === 1) {
    const detail = { dnsTokensRevoked: dnsTokensRevoked.join(', '), dnsTokensHandedOver: '' };
    const target = { targetKind: 'Member', targetId: userId, targetName: email };
    const createdAt = await readClock(tx);
    await tx.auditEntry.create({ data: { teamId, operator, action: 'member.remove', ...target, detail, createdAt } });
  }
  const admins = await tx.membership.count({ where: { teamId, role: 'admin' } });
  return { team: slug, wasMember: count === 1, dnsTokensRevoked, lacksAdmin: admins === 0 };
}
