import type { AuditAction, FieldChange, TeamId } from '@corral/contracts';
import { noJson, type Prisma, readClock, type Transaction } from '@corral/database';

/** What an operator does, for the audit log. Nothing in it may be a secret. */
export type Act = ActInTeam | ActOfInstallation;

type Detail = Readonly<Record<string, string | number | boolean | null>>;

/** Shown to the team in its own audit log. */
interface ActInTeam {
  readonly team: { readonly id: TeamId };
  readonly action: AuditAction;
  readonly target: { readonly kind: string; readonly id: string; readonly name: string };
  readonly changes?: readonly FieldChange[];
  readonly detail?: Detail;
}

/** Concerns no team, or all of them. */
export interface ActOfInstallation {
  readonly team: null;
  /** Dotted, such as `course.end`. */
  readonly action: string;
  readonly target: { readonly kind: string; readonly name: string };
  readonly detail?: Detail;
}

/** Writes the entry of an act. */
export async function recordAct(tx: Transaction, operator: string, act: Act): Promise<void> {
  const { action, target, detail = {} } = act;
  const createdAt = await readClock(tx);
  const entry = { operator, action, targetKind: target.kind, targetName: target.name, detail, createdAt };
  if (act.team === null) {
    await tx.operatorAct.create({ data: entry });
    return;
  }
  const changes = act.changes === undefined ? noJson : ([...act.changes] as object[]);
  await tx.auditEntry.create({ data: { ...entry, teamId: act.team.id, targetId: act.target.id, changes } });
}

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

interface Entry {
  readonly action: string;
  readonly targetKind: string;
  readonly targetName: string;
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
