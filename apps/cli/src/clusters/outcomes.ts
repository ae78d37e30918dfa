import pLimit from 'p-limit';
import type { Cli } from '../cli.js';
import { CliExit, type ExitReason, exitCodes } from '../exit-codes.js';
import { startProgress } from '../output/progress.js';
import { endOf } from '../output/report-error.js';
import { type Columns, renderTable } from '../output/table.js';
import { type PlannedDeletion, sendDeletion } from './deletions.js';
import { type Effect, shortEffect } from './effect-text.js';
import { AT_ONCE, commonReason } from './plan-documents.js';
import { applyCluster, type PlannedChange, placed, removalsIn } from './planned-change.js';
import { failureOf, stepOf, type TeamApi, untilEnded } from './team-api.js';

/** How it ended for one cluster. */
export interface Outcome {
  readonly name: string;
  /** `skipped`: another one is wrong, or failed. */
  readonly result: 'created' | 'changed' | 'unchanged' | 'deleting' | 'deleted' | 'absent' | 'failed' | 'skipped';
  readonly operation: { readonly id: string; readonly state: string | null } | null;
  /** What the change takes away, once it was accepted. */
  readonly removals: readonly Effect[];
  /** Why it failed. */
  readonly error: string | null;
  readonly end: ExitReason;
}

const nothing = { operation: null, removals: [], error: null, end: 'ok' } as const;

/** The outcome for a cluster to which nothing was sent. */
export const untouched = (name: string, result: 'absent' | 'skipped'): Outcome => ({ name, result, ...nothing });

/** The outcome for what is done at once, without an operation. */
export const done = (name: string, result: Outcome['result']): Outcome => ({ name, result, ...nothing });

export const failed = (name: string, error: string | null, end: ExitReason): Outcome => ({
  ...nothing,
  name,
  result: 'failed',
  error,
  end,
});

/** A change of one cluster that was decided about. */
export interface Step {
  readonly name: string;
  /** What it takes away. */
  readonly removals: readonly Effect[];
  readonly send: () => Promise<{ readonly result: Outcome['result']; readonly operationId: string | null }>;
}

export const changeStep =
  (api: TeamApi) =>
  (change: PlannedChange): Step => ({
    name: change.document.name,
    removals: removalsIn(change),
    send: () =>
      applyCluster(api, change).catch((error: unknown) => {
        throw placed(change.document, error);
      }),
  });

export const deletionStep =
  (api: TeamApi) =>
  ({ cluster, deletion }: PlannedDeletion): Step => ({
    name: cluster.metadata.name,
    removals: deletion.effects,
    send: () => sendDeletion(api, cluster),
  });

interface Waiting {
  readonly wait: boolean;
  /** A moment of `performance.now()`. */
  readonly endsAt: number;
}

/** Sends the changes, a few at a time, and waits for their operations if that is wanted. */
export async function runSteps(
  cli: Cli,
  api: TeamApi,
  steps: readonly Step[],
  { wait, endsAt }: Waiting,
): Promise<Outcome[]> {
  const limit = pLimit(AT_ONCE);
  const progress = startProgress(
    cli.io,
    steps.map(({ name }) => name),
  );
  const run = async ({ name, removals, send }: Step): Promise<Outcome> => {
    let begun: Pick<Outcome, 'operation' | 'removals'> = { operation: null, removals: [] };
    try {
      const { result, operationId } = await limit(send);
      progress.show(name, { percent: 0, text: result });
      const operation = operationId === null ? null : { id: operationId, state: null };
      begun = { operation, removals: result === 'unchanged' ? [] : removals };
      if (operationId === null || !wait) return { name, result, ...begun, error: null, end: 'ok' };
      const ended = await untilEnded(api, operationId, {
        timeoutMs: Math.max(1, endsAt - performance.now()),
        onProgress: (seen) => progress.show(name, stepOf(seen)),
      });
      begun = { ...begun, operation: { id: operationId, state: ended.state } };
      const error = failureOf(ended);
      if (error === null) return { name, result, ...begun, error, end: 'ok' };
      return { ...failed(name, error, ended.state === 'superseded' ? 'conflict' : 'refused'), ...begun };
    } catch (error) {
      const { sentence, reason } = endOf(error, cli.io);
      progress.show(name, { percent: 0, text: 'failed' });
      return { ...failed(name, sentence, reason), ...begun };
    }
  };
  const outcomes = await Promise.all(steps.map(run));
  progress.end();
  return outcomes;
}

const clusterColumn: Columns<Outcome> = { CLUSTER: ({ name }) => name };

/** Prints how it ended for each. @param columns that say what it is @throws CliExit if something failed */
export function report<T extends Outcome>(cli: Cli, outcomes: readonly T[], columns: Columns<T> = clusterColumn): void {
  cli.result(
    outcomes.map(({ end, ...outcome }) => ({ ...outcome, exitCode: exitCodes[end].code })),
    () =>
      renderTable(outcomes, {
        ...columns,
        RESULT: ({ result }) => result,
        OPERATION: ({ operation }) => operation?.id,
        STATE: ({ operation }) => operation?.state,
        REMOVALS: ({ removals }) => removals.map(shortEffect).join('\n'),
      }),
  );
  const wrong = outcomes.filter(({ end }) => end !== 'ok');
  // What is wrong with a document without a name begins with its place, which is its name here.
  for (const { name, error } of wrong)
    cli.alert(`corral: ${error?.startsWith(`${name}: `) ? '' : `${name}: `}${error}`);
  if (wrong.length > 0) throw new CliExit(commonReason(wrong.map(({ end }) => end)));
}
