import { revokeOrHandOverDnsTokens } from '@corral/auth';
import { teamNamesOf } from '@corral/cluster-data';
import type { UserId } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import { recordAudit } from '../audit/record-audit.js';
import { registerKey } from '../changes/idempotency-keys.js';
import type { ChangeTeam, Transaction } from '../changes/team-changes.js';
import { isBehind, newestFirst } from '../paging.js';
import { invitationWrites } from '../people/invitation-store.js';
import {
  invitationOf,
  isOpen,
  isUnanswered,
  longestFirst,
  memberOf,
  shownOfInvitation,
  shownOfMember,
  shownOfTeam,
  wholeTeam,
  wholeTeamOf,
} from './rows.js';
import type { TeamActor, TeamStore, TeamTransaction } from './transaction.js';

const received = { ...shownOfInvitation, team: { select: shownOfTeam } } as const;

/** Teams with their members and invitations. */
export const teamStore = (prisma: Prisma, change: ChangeTeam): TeamStore => ({
  find: ({ id }) => readTeam(prisma, id, new Date()),

  async list(teamIds) {
    const rows = await prisma.team.findMany({
      where: { id: { in: [...teamIds] } },
      select: wholeTeam(new Date()),
    });
    return rows.map(wholeTeamOf);
  },

  async listMembers({ id: teamId }, { limit, after }) {
    const rows = await prisma.membership.findMany({
      where: { teamId, ...(after === null ? {} : { number: { gt: after } }) },
      orderBy: longestFirst,
      take: limit,
      select: shownOfMember,
    });
    return rows.map(memberOf);
  },

  async findMember({ id: teamId }, number) {
    const row = await prisma.membership.findUnique({ where: { number, teamId }, select: shownOfMember });
    return row && memberOf(row);
  },

  async listInvitations({ id: teamId }, { limit, after }) {
    const rows = await prisma.invitation.findMany({
      where: { teamId, ...isUnanswered, ...(after === null ? {} : isBehind(after)) },
      orderBy: newestFirst,
      take: limit,
      select: shownOfInvitation,
    });
    return rows.map(invitationOf);
  },

  async listReceived(email, { limit, after }) {
    const rows = await prisma.invitation.findMany({
      where: { email, ...isOpen(new Date()), ...(after === null ? {} : isBehind(after)) },
      orderBy: newestFirst,
      take: limit,
      select: received,
    });
    return rows.map(({ team, ...row }) => ({ ...invitationOf(row), team: teamNamesOf(team) }));
  },

  async findReceived(email, id) {
    const row = await prisma.invitation.findFirst({ where: { id, email, revokedAt: null }, select: received });
    return row && { ...invitationOf(row), team: teamNamesOf(row.team) };
  },

  change: (actor, work) => change(actor, async (tx, now) => work(await transactionOf(tx, actor, now))),
});

async function readTeam(db: Pick<Transaction, 'team'>, id: string, now: Date) {
  return wholeTeamOf(await db.team.findUniqueOrThrow({ where: { id }, select: wholeTeam(now) }));
}

/** Reads what every change needs, under the team's lock. */
async function transactionOf(tx: Transaction, actor: TeamActor, now: Date): Promise<TeamTransaction> {
  const teamId = actor.team.id;
  const team = await tx.team.findUniqueOrThrow({ where: { id: teamId }, select: shownOfTeam });
  const rows = await tx.membership.findMany({ where: { teamId }, orderBy: longestFirst, select: shownOfMember });
  const idOf = (userId: UserId) => ({ teamId_userId: { teamId, userId } });
  return {
    now,
    team: teamNamesOf(team),
    members: rows.map(memberOf),
    ...invitationWrites(tx, actor, now),
    read: () => readTeam(tx, teamId, now),
    async rename(name) {
      await tx.team.update({ where: { id: teamId }, data: { name }, select: { id: true } });
    },
    async createActor(email) {
      const data = [{ id: actor.userId, email, createdAt: now }];
      return (await tx.user.createMany({ data, skipDuplicates: true })).count === 1;
    },
    async setRole({ userId }, role) {
      await tx.membership.update({ where: idOf(userId), data: { role }, select: { number: true } });
    },
    async addMember(userId, role) {
      await tx.membership.create({ data: { teamId, userId, role, createdAt: now }, select: { number: true } });
    },
    async removeMember({ userId, email }) {
      await tx.invitation.updateMany({
        where: { teamId, email, revokedAt: null },
        data: { revokedAt: now, mailDueAt: null },
      });
      await tx.membership.delete({ where: idOf(userId), select: { number: true } });
    },
    revokeOrHandOverDnsTokens: ({ userId }, handling) =>
      revokeOrHandOverDnsTokens(tx, { id: teamId }, { id: userId }, handling, actor),
    registerKey: (request, resourceId) => registerKey(tx, actor, request, resourceId),
    async audit(action, target, what = {}) {
      await recordAudit(tx, actor, { action, target, ...what });
    },
  };
}
