import type { Cli } from '../cli.js';
import { CliExit, usageError } from '../exit-codes.js';
import { readAllBytes } from '../output/ask.js';
import { withDiffCodes } from '../output/with-diff-codes.js';
import { nameOfDeleted, type PlannedDeletion } from './deletions.js';
import { readDocuments } from './documents.js';
import type { LifecycleOptions } from './end-operation.js';
import { changeStep, deletionStep, failed, type Outcome, report, runSteps, untouched } from './outcomes.js';
import { type Asked, notePermissions, permit, permittedDeletions } from './permission.js';
import {
  type Attempt,
  isChange,
  isDeletion,
  isUnplanned,
  planAll,
  plansText,
  reportUnplanned,
  showPlans,
} from './plan-documents.js';
import { hasEffects, type PlannedChange } from './planned-change.js';
import { planAgain, savePlan } from './saved-plan.js';
import { connectTeam, type TeamApi } from './team-api.js';

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
  const permitted = permittedDeletions(prune, 'clusters');
  const api = await connectTeam(cli);
  const attempts =
    savedPlan === undefined
      ? await planOf(cli, api, file as string[], prune !== undefined)
      : await planAgain(cli, api, savedPlan);
  if (options.dryRun) {
    showPlans(cli, attempts);
    const end = reportUnplanned(cli, attempts);
    if (end !== null) throw new CliExit(end);
    if (savedPlan === undefined) notePermissions(cli, askedOf(attempts), permitted);
    return;
  }
  const plans = plansText(cli, attempts).trimEnd();
  if (plans !== '') cli.note(plans);
  if (attempts.some(isUnplanned)) {
    cli.alert('Nothing was changed.');
    return report(cli, attempts.map(unbegun));
  }
  // A saved plan was read by those who let it be applied.
  if (savedPlan === undefined) await permit(cli.io, askedOf(attempts), { ...options, permitted });
  await applyAll(cli, api, attempts, options);
}

function unbegun(attempt: Attempt): Outcome {
  if (!isUnplanned(attempt)) return untouched(nameOf(attempt), 'skipped');
  const { name, source, failure } = attempt;
  return failed(name ?? source, failure.sentence, failure.reason);
}

const nameOf = (planned: PlannedChange | PlannedDeletion): string =>
  isDeletion(planned) ? nameOfDeleted(planned) : planned.document.name;

const askedOf = (attempts: readonly Attempt[]): Asked => {
  const changes = attempts.filter(isChange);
  const deleted = attempts.filter(isDeletion).map(nameOfDeleted);
  return { changes, deleted, noun: 'cluster', hasEffects: changes.some(hasEffects) };
};

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

async function planOf(cli: Cli, api: TeamApi, files: readonly string[], isPruning: boolean): Promise<Attempt[]> {
  return planAll(cli, api, await readDocuments(files, () => readAllBytes(cli.io), api.team), isPruning);
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
