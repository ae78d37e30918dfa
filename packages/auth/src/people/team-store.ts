import { asTeamId, isTeamSlug, retentionLimits, type TeamId } from '@corral/contracts';
import { readClock, type Transaction } from '@corral/database';

/** A team by its id, and by the name that messages and paths show. */
export interface NamedTeam {
  readonly id: TeamId;
  readonly slug: string;
}

export interface TeamRecord extends NamedTeam {
  readonly createdAt: Date;
  /** The time since which it can only read; null for other teams. */
  readonly suspendedAt: Date | null;
}

export interface DeletedTeamRecord extends TeamRecord {
  readonly deletedAt: Date;
}

/** An operator's request violates a rule. The message says why and what to do. */
export class TeamRuleError extends Error {
  override readonly name = 'TeamRuleError';
}

const DAY_MS = 86_400_000;

/** The time before which no other team gets the slug of a deleted one. */
export const slugHeldUntil = (deletedAt: Date): Date =>
  new Date(deletedAt.getTime() + retentionLimits.teamSlugDays * DAY_MS);

/** Teams, except for deleted ones. */
export const teamStore = (prisma: Transaction) => ({
  /**
   * @param isHandedOver whether the slug may be that of a team that was deleted lately
   * @throws TeamRuleError when the slug is malformed, reserved, taken, or that of a team that was deleted lately
   */
  async createTeam(slug: string, isHandedOver = false): Promise<TeamRecord> {
    if (!isTeamSlug(slug)) {
      throw new TeamRuleError(
        `"${slug}" cannot be a team's name: use 1 to 63 characters of a-z, 0-9 and hyphens, no hyphen at either end, no xn-- at the start, and no reserved word such as www or mail.`,
      );
    }
    await freeSlug(prisma, slug, isHandedOver);
    const created = await prisma.team.createMany({ data: [{ slug }], skipDuplicates: true });
    if (created.count === 0) throw new TeamRuleError(`A team "${slug}" already exists.`);
    return teamOf(await prisma.team.findUniqueOrThrow({ where: { slug } }));
  },

  async findTeam(slug: string): Promise<TeamRecord | null> {
    const row = await prisma.team.findUnique({ where: { slug, deletedAt: null } });
    return row && teamOf(row);
  },

  /** The deleted team whose slug no other team has yet. */
  async findDeletedTeam(slug: string): Promise<DeletedTeamRecord | null> {
    const row = await prisma.team.findUnique({ where: { slug, deletedAt: { not: null } } });
    return row && { ...teamOf(row), deletedAt: row.deletedAt as Date };
  },

  async listTeams(): Promise<TeamRecord[]> {
    return (await prisma.team.findMany({ where: { deletedAt: null }, orderBy: { slug: 'asc' } })).map(teamOf);
  },
});
const teamOf = <Row extends { readonly id: string }>(row: Row) => ({ ...row, id: asTeamId(row.id) });

/** Takes the slug from a deleted team. The logs refer to its row, which stays with its id as its slug. */
async function freeSlug(tx: Transaction, slug: string, isHandedOver: boolean): Promise<void> {
  const team = await tx.team.findUnique({ where: { slug }, select: { id: true, deletedAt: true } });
  if (team === null || team.deletedAt === null) return;
  const until = slugHeldUntil(team.deletedAt);
  if (!isHandedOver && until > (await readClock(tx)))
    throw new TeamRuleError(
      `A team "${slug}" was deleted on ${team.deletedAt.toISOString()}. Its name is free again on ${until.toISOString()}.`,
    );
  await tx.team.update({ where: { id: team.id }, data: { slug: team.id } });
}

export type TeamStore = ReturnType<typeof teamStore>;
