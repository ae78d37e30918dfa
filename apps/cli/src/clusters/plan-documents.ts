import pLimit from 'p-limit';
import type { Cli } from '../cli.js';
import type { BadDocument } from '../documents/documents.js';
import type { ExitReason } from '../exit-codes.js';
import { type End, endOf } from '../output/report-error.js';
import { deletionText, type PlannedDeletion, planDeletion } from './deletions.js';
import type { ClusterDocument } from './documents.js';
import { clusterPlanBody, clusterPlanText } from './plan-text.js';
import { type PlannedChange, placed, planCluster } from './planned-change.js';
import { type Cluster, listClustersOf, type TeamApi } from './team-api.js';

/** What has no plan, and why. */
export interface Unplanned {
  /** The document, or the cluster. */
  readonly source: string;
  /** Null if the document does not say it. */
  readonly name: string | null;
  readonly failure: End;
}
export type Attempt = PlannedChange | PlannedDeletion | Unplanned;

/** The API makes the changes of a team one after the other. */
export const AT_ONCE = 4;

export const isUnplanned = (attempt: Attempt): attempt is Unplanned => 'failure' in attempt;
export const isDeletion = (attempt: Attempt): attempt is PlannedDeletion => 'deletion' in attempt;
export const isChange = (attempt: Attempt): attempt is PlannedChange => 'document' in attempt;

/** Plans every item, also where others are wrong. @throws the reason of an aborted signal */
export function planEach<T>(
  { io }: Cli,
  items: readonly T[],
  nameOf: (item: T) => Pick<Unplanned, 'name' | 'source'>,
  plan: (item: T) => Promise<Attempt>,
): Promise<Attempt[]> {
  const limit = pLimit(AT_ONCE);
  const attempt = (item: T) =>
    plan(item).catch((error: unknown): Unplanned => {
      if (io.signal.aborted) throw error;
      return { ...nameOf(item), failure: endOf(error, io) };
    });
  return Promise.all(items.map((item) => limit(attempt, item)));
}

/** Plans what is declared, and with `isPruning` the deletion of the clusters of the team that no document names. */
export async function planAll(
  cli: Cli,
  api: TeamApi,
  documents: readonly (ClusterDocument | BadDocument)[],
  isPruning: boolean,
): Promise<Attempt[]> {
  const attempts = await planDocuments(cli, api, documents);
  if (!isPruning) return attempts;
  const named = new Set(documents.map((each) => ('problem' in each ? null : each.name)));
  const others = (await listClustersOf(api)).filter(
    ({ metadata, status }) => !named.has(metadata.name) && status.phase !== 'Deleting',
  );
  return [...attempts, ...(await planDeletions(cli, api, others))];
}

const planDocuments = (
  cli: Cli,
  api: TeamApi,
  documents: readonly (ClusterDocument | BadDocument)[],
): Promise<Attempt[]> =>
  planEach(cli, documents, placeOf, async (document) => {
    if ('problem' in document) return unplanned(document);
    return planCluster(api, document).catch((error: unknown) => {
      throw placed(document, error);
    });
  });

const planDeletions = (cli: Cli, api: TeamApi, clusters: readonly Cluster[]): Promise<Attempt[]> =>
  planEach(
    cli,
    clusters,
    ({ metadata: { name } }) => ({ name, source: name }),
    (cluster) => planDeletion(api, cluster),
  );

export const placeOf = (document: ClusterDocument | BadDocument): Pick<Unplanned, 'name' | 'source'> => ({
  source: document.source,
  name: 'problem' in document ? null : document.name,
});

/** A document that declares no cluster. */
export const unplanned = ({ source, problem }: BadDocument): Unplanned => ({
  source,
  name: null,
  failure: { reason: 'usage', sentence: problem },
});

/** Prints the plans as the result. */
export const showPlans = (cli: Cli, attempts: readonly Attempt[]): void =>
  cli.result(attempts.map(attemptBody), () => plansText(cli, attempts));

export const plansText = ({ style }: Cli, attempts: readonly Attempt[]): string =>
  attempts
    .map((each) => {
      if (isUnplanned(each)) return '';
      return isDeletion(each) ? deletionText(each) : clusterPlanText(each, style);
    })
    .join('');

export function attemptBody(attempt: Attempt): object {
  if (isChange(attempt)) return { ...clusterPlanBody(attempt), error: null };
  if (isDeletion(attempt)) {
    const { effects, costDifference } = attempt.deletion;
    const { name } = attempt.cluster.metadata;
    return { name, source: null, exists: true, changes: [], effects, costDifference, error: null };
  }
  const { name, source, failure } = attempt;
  const nothing = { exists: null, changes: [], effects: [], costDifference: null };
  return { name, source, ...nothing, error: failure.sentence };
}

/** Says what is wrong with which document. @returns how the command ends, or null if nothing is wrong */
export function reportUnplanned(cli: Cli, attempts: readonly Attempt[]): ExitReason | null {
  const wrong = attempts.filter(isUnplanned);
  for (const { failure } of wrong) cli.alert(`corral: ${failure.sentence}`);
  return wrong.length === 0 ? null : commonReason(wrong.map(({ failure }) => failure.reason));
}

/** How a command ends of which several parts failed. The output has each of them. */
export function commonReason(reasons: readonly ExitReason[]): ExitReason {
  const [first = 'refused', ...others] = new Set(reasons);
  return others.length === 0 ? first : 'refused';
}
