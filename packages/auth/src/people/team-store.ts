import { asTeamId, isTeamSlug, type TeamId } from '@corral/contracts';
import type { Transaction } from '@corral/database';

/** A team by its id, and by the name that messages and paths show. */
export interface NamedTeam {
  readonly id: TeamId;
  readonly slug: string;
}

export interface TeamRecord extends NamedTeam {
  readonly createdAt: Date;
  /** Since when it can only read; null for other teams. */
  readonly suspendedAt: Date | null;
}

/** An operator's request violates a rule. The message says why and what to do. */
export class TeamRuleError extends Error {
  override readonly name = 'TeamRuleError';
}

export const teamStore = (prisma: Transaction) => ({
  /** @throws TeamRuleError when the slug is malformed, reserved or taken */
  async createTeam(slug: string): Promise<TeamRecord> {
    if (!isTeamSlug(slug)) {
      throw new TeamRuleError(
        `"${slug}" cannot be a team's name: use 1 to 63 characters of a-z, 0-9 and hyphens, no hyphen at either end, no xn-- at the start, and no reserved word such as www or mail.`,
      );
    }
    const created = await prisma.team.createMany({ data: [{ slug }], skipDuplicates: true });
    if (created.count === 0) throw new TeamRuleError(`A team "${slug}" already exists.`);
    return teamOf(await prisma.team.findUniqueOrThrow({ where: { slug } }));
  },

  async findTeam(slug: string): Promise<TeamRecord | null> {
    const row = await prisma.team.findUnique({ where: { slug } });
    return row && teamOf(row);
  },

  async listTeams(): Promise<TeamRecord[]> {
    return (await prisma.team.findMany({ orderBy: { slug: 'asc' } })).map(teamOf);
  },
});
const teamOf = <Row extends { readonly id: string }>(row: Row) => ({ ...row, id: asTeamId(row.id) });
export type TeamStore = ReturnType<typeof teamStore>;
