import pLimit from 'p-limit';
import type { Cli } from '../cli.js';
import { CliExit, type ExitReason, exitCodes } from '../exit-codes.js';
import { isInteractive } from '../io.js';
import { confirm, readAll } from '../output/ask.js';
import { startProgress } from '../output/progress.js';
import { endOf } from '../output/report-error.js';
import { renderTable } from '../output/table.js';
import { withDiffCodes } from '../output/with-diff-codes.js';
import { type ClusterDocument, readDocuments } from './documents.js';
import type { LifecycleOptions } from './end-operation.js';
import { clusterPlanBody, clusterPlanText } from './plan-text.js';
import { applyCluster, hasEffects, type PlannedChange, placed, planCluster } from './planned-change.js';
import { connectTeam, failureOf, stepOf, type TeamApi, untilEnded } from './team-api.js';

interface ApplyOptions extends LifecycleOptions {
  readonly file: string[];
  readonly yes?: boolean;
}

/** How it ended for one cluster. */
interface Outcome {
  readonly name: string;
  readonly result: 'created' | 'changed' | 'unchanged' | 'failed';
  readonly operation: { readonly id: string; readonly state: string | null } | null;
  /** Why it failed. */
  readonly error: string | null;
  readonly end: ExitReason;
}

/** The API makes the changes of a team one after the other. */
const AT_ONCE = 4;

export async function applyDocuments(cli: Cli, options: ApplyOptions): Promise<void> {
  const api = await connectTeam(cli);
  const documents = await readDocuments(options.file, () => readAll(cli.io), api.team);
  const isReviewed = options.dryRun === true || (isInteractive(cli.io) && options.yes !== true);
  if (isReviewed) {
    // All are planned before any is applied: a mistake in the last one is seen first.
    const planned = await planAll(api, documents);
    if (options.dryRun) return showPlans(cli, planned);
    cli.note(plansText(cli, planned).trimEnd());
    if (planned.some(hasEffects)) await confirm(cli.io, 'Make these changes?', false);
    return applyAll(cli, api, documents, options, async (_document, at) => planned[at] as PlannedChange);
  }
  return applyAll(cli, api, documents, options, (document) => planCluster(api, document));
}

/** Ends with 1 if there are differences, and with 2 after any error, as `kubectl diff` does. */
export function diffDocuments(cli: Cli, { file }: { readonly file: string[] }): Promise<void> {
  return withDiffCodes(cli, async () => {
    const api = await connectTeam(cli);
    const planned = await planAll(api, await readDocuments(file, () => readAll(cli.io), api.team));
    showPlans(cli, planned);
    if (planned.some(hasEffects)) throw new CliExit('refused');
  });
}

const showPlans = (cli: Cli, planned: readonly PlannedChange[]): void =>
  cli.result(planned.map(clusterPlanBody), () => plansText(cli, planned));

const plansText = (cli: Cli, planned: readonly PlannedChange[]): string =>
  planned.map((each) => clusterPlanText(each, cli.style)).join('');

function planAll(api: TeamApi, documents: readonly ClusterDocument[]): Promise<PlannedChange[]> {
  const limit = pLimit(AT_ONCE);
  return Promise.all(
    documents.map((document) =>
      limit(() =>
        planCluster(api, document).catch((error: unknown) => {
          throw placed(document, error);
        }),
      ),
    ),
  );
}

type Planner = (document: ClusterDocument, at: number) => Promise<PlannedChange>;

async function applyAll(
  cli: Cli,
  api: TeamApi,
  documents: readonly ClusterDocument[],
  { wait = false, timeout }: LifecycleOptions,
  planOf: Planner,
): Promise<void> {
  const limit = pLimit(AT_ONCE);
  const progress = startProgress(
    cli.io,
    documents.map(({ name }) => name),
  );
  const endsAt = performance.now() + timeout;
  const applyOne = async (document: ClusterDocument, at: number): Promise<Outcome> => {
    const { name } = document;
    let operation: Outcome['operation'] = null;
    try {
      const { result, operationId } = await limit(async () => applyCluster(api, await planOf(document, at)));
      progress.show(name, { percent: 0, text: result });
      if (operationId === null) return { name, result, operation, error: null, end: 'ok' };
      operation = { id: operationId, state: null };
      if (!wait) return { name, result, operation, error: null, end: 'ok' };
      const ended = await untilEnded(api, operationId, {
        timeoutMs: Math.max(1, endsAt - performance.now()),
        onProgress: (seen) => progress.show(name, stepOf(seen)),
      });
      operation = { id: operationId, state: ended.state };
      const error = failureOf(ended);
      if (error === null) return { name, result, operation, error, end: 'ok' };
      return { name, result: 'failed', operation, error, end: ended.state === 'superseded' ? 'conflict' : 'refused' };
    } catch (error) {
      const { sentence, reason } = endOf(placed(document, error), cli.io);
      progress.show(name, { percent: 0, text: 'failed' });
      return { name, result: 'failed', operation, error: sentence, end: reason };
    }
  };
  const outcomes = await Promise.all(documents.map(applyOne));
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
      }),
  );
  const failed = outcomes.filter(({ end }) => end !== 'ok');
  for (const { name, error } of failed) cli.note(`corral: ${name}: ${error}`);
  const [first, ...others] = new Set(failed.map(({ end }) => end));
  // Several reasons: the output has each of them.
  if (first !== undefined) throw new CliExit(others.length === 0 ? first : 'refused');
}
