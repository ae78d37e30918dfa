import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { apiVersion, isClusterName, isObject } from '@corral/contracts';
import type { Cli } from '../cli.js';
import { CliError, usageError } from '../exit-codes.js';
import { saveFile } from '../settings/save-file.js';
import { type PlannedDeletion, planDeletion } from './deletions.js';
import { type Attempt, isChange, isDeletion, planEach } from './plan-documents.js';
import { type PlannedChange, planCluster } from './planned-change.js';
import { findCluster, type TeamApi } from './team-api.js';

const KIND = 'ClusterPlan';

/** A change that was planned for a cluster as it was then. */
interface SavedChange {
  readonly name: string;
  /** The place where it was declared. */
  readonly source: string;
  /** Null for a deletion. */
  readonly spec: Readonly<Record<string, unknown>> | null;
  /** What the change was planned for and what it does, which must be the same when it is applied. */
  readonly reviewed: unknown;
}

/** Writes a plan that `apply` takes. It contains no secrets. */
export async function savePlan(path: string, { url, team }: TeamApi, attempts: readonly Attempt[]): Promise<void> {
  const clusters = attempts.flatMap((attempt): SavedChange[] => {
    if (isChange(attempt)) {
      const { name, source, spec } = attempt.document;
      return [{ name, source, spec, reviewed: reviewedOf(attempt) }];
    }
    if (!isDeletion(attempt)) return [];
    const { name } = attempt.cluster.metadata;
    return [{ name, source: name, spec: null, reviewed: reviewedOf(attempt) }];
  });
  await saveFile(path, `${JSON.stringify({ apiVersion, kind: KIND, url, team, clusters }, null, 2)}\n`);
}

/**
 * Plans what a saved plan declares once more. What would not do the same to the same cluster has no plan: the entity tag of a cluster also
 * moves with its status, so its id and its generation are compared, and everything that the plan showed.
 *
 * @throws CliError for a file that is no plan for this team at this address
 */
export async function planAgain(cli: Cli, api: TeamApi, path: string): Promise<Attempt[]> {
  const saved = await readPlan(path, api);
  const nameOf = ({ name, source }: SavedChange) => ({ name, source });
  return planEach(cli, saved, nameOf, async ({ name, source, spec, reviewed }) => {
    const planned = spec === null ? await planAnyDeletion(api, name) : await planCluster(api, { name, source, spec });
    if (planned !== null && isDeepStrictEqual(reviewedOf(planned), reviewed)) return planned;
    throw new CliError(
      'conflict',
      `Cluster ${name}, or what the change does to it, is not as it was when the plan was made. Make a new plan.`,
    );
  });
}

/** @returns null if the cluster is gone */
async function planAnyDeletion(api: TeamApi, name: string): Promise<PlannedDeletion | null> {
  const cluster = await findCluster(api, name);
  return cluster && planDeletion(api, cluster);
}

function reviewedOf(planned: PlannedChange | PlannedDeletion) {
  const [current, plan] = isDeletion(planned)
    ? [planned.cluster, { ...planned.deletion, changes: [] }]
    : [planned.current, planned.plan];
  const { changes, effects, costDifference } = plan;
  const { id = null, generation = null } = current?.metadata ?? {};
  return { id, generation, changes, effects, costDifference };
}

async function readPlan(path: string, { url, team }: TeamApi): Promise<SavedChange[]> {
  const text = await readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw usageError(`${path} cannot be read: ${code}.`);
  });
  const plan = parsed(text);
  if (plan === null) throw usageError(`${path} is no plan. \`corral clusters plan\` makes one.`);
  if (plan.url !== url || plan.team !== team)
    throw usageError(
      `${path} is a plan for ${String(plan.team)} at ${String(plan.url)}, and you act for ${team} at ${url}.`,
    );
  return plan.clusters;
}

interface SavedPlan {
  readonly url: unknown;
  readonly team: unknown;
  readonly clusters: SavedChange[];
}

function parsed(text: string): SavedPlan | null {
  try {
    const plan: unknown = JSON.parse(text);
    if (!isObject(plan) || plan.apiVersion !== apiVersion || plan.kind !== KIND) return null;
    const { url, team, clusters } = plan;
    return Array.isArray(clusters) && clusters.every(isChangeOf) ? { url, team, clusters } : null;
  } catch {
    return null;
  }
}

const isChangeOf = (value: unknown): value is SavedChange =>
  isObject(value) &&
  typeof value.name === 'string' &&
  isClusterName(value.name) &&
  typeof value.source === 'string' &&
  (value.spec === null || isObject(value.spec));
