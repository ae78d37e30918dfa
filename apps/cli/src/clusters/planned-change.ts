import { isDeepStrictEqual } from 'node:util';
import { CorralError, isCorralError } from '@corral/client';
import { CliError } from '../exit-codes.js';
import type { ClusterDocument } from './documents.js';
import { differenceText, type Effect } from './effect-text.js';
import { resolvedSpec } from './resolve.js';
import { type Cluster, type ClusterPlan, findCluster, type TeamApi } from './team-api.js';

/** What a declaration would do, and to what. */
export interface PlannedChange {
  /** The document with everything resolved. */
  readonly document: ClusterDocument;
  /** The cluster that was planned for; null for a new one. */
  readonly current: Cluster | null;
  readonly plan: ClusterPlan;
}

export interface AppliedChange {
  readonly result: 'created' | 'changed' | 'unchanged';
  /** Null if nothing is under way. */
  readonly operationId: string | null;
}

const FIELDS_SHOWN = 5;
/** How often a cluster may be changed by others while it is planned for. */
const READS_MAX = 3;

/** Asks the API what the declaration would do. @throws CorralError for a declaration that it refuses */
export async function planCluster(api: TeamApi, declared: ClusterDocument): Promise<PlannedChange> {
  const { name, source } = declared;
  for (let reads = 1; ; reads += 1) {
    const current = await findCluster(api, name);
    const document = { name, source, spec: resolvedSpec(declared, current?.spec ?? null) };
    try {
      const answer = await put(api, document, current, { dryRun: true });
      return { document, current, plan: answer.body as ClusterPlan };
    } catch (error) {
      if (!isCorralError(error) || error.status !== 412) throw error;
      if (reads === READS_MAX) throw changedMeanwhile(name);
    }
  }
}

/**
 * Applies what was planned, if nobody changed the cluster since. After an answer that was lost, the change may have been made
 * already: the cluster shows it.
 *
 * @throws CliError `conflict` if somebody else changed the cluster, CorralError if the API refuses
 */
export async function applyCluster(api: TeamApi, planned: PlannedChange): Promise<AppliedChange> {
  const { document, current, plan } = planned;
  try {
    const { status, operation } = await put(api, document, current, {});
    const operationId = operation?.id ?? null;
    if (status !== 202) return { result: 'unchanged', operationId };
    return { result: current === null ? 'created' : 'changed', operationId };
  } catch (error) {
    if (!isCorralError(error) || !(error.status === 412 || error.isUnknownOutcome)) throw error;
    const found = await findCluster(api, document.name);
    const isOurs = found !== null && isDeepStrictEqual(found.spec, plan.resource.spec);
    if (isOurs && found.metadata.generation !== current?.metadata.generation) {
      return { result: current === null ? 'created' : 'changed', operationId: found.status.lastOperation?.id ?? null };
    }
    if (error.status === 412) throw changedMeanwhile(document.name, await differenceSince(api, planned));
    throw error;
  }
}

function put(
  { client, team, signal }: TeamApi,
  { name, spec }: ClusterDocument,
  current: Cluster | null,
  query: { dryRun?: true },
) {
  return client.putCluster(
    { team, name },
    {
      // The API says what is wrong with it.
      body: { spec } as unknown as Parameters<typeof client.putCluster>[1]['body'],
      query,
      signal,
      ...(current === null ? { ifNoneMatch: '*' } : { ifMatch: current.metadata.etag }),
    },
  );
}

export const changedMeanwhile = (name: string, how = ''): CliError =>
  new CliError('conflict', `Cluster ${name} has changed since the plan${how}. Run the command again for a new plan.`);

/** The fields that others changed since the plan, as they are now and as they are wanted. */
async function differenceSince(api: TeamApi, { document, current, plan }: PlannedChange): Promise<string> {
  const now = await planCluster(api, document).catch(() => null);
  if (now === null) return '';
  if (now.current === null) return ': it was deleted';
  if (current === null) return ': it was created';
  const news = now.plan.changes.filter((change) => !plan.changes.some((known) => isDeepStrictEqual(known, change)));
  return news.length === 0 ? '' : `: ${news.slice(0, FIELDS_SHOWN).map(differenceText).join('; ')}`;
}

/** Whether applying it does anything that the plan shows. */
export const hasEffects = ({ current, plan }: PlannedChange): boolean =>
  current === null || plan.changes.length > 0 || plan.effects.length > 0;

/**
 * What the change takes away from a running cluster: node pools, nodes that are replaced or deleted, and adopted servers, which
 * are wiped or released. A range of managed nodes that becomes smaller is not meant: the autoscaler does that every day.
 */
export function removalsIn({ current, plan }: Pick<PlannedChange, 'current' | 'plan'>): Effect[] {
  return plan.effects.filter((effect) => {
    // Nobody knows which nodes that replaces.
    if (effect.target === 'cluster') return effect.kind === 'deleted' || effect.kind === 'repaired';
    const { before, after } = effect.nodes;
    if (before === null || before.maximum === 0) return false;
    if (effect.kind !== 'scaled') return effect.kind === 'removed' || effect.kind === 'replaced';
    const isManaged = current?.spec.nodePools.find(({ name }) => name === effect.pool)?.source === 'managed';
    return after !== null && after.maximum < (isManaged ? 1 : before.maximum);
  });
}

/** A refusal with the place of the document that it is about. A rejected token or too many requests are about none. */
export const placed = ({ source }: Pick<ClusterDocument, 'source'>, error: unknown): unknown =>
  isCorralError(error) && error.status >= 400 && error.status < 500 && error.status !== 401 && error.status !== 429
    ? new CorralError({ ...error, detail: `${source}: ${error.detail}` })
    : error;
