import { isEmail, normalEmail, type Role } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import { type TeamRecord, TeamRuleError } from './team-store.js';

export interface UserRecord {
  readonly id: string;
  /** Lower case. */
  readonly email: string;
  readonly displayName: string;
  readonly createdAt: Date;
}

export interface MemberRecord {
  readonly email: string;
  readonly displayName: string;
  readonly role: Role;
  readonly createdAt: Date;
}

const shown = { id: true, email: true, displayName: true, createdAt: true } as const;

/** People, known by their e-mail addresses, and the teams they belong to. */
export const userStore = (prisma: Prisma) => ({
  findUser(email: string): Promise<UserRecord | null> {
    return prisma.user.findUnique({ where: { email: normalEmail(email) }, select: shown });
  },

  /** @throws TeamRuleError when the address is none, or taken */
  async createUser({ email, displayName = '' }: { email: string; displayName?: string }): Promise<UserRecord> {
    const address = normalEmail(email);
    if (!isEmail(address)) throw new TeamRuleError(`"${email}" is not an e-mail address.`);
    const created = await prisma.user.createMany({ data: [{ email: address, displayName }], skipDuplicates: true });
    if (created.count === 0) throw new TeamRuleError(`A user "${address}" already exists.`);
    return prisma.user.findUniqueOrThrow({ where: { email: address }, select: shown });
  },

  /** Makes the user a member of the team, or changes the role of one. */
  async saveMember(team: Pick<TeamRecord, 'id'>, user: Pick<UserRecord, 'id'>, role: Role): Promise<void> {
    const key = { teamId: team.id, userId: user.id };
    await prisma.membership.upsert({ where: { teamId_userId: key }, create: { ...key, role }, update: { role } });
  },

  /** By address. */
  async listMembers(team: Pick<TeamRecord, 'id'>): Promise<MemberRecord[]> {
    const rows = await prisma.membership.findMany({
      where: { teamId: team.id },
      orderBy: { user: { email: 'asc' } },
      select: { role: true, createdAt: true, user: { select: { email: true, displayName: true } } },
    });
    return rows.map(({ user, ...membership }) => ({ ...membership, ...user }));
  },
});
export type UserStore = ReturnType<typeof userStore>;
