import type { AuditAction, FieldChange, TeamId } from '@corral/contracts';

/** What an operator does, for the audit log. Nothing in it may be a secret. */
export type Act = ActInTeam | ActOfInstallation;

type Detail = Readonly<Record<string, string | number | boolean | null>>;

/** Shown to the team in its own audit log. */
export interface ActInTeam {
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

/** Runs a statement with its values: by Prisma or by `pg`, in the transaction of the change. */
export type RunStatement = (text: string, values: readonly unknown[]) => Promise<unknown>;

/** Writes the entry of an act. */
export async function recordAct(run: RunStatement, operator: string, act: Act): Promise<void> {
  const { action, target, detail = {} } = act;
  if (act.team === null) {
    await run(
      `INSERT INTO operator_act (operator, action, target_kind, target_name, detail, created_at)
       VALUES ($1, $2, $3, $4, $5::jsonb, clock_timestamp())`,
      [operator, action, target.kind, target.name, JSON.stringify(detail)],
    );
    return;
  }
  const changes = act.changes === undefined ? null : JSON.stringify(act.changes);
  await run(
    `INSERT INTO audit_entry (team_id, operator, action, target_kind, target_id, target_name, detail, changes, created_at)
     VALUES ($1::uuid, $2, $3, $4, $5::uuid, $6, $7::jsonb, $8::jsonb, clock_timestamp())`,
    [act.team.id, operator, action, target.kind, act.target.id, target.name, JSON.stringify(detail), changes],
  );
}
