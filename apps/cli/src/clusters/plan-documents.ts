import pLimit from 'p-limit';
import type { Cli } from '../cli.js';
import type { ExitReason } from '../exit-codes.js';
import { type End, endOf } from '../output/report-error.js';
import type { BadDocument, ClusterDocument } from './documents.js';
import { clusterPlanBody, clusterPlanText } from './plan-text.js';
import { type PlannedChange, placed, planCluster } from './planned-change.js';
import type { TeamApi } from './team-api.js';

/** A document without a plan, and why. */
export interface Unplanned {
  readonly source: string;
  /** Null if the document does not say it. */
  readonly name: string | null;
  readonly failure: End;
}
export type Attempt = PlannedChange | Unplanned;

/** The API makes the changes of a team one after the other. */
export const AT_ONCE = 4;

export const isUnplanned = (attempt: Attempt): attempt is Unplanned => 'failure' in attempt;

/** Plans every document, also where others are wrong. @throws the reason of an aborted signal */
export function planDocuments(
  { io }: Cli,
  api: TeamApi,
  documents: readonly (ClusterDocument | BadDocument)[],
): Promise<Attempt[]> {
  const limit = pLimit(AT_ONCE);
  return Promise.all(
    documents.map((document) =>
      limit(async (): Promise<Attempt> => {
        const { source } = document;
        if ('problem' in document) {
          return { source, name: null, failure: { reason: 'usage', sentence: document.problem } };
        }
        return planCluster(api, document).catch((error: unknown) => {
          if (io.signal.aborted) throw error;
          return { source, name: document.name, failure: endOf(placed(document, error), io) };
        });
      }),
    ),
  );
}

/** Prints the plans as the result. */
export const showPlans = (cli: Cli, attempts: readonly Attempt[]): void =>
  cli.result(attempts.map(attemptBody), () => plansText(cli, attempts));

export const plansText = ({ style }: Cli, attempts: readonly Attempt[]): string =>
  attempts.map((each) => (isUnplanned(each) ? '' : clusterPlanText(each, style))).join('');

function attemptBody(attempt: Attempt): object {
  if (!isUnplanned(attempt)) return { ...clusterPlanBody(attempt), error: null };
  const { name, source, failure } = attempt;
  const nothing = { exists: null, changes: [], effects: [], costDifference: null };
  return { name, source, ...nothing, error: failure.sentence };
}

/** Says what is wrong with which document. @returns how the command ends, or null if nothing is wrong */
export function reportUnplanned(cli: Cli, attempts: readonly Attempt[]): ExitReason | null {
  const wrong = attempts.filter(isUnplanned);
  for (const { failure } of wrong) cli.note(`corral: ${failure.sentence}`);
  return wrong.length === 0 ? null : commonReason(wrong.map(({ failure }) => failure.reason));
}

/** How a command ends of which several parts failed. The output has each of them. */
export function commonReason(reasons: readonly ExitReason[]): ExitReason {
  const [first = 'refused', ...others] = new Set(reasons);
  return others.length === 0 ? first : 'refused';
}
