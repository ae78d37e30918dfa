import type { Prisma } from '@corral/database';

/** An act of an operator, from either log. */
export interface OperatorAct {
  readonly at: Date;
  readonly operator: string;
  readonly action: string;
  /** Slug of the team that sees the entry too; null for an act that concerns no team, or all of them. */
  readonly team: string | null;
  readonly targetKind: string;
  readonly targetName: string;
  readonly detail: object;
  readonly changes: readonly { pointer: string; from: unknown; to: unknown }[] | null;
}

export interface ActQuery {
  readonly limit: number;
  /** Leaves out acts at this time and later. */
  readonly before: Date | null;
  readonly operator: string | null;
}

/** Reads what operators did in teams and in the installation, newest first. */
export async function readActs(prisma: Prisma, { limit, before, operator }: ActQuery): Promise<OperatorAct[]> {
  const at = before === null ? {} : { createdAt: { lt: before } };
  const page = { orderBy: { createdAt: 'desc' }, take: limit } as const;
  const inTeams = await prisma.auditEntry.findMany({
    where: { ...at, operator: operator ?? { not: null } },
    include: { team: { select: { slug: true } } },
    ...page,
  });
  const ofInstallation = await prisma.operatorAct.findMany({
    where: { ...at, ...(operator !== null && { operator }) },
    ...page,
  });
  return [
    ...inTeams.map((entry) => actOf(entry, entry.team.slug, entry.changes as OperatorAct['changes'])),
    ...ofInstallation.map((entry) => actOf(entry, null, null)),
  ]
    .toSorted((one, other) => other.at.getTime() - one.at.getTime())
    .slice(0, limit);
}

interface Entry extends Pick<OperatorAct, 'action' | 'targetKind' | 'targetName'> {
  readonly createdAt: Date;
  readonly operator: string | null;
  readonly detail: unknown;
}

const actOf = (
  { createdAt, operator, action, targetKind, targetName, detail }: Entry,
  team: string | null,
  changes: OperatorAct['changes'],
): OperatorAct => ({
  at: createdAt,
  operator: operator as string,
  action,
  team,
  targetKind,
  targetName,
  detail: detail as object,
  changes,
});
