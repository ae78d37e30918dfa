import type { Transaction } from '../changes/team-changes.js';
import { invitationOf, isOpen, shownOfInvitation } from '../teams/rows.js';
import type { TeamActor, TeamTransaction } from '../teams/transaction.js';

type InvitationWrites = Pick<
  TeamTransaction,
  | ('findInvitation' | 'countOpenInvitations' | 'listMails' | 'insertInvitation' | 'renewInvitation')
  | ('deleteInvitation' | 'revokeInvitation' | 'markAccepted')
>;

const mailed = ['invitation.create', 'invitation.renew'];

/** Changes of a team's invitations. The team is locked. */
export function invitationWrites(tx: Transaction, { team, userId }: TeamActor, now: Date): InvitationWrites {
  const teamId = team.id;
  const one = (id: string) => ({ where: { id, teamId }, select: shownOfInvitation });
  /** The row is the outbox of its mail: the reconciler sends due mails. */
  const mailIsDue = { invitedBy: userId, mailDueAt: now, mailSentAt: null, mailFailures: 0 };
  return {
    async findInvitation(by) {
      const row = await tx.invitation.findFirst({ where: { teamId, ...by }, select: shownOfInvitation });
      return row && invitationOf(row);
    },
    countOpenInvitations: () => tx.invitation.count({ where: { teamId, ...isOpen(now) } }),
    async listMails(since) {
      const rows = await tx.auditEntry.findMany({
        where: { teamId, createdAt: { gt: since }, action: { in: mailed } },
        select: { targetName: true, createdAt: true },
      });
      return rows.map(({ targetName: email, createdAt: at }) => ({ email, at }));
    },
    async insertInvitation(id, { email, role, expiresAt }) {
      const data = { id, teamId, email, role, createdAt: now, expiresAt, ...mailIsDue };
      return invitationOf(await tx.invitation.create({ data, select: shownOfInvitation }));
    },
    async renewInvitation(id, { role, expiresAt }) {
      return invitationOf(await tx.invitation.update({ ...one(id), data: { role, expiresAt, ...mailIsDue } }));
    },
    async deleteInvitation(id) {
      await tx.invitation.delete({ where: { id, teamId }, select: { id: true } });
    },
    async revokeInvitation(id) {
      await tx.invitation.update({ ...one(id), data: { revokedAt: now, mailDueAt: null } });
    },
    async markAccepted(id) {
      return invitationOf(await tx.invitation.update({ ...one(id), data: { acceptedAt: now, mailDueAt: null } }));
    },
  };
}
