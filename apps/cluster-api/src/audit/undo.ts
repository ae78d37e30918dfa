import type { AuditEntryBody } from '@corral/contracts';
import type { Caller } from '../changes/caller.js';
import { operationBody } from '../operations/view.js';
import { Problem } from '../problem.js';
import type { Services } from '../services.js';
import { changeCluster, type FullPlan, planUndo, refusalOf, type UndoItem, type UndoPlan } from './undo-plan.js';

export interface UndoOptions {
  readonly purpose: 'apply' | 'dryRun';
  /** The tag of the plan whose later changes may be taken back, too. */
  readonly overwrite: string | null;
}

/**
 * Takes back entries of the audit log. Clusters are declared as they were; record sets are written over the DNS API by the caller,
 * with the requests of the plan. Repeating it is safe: what is as it was before already stays.
 *
 * @param entries newest first
 * @throws Problem `undo_conflict` if that would take back a later change without saying so, `undo_impossible` if nothing can be
 *   taken back
 */
export async function undo(
  services: Services,
  caller: Caller,
  entries: readonly AuditEntryBody[],
  { purpose, overwrite }: UndoOptions,
): Promise<UndoPlan> {
  const plan = await planUndo(services, caller, entries);
  if (purpose === 'dryRun') return { dryRun: true, tag: plan.tag, items: [...plan.items] };
  refuseConflict(plan, overwrite);
  refuseImpossible(plan);
  const items: UndoItem[] = [];
  for (const [at, item] of plan.items.entries())
    items.push(await carriedOut(services, caller, item, plan.clusters.get(at)));
  refuseImpossible({ items });
  return { dryRun: false, tag: plan.tag, items };
}

async function carriedOut(
  services: Services,
  caller: Caller,
  item: UndoItem,
  cluster: Parameters<typeof changeCluster>[2] | undefined,
): Promise<UndoItem> {
  if (cluster === undefined) return item;
  const outcome = await changeCluster(services, caller, cluster, 'apply').catch(refusalOf);
  if (outcome.kind === 'refused') return { ...item, state: 'impossible', reason: outcome.reason };
  if (outcome.kind !== 'accepted') return { ...item, state: 'same' };
  const context = { team: caller.team, publicUrl: services.config.publicUrl() };
  return { ...item, state: 'begun', operation: operationBody(outcome.operation, context) };
}

const nameOf = ({ name, type }: UndoItem): string => (type === null ? name : `${name} ${type}`);

function refuseConflict({ items, tag }: FullPlan, overwrite: string | null): void {
  const changed = items.filter(({ state, overwrites }) => state === 'planned' && overwrites.length > 0);
  if (changed.length === 0 || overwrite === tag) return;
  const what = changed.map((item) => `${nameOf(item)} (${item.overwrites.join(', ')})`).slice(0, 10);
  const many = changed.length > what.length ? ` and ${changed.length - what.length} more` : '';
  const how = 'Look at the dry run, and send its tag as `overwrite` to take the later changes back as well.';
  throw new Problem('undo_conflict', `Changed again since: ${what.join(', ')}${many}. ${how}`);
}

function refuseImpossible({ items }: Pick<FullPlan, 'items'>): void {
  if (items.length === 0 || items.some(({ state }) => state !== 'impossible')) return;
  const reasons = new Set(items.map((item) => `${nameOf(item)}: ${item.reason}`));
  throw new Problem('undo_impossible', [...reasons].slice(0, 10).join(' '));
}
