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
  /** Only earlier acts. */
  readonly before: Date | null;
  readonly operator: string | null;
}

/** Reads what operators did in teams and in the installation, newest first. */
export const readActs = (prisma: Prisma, { limit, before, operator }: ActQuery): Promise<OperatorAct[]> =>
  prisma.$queryRaw<OperatorAct[]>`
    SELECT * FROM (
      (SELECT audit_entry.created_at AS at, operator, action, slug AS team, target_kind AS "targetKind",
              target_name AS "targetName", detail, changes
       FROM audit_entry JOIN team ON team.id = team_id
       WHERE operator IS NOT NULL AND audit_entry.created_at < coalesce(${before}::timestamptz, 'infinity')
         AND operator = coalesce(${operator}::text, operator)
       ORDER BY audit_entry.created_at DESC LIMIT ${limit})
      UNION ALL
      (SELECT created_at, operator, action, NULL, target_kind, target_name, detail, NULL
       FROM operator_act
       WHERE created_at < coalesce(${before}::timestamptz, 'infinity')
         AND operator = coalesce(${operator}::text, operator)
       ORDER BY created_at DESC LIMIT ${limit})
    ) AS acts ORDER BY at DESC LIMIT ${limit}`;
