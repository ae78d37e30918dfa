import { prismaSelect, type TeamNames, teamColumns, teamNamesOf } from '@corral/cluster-data';
import type { Role, TeamId, UserId } from '@corral/contracts';
import type { Transaction } from '../changes/team-changes.js';
import { isBehind, newestFirst, type Position } from '../paging.js';

export interface InvitationRecord {
  readonly id: string;
  /** Lower case. */
  readonly email: string;
  readonly role: Role;
  /** E-mail address of the user who last sent the invitation. */
  readonly invitedBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly acceptedAt: Date | null;
  readonly revokedAt: Date | null;
  readonly mailSentAt: Date | null;
}

/** An invitation with its team. */
export interface ReceivedInvitation extends InvitationRecord {
  readonly team: TeamNames;
}

export const shownOfInvitation = {
  id: true,
  email: true,
  role: true,
  createdAt: true,
  expiresAt: true,
  acceptedAt: true,
  revokedAt: true,
  mailSentAt: true,
  inviter: { select: { email: true } },
} as const;

const received = { ...shownOfInvitation, team: { select: prismaSelect(teamColumns.names) } } as const;

export interface InvitationRow extends Omit<InvitationRecord, 'invitedBy'> {
  readonly inviter: { readonly email: string };
}

export const invitationOf = ({ inviter, ...row }: InvitationRow): InvitationRecord => {
  const { id, email, role, createdAt, expiresAt, acceptedAt, revokedAt, mailSentAt } = row;
  return { id, email, role, invitedBy: inviter.email, createdAt, expiresAt, acceptedAt, revokedAt, mailSentAt };
};

const isUnanswered = { acceptedAt: null, revokedAt: null } as const;
export const isOpen = (now: Date) => ({ ...isUnanswered, expiresAt: { gt: now } });

interface Page {
  readonly limit: number;
  readonly after: Position | null;
}

/** Neither accepted nor revoked, newest first. */
export async function listInvitations(db: Transaction, teamId: TeamId, { limit, after }: Page) {
  const rows = await db.invitation.findMany({
    where: { teamId, ...isUnanswered, ...(after === null ? {} : isBehind(after)) },
    orderBy: newestFirst,
    take: limit,
    select: shownOfInvitation,
  });
  return rows.map(invitationOf);
}

/** Open invitations to this address, newest first. */
export async function listReceived(
  db: Transaction,
  email: string,
  { limit, after }: Page,
): Promise<ReceivedInvitation[]> {
  const rows = await db.invitation.findMany({
    where: { email, ...isOpen(new Date()), ...(after === null ? {} : isBehind(after)) },
    orderBy: newestFirst,
    take: limit,
    select: received,
  });
  return rows.map(({ team, ...row }) => ({ ...invitationOf(row), team: teamNamesOf(team) }));
}

/** Null for one that is unknown or for another address. */
export async function findReceived(db: Transaction, email: string, id: string): Promise<ReceivedInvitation | null> {
  const row = await db.invitation.findFirst({ where: { id, email }, select: received });
  return row && { ...invitationOf(row), team: teamNamesOf(row.team) };
}

export async function findInvitation(
  tx: Transaction,
  teamId: TeamId,
  by: { readonly id: string } | { readonly email: string },
): Promise<InvitationRecord | null> {
  const row = await tx.invitation.findFirst({ where: { teamId, ...by }, select: shownOfInvitation });
  return row && invitationOf(row);
}

export const countOpen = (tx: Transaction, teamId: TeamId, now: Date): Promise<number> =>
  tx.invitation.count({ where: { teamId, ...isOpen(now) } });

const mailed = ['invitation.create', 'invitation.renew'];

/** The invitation mails of a team that were requested since a time. */
export async function listMails(tx: Transaction, teamId: TeamId, since: Date) {
  const rows = await tx.auditEntry.findMany({
    where: { teamId, createdAt: { gt: since }, action: { in: mailed } },
    select: { targetName: true, createdAt: true },
  });
  return rows.map(({ targetName: email, createdAt: at }) => ({ email, at }));
}

export interface InvitationTerms {
  readonly role: Role;
  readonly expiresAt: Date;
}

/** The row is the outbox of its mail: the reconciler sends due mails. */
const mailIsDue = (invitedBy: UserId, now: Date) => ({
  invitedBy,
  mailDueAt: now,
  mailSentAt: null,
  mailFailures: 0,
});

/** Its mail is due immediately. */
export async function insertInvitation(
  tx: Transaction,
  { id, teamId, email }: { readonly id: string; readonly teamId: TeamId; readonly email: string },
  terms: InvitationTerms,
  by: UserId,
  now: Date,
): Promise<InvitationRecord> {
  const data = { id, teamId, email, createdAt: now, ...terms, ...mailIsDue(by, now) };
  return invitationOf(await tx.invitation.create({ data, select: shownOfInvitation }));
}

/** Extends the invitation. Its mail is due immediately. */
export async function extendInvitation(
  tx: Transaction,
  teamId: TeamId,
  id: string,
  terms: InvitationTerms,
  by: UserId,
  now: Date,
): Promise<InvitationRecord> {
  const data = { ...terms, ...mailIsDue(by, now) };
  return invitationOf(await tx.invitation.update({ where: { id, teamId }, data, select: shownOfInvitation }));
}

export async function deleteInvitation(tx: Transaction, teamId: TeamId, id: string): Promise<void> {
  await tx.invitation.delete({ where: { id, teamId }, select: { id: true } });
}

/** Ends an invitation, whose mail is not sent any more. */
export async function endInvitation(
  tx: Transaction,
  teamId: TeamId,
  id: string,
  end: { readonly revokedAt: Date } | { readonly acceptedAt: Date },
): Promise<InvitationRecord> {
  const data = { ...end, mailDueAt: null };
  return invitationOf(await tx.invitation.update({ where: { id, teamId }, data, select: shownOfInvitation }));
}

/** @returns false when a user with the address exists */
export async function insertUser(tx: Transaction, id: UserId, email: string, now: Date): Promise<boolean> {
  return (await tx.user.createMany({ data: [{ id, email, createdAt: now }], skipDuplicates: true })).count === 1;
}
