import { displayNameOf, type FormerMemberDnsToken } from '@corral/auth';
import { prismaSelect, type TeamNames, teamColumns, teamNamesOf } from '@corral/cluster-data';
import { asUserId, type Role, type Subscription, type TeamId, type UserId } from '@corral/contracts';
import type { Transaction } from '../changes/team-changes.js';
import { type InvitationRecord, invitationOf, isOpen, shownOfInvitation } from '../invitations/store.js';

/** Clients see the numbers, never the ids. */
export interface MemberRecord {
  readonly number: number;
  readonly userId: UserId;
  readonly userNumber: number;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  /** The chosen name, else first and last name, else the e-mail address. */
  readonly displayName: string;
  readonly role: Role;
  readonly joinedAt: Date;
}

export interface TeamRecord extends TeamNames {
  /** Longest membership first. */
  readonly members: readonly MemberRecord[];
  /** Open invitations, oldest first. */
  readonly invitations: readonly InvitationRecord[];
  /** `{}` without a subscription. */
  readonly subscription: Subscription | Record<string, never>;
  readonly hasActiveSubscription: boolean;
}

/** What happened to the DNS tokens of a removed member. */
export interface Removal {
  readonly revoked: readonly FormerMemberDnsToken[];
  readonly handedOver: readonly FormerMemberDnsToken[];
}

export const shownOfMember = {
  number: true,
  role: true,
  createdAt: true,
  user: { select: { id: true, number: true, email: true, firstName: true, lastName: true, displayName: true } },
} as const;

/** Longest membership first: numbers are assigned in the order in which people join. */
const longestFirst = { number: 'asc' } as const;

interface MemberRow extends Pick<MemberRecord, 'number' | 'role'> {
  readonly createdAt: Date;
  readonly user: Pick<MemberRecord, 'number' | 'email' | 'firstName' | 'lastName' | 'displayName'> & {
    readonly id: string;
  };
}

export const memberOf = ({ number, role, createdAt, user }: MemberRow): MemberRecord => {
  const { id, number: userNumber, ...person } = user;
  const displayName = displayNameOf(user);
  return { ...person, number, role, joinedAt: createdAt, userId: asUserId(id), userNumber, displayName };
};

/** @throws Error when the team does not exist */
export async function readTeamNames(db: Transaction, id: TeamId): Promise<TeamNames> {
  return teamNamesOf(await db.team.findUniqueOrThrow({ where: { id }, select: prismaSelect(teamColumns.names) }));
}

/** Whether operators have suspended the team. */
export const isSuspended = async (db: Transaction, id: TeamId): Promise<boolean> =>
  (await db.team.count({ where: { id, suspendedAt: { not: null } } })) > 0;

/** @throws Error when the team does not exist */
export async function readTeam(db: Transaction, id: TeamId, now = new Date()): Promise<TeamRecord> {
  const [team] = await readTeams(db, [id], now);
  if (team === undefined) throw new Error(`Team ${id} does not exist`);
  return team;
}

/** Reads teams in no particular order. One query after the other: a transaction has one database connection. */
export async function readTeams(db: Transaction, ids: readonly TeamId[], now = new Date()): Promise<TeamRecord[]> {
  const teams = await db.team.findMany({
    where: { id: { in: [...ids] } },
    select: { ...prismaSelect(teamColumns.names), subscription: { select: { body: true, isActive: true } } },
  });
  const ofTeams = { teamId: { in: [...ids] } };
  const members = await db.membership.findMany({
    where: ofTeams,
    orderBy: longestFirst,
    select: { teamId: true, ...shownOfMember },
  });
  const invitations = await db.invitation.findMany({
    where: { ...ofTeams, ...isOpen(now) },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    select: { teamId: true, ...shownOfInvitation },
  });
  return teams.map(({ subscription, ...names }) => ({
    ...teamNamesOf(names),
    members: members.filter(({ teamId }) => teamId === names.id).map(memberOf),
    invitations: invitations.filter(({ teamId }) => teamId === names.id).map(invitationOf),
    subscription: (subscription?.body ?? {}) as Subscription | Record<string, never>,
    hasActiveSubscription: subscription?.isActive ?? false,
  }));
}

/** Longest membership first. */
export async function listMembers(
  db: Transaction,
  teamId: TeamId,
  { limit, after }: { readonly limit?: number; readonly after?: number | null } = {},
): Promise<MemberRecord[]> {
  const rows = await db.membership.findMany({
    where: { teamId, ...(after != null && { number: { gt: after } }) },
    orderBy: longestFirst,
    ...(limit !== undefined && { take: limit }),
    select: shownOfMember,
  });
  return rows.map(memberOf);
}

/** Null when the team has no member with that number. */
export async function findMember(db: Transaction, teamId: TeamId, number: number): Promise<MemberRecord | null> {
  const row = await db.membership.findUnique({ where: { number, teamId }, select: shownOfMember });
  return row && memberOf(row);
}

export async function writeName(tx: Transaction, id: TeamId, name: string): Promise<void> {
  await tx.team.update({ where: { id }, data: { name }, select: { id: true } });
}

export async function insertMember(
  tx: Transaction,
  teamId: TeamId,
  userId: UserId,
  role: Role,
  now: Date,
): Promise<void> {
  await tx.membership.create({ data: { teamId, userId, role, createdAt: now }, select: { number: true } });
}

export async function writeRole(tx: Transaction, teamId: TeamId, userId: UserId, role: Role): Promise<void> {
  const where = { teamId_userId: { teamId, userId } };
  await tx.membership.update({ where, data: { role }, select: { number: true } });
}

/** Removes a member, and revokes their invitations, so that none leads back into the team. */
export async function deleteMember(
  tx: Transaction,
  teamId: TeamId,
  { userId, email }: MemberRecord,
  now: Date,
): Promise<void> {
  await tx.invitation.updateMany({
    where: { teamId, email, revokedAt: null },
    data: { revokedAt: now, mailDueAt: null },
  });
  await tx.membership.delete({ where: { teamId_userId: { teamId, userId } }, select: { number: true } });
}
