import { isDeepStrictEqual } from 'node:util';
import { CorralError, isCorralError } from '@corral/client';
import { CliError } from '../exit-codes.js';
import type { ClusterDocument } from './documents.js';
import { type Cluster, type ClusterPlan, findCluster, type TeamApi } from './team-api.js';

/** What a declaration would do, and to what. */
export interface PlannedChange {
  readonly document: ClusterDocument;
  /** As it was planned for; null for a new cluster. */
  readonly current: Cluster | null;
  readonly plan: ClusterPlan;
}

export interface AppliedChange {
  readonly result: 'created' | 'changed' | 'unchanged';
  /** Null if nothing is under way. */
  readonly operationId: string | null;
}

/** Asks the API what the declaration would do. @throws CorralError for a declaration that it refuses */
export async function planCluster(api: TeamApi, document: ClusterDocument): Promise<PlannedChange> {
  const current = await findCluster(api, document.name);
  const answer = await put(api, document, current, { dryRun: true });
  return { document, current, plan: answer.body as ClusterPlan };
}

/**
 * Applies what was planned, if nobody changed the cluster since. After an answer that was lost, the change may have been made
 * already: the cluster shows it.
 *
 * @throws CliError `conflict` if somebody else changed the cluster, CorralError if the API refuses
 */
export async function applyCluster(api: TeamApi, { document, current, plan }: PlannedChange): Promise<AppliedChange> {
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
    if (error.status === 412) throw conflict(document);
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

const conflict = ({ name }: ClusterDocument): CliError =>
  new CliError('conflict', `Somebody changed cluster ${name} since the plan. Run the command again for a new plan.`);

/** Whether applying it does anything that the plan shows. */
export const hasEffects = ({ current, plan }: PlannedChange): boolean =>
  current === null || plan.changes.length > 0 || plan.effects.length > 0;

/** A refusal with the place of the document that it is about. */
export const placed = ({ source }: ClusterDocument, error: unknown): unknown =>
  isCorralError(error) && error.status === 422
    ? new CorralError({ ...error, detail: `${source}: ${error.detail}` })
    : error;
