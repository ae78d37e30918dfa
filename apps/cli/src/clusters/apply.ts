import pLimit from 'p-limit';
import type { Cli } from '../cli.js';
import { CliExit, type ExitReason, exitCodes, usageError } from '../exit-codes.js';
import { isInteractive } from '../io.js';
import { confirm, readAllBytes } from '../output/ask.js';
import { startProgress } from '../output/progress.js';
import { endOf } from '../output/report-error.js';
import { renderTable } from '../output/table.js';
import { withDiffCodes } from '../output/with-diff-codes.js';
import { readDocuments } from './documents.js';
import { type Effect, shortEffect } from './effect-text.js';
import type { LifecycleOptions } from './end-operation.js';
import {
  AT_ONCE,
  type Attempt,
  commonReason,
  isUnplanned,
  planDocuments,
  plansText,
  reportUnplanned,
  showPlans,
} from './plan-documents.js';
import { applyCluster, hasEffects, type PlannedChange, placed, removalsIn } from './planned-change.js';
import { connectTeam, failureOf, stepOf, type TeamApi, untilEnded } from './team-api.js';

interface ApplyOptions extends LifecycleOptions {
  readonly file: string[];
  readonly yes?: boolean;
  readonly allowRemovals?: boolean;
}

/** How it ended for one cluster. */
interface Outcome {
  readonly name: string;
  /** `skipped`: another document is wrong. */
  readonly result: 'created' | 'changed' | 'unchanged' | 'failed' | 'skipped';
  readonly operation: { readonly id: string; readonly state: string | null } | null;
  /** What the change takes away, once it was accepted. */
  readonly removals: readonly Effect[];
  /** Why it failed. */
  readonly error: string | null;
  readonly end: ExitReason;
}

/** All are planned before any is applied: nothing is changed while one is wrong. */
export async function applyDocuments(cli: Cli, options: ApplyOptions): Promise<void> {
  const api = await connectTeam(cli);
  const attempts = await planOf(cli, api, options.file);
  const planned = attempts.flatMap((each) => (isUnplanned(each) ? [] : [each]));
  if (options.dryRun) {
    showPlans(cli, attempts);
    const end = reportUnplanned(cli, attempts);
    if (end !== null) throw new CliExit(end);
    const removed = removedText(planned);
    if (removed !== null && !isInteractive(cli.io)) cli.note(`${removed} It needs --allow-removals.`);
    return;
  }
  const plans = plansText(cli, attempts).trimEnd();
  if (plans !== '') cli.note(plans);
  if (planned.length < attempts.length) {
    cli.note('Nothing was changed.');
    return report(cli, attempts.map(unbegun));
  }
  await permit(cli, planned, options);
  await applyAll(cli, api, planned, options);
}

function unbegun(attempt: Attempt): Outcome {
  const nothing = { operation: null, removals: [] };
  if (!isUnplanned(attempt))
    return { name: attempt.document.name, result: 'skipped', ...nothing, error: null, end: 'ok' };
  const { name, source, failure } = attempt;
  return { name: name ?? source, result: 'failed', ...nothing, error: failure.sentence, end: failure.reason };
}

/** Asks before anything is changed. Where nobody can be asked, what takes something away has to be permitted. */
async function permit(
  { io }: Cli,
  planned: readonly PlannedChange[],
  { yes = false, allowRemovals = false }: ApplyOptions,
): Promise<void> {
  if (isInteractive(io)) return planned.some(hasEffects) ? confirm(io, 'Make these changes?', yes) : undefined;
  const removed = removedText(planned);
  if (removed === null || allowRemovals) return;
  throw usageError(
    `${removed} No terminal to prompt on. Pass --allow-removals to confirm, or --dry-run to see the plan. Nothing was changed.`,
  );
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
export function diffDocuments(cli: Cli, { file }: { readonly file: string[] }): Promise<void> {
  return withDiffCodes(cli, async () => {
    const attempts = await planOf(cli, await connectTeam(cli), file);
    showPlans(cli, attempts);
    if (reportUnplanned(cli, attempts) !== null) throw new CliExit('usage');
    if (attempts.some((each) => !isUnplanned(each) && hasEffects(each))) throw new CliExit('refused');
  });
}

const planOf = async (cli: Cli, api: TeamApi, files: readonly string[]): Promise<Attempt[]> =>
  planDocuments(cli, api, await readDocuments(files, () => readAllBytes(cli.io), api.team));

async function applyAll(
  cli: Cli,
  api: TeamApi,
  planned: readonly PlannedChange[],
  { wait = false, timeout }: LifecycleOptions,
): Promise<void> {
  const limit = pLimit(AT_ONCE);
  const progress = startProgress(
    cli.io,
    planned.map(({ document }) => document.name),
  );
  const endsAt = performance.now() + timeout;
  const applyOne = async (change: PlannedChange): Promise<Outcome> => {
    const { name } = change.document;
    let begun: Pick<Outcome, 'operation' | 'removals'> = { operation: null, removals: [] };
    try {
      const { result, operationId } = await limit(() => applyCluster(api, change));
      progress.show(name, { percent: 0, text: result });
      const operation = operationId === null ? null : { id: operationId, state: null };
      begun = { operation, removals: result === 'unchanged' ? [] : removalsIn(change) };
      if (operationId === null || !wait) return { name, result, ...begun, error: null, end: 'ok' };
      const ended = await untilEnded(api, operationId, {
        timeoutMs: Math.max(1, endsAt - performance.now()),
        onProgress: (seen) => progress.show(name, stepOf(seen)),
      });
      begun = { ...begun, operation: { id: operationId, state: ended.state } };
      const error = failureOf(ended);
      if (error === null) return { name, result, ...begun, error, end: 'ok' };
      return { name, result: 'failed', ...begun, error, end: ended.state === 'superseded' ? 'conflict' : 'refused' };
    } catch (error) {
      const { sentence, reason } = endOf(placed(change.document, error), cli.io);
      progress.show(name, { percent: 0, text: 'failed' });
      return { name, result: 'failed', ...begun, error: sentence, end: reason };
    }
  };
  const outcomes = await Promise.all(planned.map(applyOne));
  progress.end();
  report(cli, outcomes);
}

function report(cli: Cli, outcomes: readonly Outcome[]): void {
  cli.result(
    outcomes.map(({ end, ...outcome }) => ({ ...outcome, exitCode: exitCodes[end].code })),
    () =>
      renderTable(outcomes, {
        CLUSTER: ({ name }) => name,
        RESULT: ({ result }) => result,
        OPERATION: ({ operation }) => operation?.id,
        STATE: ({ operation }) => operation?.state,
        REMOVALS: ({ removals }) => removals.map(shortEffect).join('\n'),
      }),
  );
  const failed = outcomes.filter(({ end }) => end !== 'ok');
  // What is wrong with a document without a name begins with its place, which is its name here.
  for (const { name, error } of failed)
    cli.note(`corral: ${error?.startsWith(`${name}: `) ? '' : `${name}: `}${error}`);
  if (failed.length > 0) throw new CliExit(commonReason(failed.map(({ end }) => end)));
}
