import type { AuditAction, FieldChange, TeamId } from '@corral/contracts';
import { noJson, readClock, type Transaction } from '@corral/database';

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
