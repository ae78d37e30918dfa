import type { Cli } from '../cli.js';
import { CliExit, usageError } from '../exit-codes.js';
import { isInteractive } from '../io.js';
import { confirm, confirmCount, readAllBytes } from '../output/ask.js';
import { withDiffCodes } from '../output/with-diff-codes.js';
import { deletedText, type PlannedDeletion } from './deletions.js';
import { readDocuments } from './documents.js';
import { shortEffect } from './effect-text.js';
import type { LifecycleOptions } from './end-operation.js';
import { changeStep, deletionStep, failed, type Outcome, report, runSteps, untouched } from './outcomes.js';
import {
  type Attempt,
  isChange,
  isDeletion,
  isUnplanned,
  planDeletions,
  planDocuments,
  plansText,
  reportUnplanned,
  showPlans,
} from './plan-documents.js';
import { hasEffects, type PlannedChange, removalsIn } from './planned-change.js';
import { planAgain, savePlan } from './saved-plan.js';
import { connectTeam, listClustersOf, type TeamApi } from './team-api.js';

interface ApplyOptions extends LifecycleOptions {
  readonly file?: string[];
  readonly yes?: boolean;
  readonly allowRemovals?: boolean;
  /** Up to how many clusters may be deleted, as it was typed. */
  readonly prune?: true | string;
}

/** All are planned before any is applied: nothing is changed while one is wrong. */
export async function applyClusters(cli: Cli, savedPlan: string | undefined, options: ApplyOptions): Promise<void> {
  const { file, prune } = options;
  if ((file === undefined) === (savedPlan === undefined))
    throw usageError('Name files with -f, or a plan that was saved.');
  if (savedPlan !== undefined && prune !== undefined)
    throw usageError('A saved plan says what it deletes. Leave out --prune.');
  const permitted = permittedDeletions(prune);
  const api = await connectTeam(cli);
  const attempts =
    savedPlan === undefined
      ? await planOf(cli, api, file as string[], prune !== undefined)
      : await planAgain(cli, api, savedPlan);
  if (options.dryRun) {
    showPlans(cli, attempts);
    const end = reportUnplanned(cli, attempts);
    if (end !== null) throw new CliExit(end);
    if (savedPlan === undefined) notePermissions(cli, attempts, permitted);
    return;
  }
  const plans = plansText(cli, attempts).trimEnd();
  if (plans !== '') cli.note(plans);
  if (attempts.some(isUnplanned)) {
    cli.note('Nothing was changed.');
    return report(cli, attempts.map(unbegun));
  }
  // A saved plan was read by those who let it be applied.
  if (savedPlan === undefined) await permit(cli, attempts, { ...options, permitted });
  await applyAll(cli, api, attempts, options);
}

function unbegun(attempt: Attempt): Outcome {
  if (!isUnplanned(attempt)) return untouched(nameOf(attempt), 'skipped');
  const { name, source, failure } = attempt;
  return failed(name ?? source, failure.sentence, failure.reason);
}

const nameOf = (planned: PlannedChange | PlannedDeletion): string =>
  isDeletion(planned) ? planned.cluster.metadata.name : planned.document.name;

function permittedDeletions(prune: ApplyOptions['prune']): number {
  if (prune === undefined || prune === true) return 0;
  if (!/^\d{1,6}$/.test(prune)) throw usageError(`${prune} is no number of clusters. Use --prune=2.`);
  return Number(prune);
}

interface Permission {
  readonly yes?: boolean;
  readonly allowRemovals?: boolean;
  /** Up to how many clusters may be deleted without a question. */
  readonly permitted: number;
}

/**
 * Asks before anything is changed. Where nobody can be asked, what takes something away has to be permitted. `--yes` does not mean the
 * deletion of clusters.
 */
async function permit(
  { io }: Cli,
  attempts: readonly Attempt[],
  { yes = false, allowRemovals = false, permitted }: Permission,
): Promise<void> {
  const [planned, deletions] = [attempts.filter(isChange), attempts.filter(isDeletion)];
  const isUnexpected = deletions.length > permitted;
  const removed = removedText(planned);
  if (!isInteractive(io) && removed !== null && !allowRemovals) {
    throw usageError(
      `${removed} No terminal to prompt on. Pass --allow-removals to confirm, or --dry-run to see the plan. Nothing was changed.`,
    );
  }
  if (isUnexpected) {
    const count = deletions.length;
    await confirmCount(io, deletedText(deletions, ' that no file names'), count, `--prune=${count}`);
  } else if (isInteractive(io) && (deletions.length > 0 || planned.some(hasEffects))) {
    await confirm(io, 'Make these changes?', yes);
  }
}

/** Says what a command without a terminal has to permit. */
function notePermissions(cli: Cli, attempts: readonly Attempt[], permitted: number): void {
  if (isInteractive(cli.io)) return;
  const deletions = attempts.filter(isDeletion);
  const removed = removedText(attempts.filter(isChange));
  if (removed !== null) cli.note(`${removed} It needs --allow-removals.`);
  if (deletions.length > permitted)
    cli.note(`${deletedText(deletions, ' that no file names')} It needs --prune=${deletions.length}.`);
}

const CLUSTERS_NAMED = 5;

/** @returns a sentence, or null if nothing is taken away */
function removedText(planned: readonly PlannedChange[]): string | null {
  const removing = planned.flatMap((each) => {
    const effects = removalsIn(each);
    return effects.length === 0 ? [] : [`${each.document.name} (${effects.map(shortEffect).join(', ')})`];
  });
  if (removing.length === 0) return null;
  const more = removing.length > CLUSTERS_NAMED ? ` and ${removing.length - CLUSTERS_NAMED} more` : '';
  return `This removes or replaces nodes of ${removing.slice(0, CLUSTERS_NAMED).join(', ')}${more}.`;
}

/** Ends with 1 if there are differences, and with 2 after any error, as `kubectl diff` does. */
export function diffDocuments(
  cli: Cli,
  { file, prune = false }: { readonly file: string[]; readonly prune?: boolean },
): Promise<void> {
  return withDiffCodes(cli, async () => {
    const attempts = await planOf(cli, await connectTeam(cli), file, prune);
    showPlans(cli, attempts);
    if (reportUnplanned(cli, attempts) !== null) throw new CliExit('usage');
    if (attempts.some((each) => isDeletion(each) || (isChange(each) && hasEffects(each)))) throw new CliExit('refused');
  });
}

interface PlanOptions {
  readonly file: string[];
  readonly prune?: boolean;
  readonly out: string;
}

/** Saves a plan, so that it is applied as it was read. */
export async function planToFile(cli: Cli, { file, prune = false, out }: PlanOptions): Promise<void> {
  const api = await connectTeam(cli);
  const attempts = await planOf(cli, api, file, prune);
  showPlans(cli, attempts);
  const end = reportUnplanned(cli, attempts);
  if (end !== null) throw new CliExit(end);
  await savePlan(out, api, attempts);
}

/** Plans what the files declare, and with `isPruning` the deletion of the clusters of the team that they do not name. */
async function planOf(cli: Cli, api: TeamApi, files: readonly string[], isPruning: boolean): Promise<Attempt[]> {
  const documents = await readDocuments(files, () => readAllBytes(cli.io), api.team);
  const attempts = await planDocuments(cli, api, documents);
  if (!isPruning) return attempts;
  const named = new Set(documents.map((each) => ('problem' in each ? null : each.name)));
  const others = (await listClustersOf(api)).filter(
    ({ metadata, status }) => !named.has(metadata.name) && status.phase !== 'Deleting',
  );
  return [...attempts, ...(await planDeletions(cli, api, others))];
}

/** Deletions come last, and only if every change succeeded. */
async function applyAll(
  cli: Cli,
  api: TeamApi,
  attempts: readonly Attempt[],
  { wait = false, timeout }: LifecycleOptions,
): Promise<void> {
  const waiting = { wait, endsAt: performance.now() + timeout };
  const deletions = attempts.filter(isDeletion);
  const changed = await runSteps(cli, api, attempts.filter(isChange).map(changeStep(api)), waiting);
  const deleted = changed.every(({ end }) => end === 'ok')
    ? await runSteps(cli, api, deletions.map(deletionStep(api)), waiting)
    : deletions.map((each) => untouched(nameOf(each), 'skipped'));
  report(cli, [...changed, ...deleted]);
}
