import { lockChangesOfTeams, type Prisma, readClock, type Transaction } from '@corral/database';
import { leaveDnsTokens } from './dns-token-store.js';
import { endSessions } from './session-store.js';
import type { UserRecord } from './user-store.js';

/** What a person had of one team. */
export interface LeftTeam {
  readonly team: string;
  readonly wasMember: boolean;
  /** Names of the DNS tokens that were revoked. */
  readonly dnsTokensRevoked: readonly string[];
  /** Whether the team has nobody left who looks after it. */
  readonly lacksAdmin: boolean;
}

export interface UserEnd {
  readonly sessions: number;
  readonly identities: number;
  /** By slug. */
  readonly teams: readonly LeftTeam[];
}

/** Nobody but an operator ends a person. */
const operator = { userId: null, requestId: null };

/**
 * Takes everything from a person that they could get in with: sessions, identities, memberships, invitations, and the DNS
 * tokens that they made, whichever team they made them for. Their name stays in the audit log.
 */
export const endUser = (prisma: Prisma, user: Pick<UserRecord, 'id' | 'email'>): Promise<UserEnd> =>
  prisma.$transaction(async (tx) => {
    await lockTeamsOf(tx, user.id);
    // Nothing new refers to the person until the end: no session, no membership, no token.
    await tx.$queryRaw`SELECT id FROM app_user WHERE id = ${user.id}::uuid FOR UPDATE`;
    const { id: userId, email } = user;
    // All at once in the order of their ids, as everybody takes many of them; they are of several teams.
    await tx.$queryRaw`
      SELECT id FROM dns_token WHERE created_by = ${userId}::uuid AND revoked_at IS NULL ORDER BY id FOR NO KEY UPDATE`;
    const now = await readClock(tx);
    const sessions = await endSessions(tx, userId);
    const identities = await tx.userIdentity.deleteMany({ where: { userId } });
    await tx.invitation.updateMany({ where: { email, revokedAt: null }, data: { revokedAt: now, mailDueAt: null } });
    const teams = await tx.team.findMany({
      where: concerning(userId),
      orderBy: { slug: 'asc' },
      select: { id: true, slug: true },
    });
    const left: LeftTeam[] = [];
    for (const team of teams) left.push(await takeOut(tx, team, user));
    return { sessions, identities: identities.count, teams: left };
  });

const concerning = (userId: string) => ({
  OR: [{ memberships: { some: { userId } } }, { dnsTokens: { some: { createdById: userId, revokedAt: null } } }],
});

/** Before anything else, as every change of a team begins. */
async function lockTeamsOf(tx: Transaction, userId: string): Promise<void> {
  const teams = await tx.team.findMany({ where: concerning(userId), select: { id: true } });
  await lockChangesOfTeams(
    tx,
    teams.map(({ id }) => id),
  );
}

async function takeOut(
  tx: Transaction,
  { id: teamId, slug }: { readonly id: string; readonly slug: string },
  { id: userId, email }: Pick<UserRecord, 'id' | 'email'>,
): Promise<LeftTeam> {
  const tokens = await leaveDnsTokens(tx, { id: teamId }, { id: userId }, 'revoke', operator);
  const dnsTokensRevoked = tokens.map(({ name }) => name);
  const { count } = await tx.membership.deleteMany({ where: { teamId, userId } });
  if (count === 1) {
    const detail = { dnsTokensRevoked: dnsTokensRevoked.join(', '), dnsTokensHandedOver: '' };
    const target = { targetKind: 'Member', targetId: userId, targetName: email };
    await tx.auditEntry.create({ data: { teamId, ...operator, action: 'member.remove', ...target, detail } });
  }
  const admins = await tx.membership.count({ where: { teamId, role: 'admin' } });
  return { team: slug, wasMember: count === 1, dnsTokensRevoked, lacksAdmin: admins === 0 };
}
