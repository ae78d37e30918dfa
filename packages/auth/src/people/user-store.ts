import { asUserId, isEmail, isShownName, normalEmail, type Role, textRules, type UserId } from '@corral/contracts';
import type { Transaction } from '@corral/database';
import { type NamedTeam, TeamRuleError } from './team-store.js';

/** The names of a person that the database keeps. */
export interface PersonNames {
  readonly displayName: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
}

/** The display name of a person: the chosen one, else first and last name, else the e-mail address. */
export const displayNameOf = ({ displayName, firstName, lastName, email }: PersonNames): string =>
  displayName || `${firstName} ${lastName}`.trim() || email;

/** A person as others of the team see them. */
export const personOf = (user: PersonNames & { readonly number: number }) => ({
  id: user.number,
  email: user.email,
  displayName: displayNameOf(user),
});

/** A person by their id, and by the address that messages and logs show. */
export interface NamedUser {
  readonly id: UserId;
  /** Lower case. */
  readonly email: string;
}

export interface UserRecord extends NamedUser {
  readonly displayName: string;
  readonly createdAt: Date;
}

export interface PersonRecord {
  readonly email: string;
  readonly displayName: string;
  readonly teams: readonly { readonly slug: string; readonly role: Role }[];
}

export interface MemberRecord {
  readonly email: string;
  readonly displayName: string;
  readonly role: Role;
  readonly createdAt: Date;
}

const shown = { id: true, email: true, displayName: true, createdAt: true } as const;

/** People, identified by e-mail address, and their team memberships. */
export const userStore = (prisma: Transaction) => ({
  async findUser(email: string): Promise<UserRecord | null> {
    const row = await prisma.user.findUnique({ where: { email: normalEmail(email) }, select: shown });
    return row && { ...row, id: asUserId(row.id) };
  },

  /** The first people by address, with their teams. */
  async listPeople(limit: number): Promise<PersonRecord[]> {
    const rows = await prisma.user.findMany({
      orderBy: { email: 'asc' },
      take: limit,
      select: {
        email: true,
        displayName: true,
        memberships: { select: { role: true, team: { select: { slug: true } } }, orderBy: { team: { slug: 'asc' } } },
      },
    });
    return rows.map(({ memberships, ...person }) => ({
      ...person,
      teams: memberships.map(({ role, team: { slug } }) => ({ slug, role })),
    }));
  },

  /** @throws TeamRuleError when the address is invalid or taken, or the name is not one that people can read */
  async createUser({ email, displayName = '' }: { email: string; displayName?: string }): Promise<UserRecord> {
    const address = normalEmail(email);
    if (!isEmail(address)) throw new TeamRuleError(`"${email}" is not an e-mail address.`);
    if (displayName !== '' && !isShownName(displayName))
      throw new TeamRuleError(`The name ${textRules.shownName.must}.`);
    const created = await prisma.user.createMany({ data: [{ email: address, displayName }], skipDuplicates: true });
    if (created.count === 0) throw new TeamRuleError(`A user "${address}" already exists.`);
    const row = await prisma.user.findUniqueOrThrow({ where: { email: address }, select: shown });
    return { ...row, id: asUserId(row.id) };
  },

  /** Adds the user to the team, or changes the role of an existing member. */
  async saveMember(team: NamedTeam, user: NamedUser, role: Role): Promise<void> {
    const key = { teamId: team.id, userId: user.id };
    await prisma.membership.upsert({ where: { teamId_userId: key }, create: { ...key, role }, update: { role } });
  },

  /** Ordered by address. */
  async listMembers(team: NamedTeam): Promise<MemberRecord[]> {
    const rows = await prisma.membership.findMany({
      where: { teamId: team.id },
      orderBy: { user: { email: 'asc' } },
      select: { role: true, createdAt: true, user: { select: { email: true, displayName: true } } },
    });
    return rows.map(({ user, ...membership }) => ({ ...membership, ...user }));
  },
});
export type UserStore = ReturnType<typeof userStore>;
