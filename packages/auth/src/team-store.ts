import { isTeamSlug } from '@corral/contracts';
import type { Prisma } from '@corral/database';

export interface TeamRecord {
  readonly id: string;
  readonly slug: string;
  readonly createdAt: Date;
}

/** What an operator asked for cannot be done as asked; the message says why and what to do. */
export class TeamRuleError extends Error {
  override readonly name = 'TeamRuleError';
}

export const teamStore = (prisma: Prisma) => ({
  /** @throws TeamRuleError when the slug is malformed, reserved or taken */
  async createTeam(slug: string): Promise<TeamRecord> {
    if (!isTeamSlug(slug)) {
      throw new TeamRuleError(
        `"${slug}" cannot be a team's name: use 1 to 63 characters of a-z, 0-9 and hyphens, no hyphen at either end, no xn-- at the start, and no reserved word such as www or mail.`,
      );
    }
    const created = await prisma.team.createMany({ data: [{ slug }], skipDuplicates: true });
    if (created.count === 0) throw new TeamRuleError(`A team "${slug}" already exists.`);
    return prisma.team.findUniqueOrThrow({ where: { slug } });
  },

  findTeam(slug: string): Promise<TeamRecord | null> {
    return prisma.team.findUnique({ where: { slug } });
  },

  listTeams(): Promise<TeamRecord[]> {
    return prisma.team.findMany({ orderBy: { slug: 'asc' } });
  },
});
export type TeamStore = ReturnType<typeof teamStore>;
