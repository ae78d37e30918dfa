import { type ClusterSchemas, isCorralError } from '@corral/client';
import { plural } from '../output/plural.js';
import { printable } from '../output/table.js';
import { costLines, recordSetLines } from './plan-text.js';
import { changedMeanwhile } from './planned-change.js';
import { type Cluster, findCluster, type TeamApi } from './team-api.js';

/** What the deletion of a cluster would do. */
export interface PlannedDeletion {
  readonly cluster: Cluster;
  readonly deletion: ClusterSchemas['ClusterDeletionDryRun'];
}

/** @throws CorralError for a cluster that may not be deleted */
export async function planDeletion({ client, team, signal }: TeamApi, cluster: Cluster): Promise<PlannedDeletion> {
  const { name } = cluster.metadata;
  const { body } = await client.deleteCluster({ team, name }, { query: { dryRun: true }, signal });
  return { cluster, deletion: body as PlannedDeletion['deletion'] };
}

/**
 * Deletes the cluster that was seen, and not another one of its name.
 *
 * @throws CliError `conflict` if it was changed, CorralError if the API refuses
 */
export async function sendDeletion(api: TeamApi, { metadata }: Cluster) {
  const { client, team, signal } = api;
  const { name, id, etag } = metadata;
  const gone = { result: 'deleted', operationId: null } as const;
  try {
    const { status, operation } = await client.deleteCluster({ team, name }, { ifMatch: etag, signal });
    return status === 204 ? gone : ({ result: 'deleting', operationId: operation?.id ?? null } as const);
  } catch (error) {
    // The answer to an earlier copy of the request was lost.
    if (isCorralError(error) && error.status === 404) return gone;
    if (!isCorralError(error) || error.status !== 412) throw error;
    const now = await findCluster(api, name);
    if (now === null) return gone;
    const last = now.status.lastOperation;
    if (now.metadata.id !== id || last?.kind !== 'cluster.delete') throw changedMeanwhile(name);
    return { result: 'deleting', operationId: last.id } as const;
  }
}

/** What is lost with a cluster, for people. */
export function deletionText({ cluster, deletion }: PlannedDeletion): string {
  const lines = deletion.deletes.map(({ kind, name, count, note }) =>
    `    ${[count, kind, name].filter((part) => part !== null).join(' ')}. ${note}`.trimEnd(),
  );
  const { costDifference, resource } = deletion;
  const cost = costLines(costDifference.monthly, resource.status.cost.currency).map((line) => `    ${line}`);
  const names = recordSetLines(deletion.recordSets).map((line) => `    ${line}`);
  return `${[`- cluster ${cluster.metadata.name}`, ...lines.map(printable), ...names, ...cost].join('\n')}\n`;
}

const NAMES_SHOWN = 5;

export const nameOfDeleted = ({ cluster }: PlannedDeletion): string => cluster.metadata.name;

/** Says how many things are deleted, and which. @param noun what one of them is */
export function deletedText(names: readonly string[], noun: string, which = ''): string {
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : '';
  return `This deletes ${plural(names.length, noun)}${which}: ${names.slice(0, NAMES_SHOWN).join(', ')}${more}.`;
}
