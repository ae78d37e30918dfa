import { type ClusterSchemas, isCorralError } from '@corral/client';
import type { Cli } from '../cli.js';
import { confirmName } from '../output/ask.js';
import { printable } from '../output/table.js';
import { endOperation, type LifecycleOptions } from './end-operation.js';
import { changedMeanwhile } from './planned-change.js';
import { connectTeam, findCluster, getCluster } from './team-api.js';

type DeletionPlan = ClusterSchemas['ClusterDeletionDryRun'];

interface DeleteOptions extends LifecycleOptions {
  readonly yes?: boolean;
  readonly ignoreNotFound?: boolean;
}

export async function deleteCluster(cli: Cli, name: string, options: DeleteOptions): Promise<void> {
  const api = await connectTeam(cli);
  const { client, team, signal } = api;
  const found = options.ignoreNotFound ? await findCluster(api, name) : await getCluster(api, name);
  if (found === null) {
    cli.result({ name, result: 'absent', operation: null }, `${name} does not exist\n`);
    return;
  }
  if (options.dryRun || !options.yes) {
    const plan = (await client.deleteCluster({ team, name }, { query: { dryRun: true }, signal })).body as DeletionPlan;
    if (options.dryRun) {
      cli.result(plan, () => deletionText(name, plan));
      return;
    }
    cli.note(deletionText(name, plan).trimEnd());
    await confirmName(cli.io, `This cannot be undone.`, name, false);
  }
  // The cluster that was seen, and not another one of its name.
  const ifMatch = found.metadata.etag;
  const answer = await client.deleteCluster({ team, name }, { ifMatch, signal }).catch(async (error: unknown) => {
    // The answer to an earlier copy of the request was lost.
    if (isCorralError(error) && error.status === 404) return { status: 204, operation: null } as const;
    if (!isCorralError(error) || error.status !== 412) throw error;
    const now = await findCluster(api, name);
    if (now === null) return { status: 204, operation: null } as const;
    if (now.metadata.id !== found.metadata.id || now.status.lastOperation?.kind !== 'cluster.delete')
      throw changedMeanwhile(name);
    return { status: 202, operation: { team, id: now.status.lastOperation.id } } as const;
  });
  await endOperation(cli, api, {
    name,
    result: answer.status === 204 ? 'deleted' : 'deleting',
    operationId: answer.operation?.id ?? null,
    options,
  });
}

function deletionText(name: string, { deletes, costDifference }: DeletionPlan): string {
  const lines = deletes.map(({ kind, name: what, count, note }) =>
    `    ${[count, kind, what].filter((part) => part !== null).join(' ')}. ${note}`.trimEnd(),
  );
  const { minimum, maximum } = costDifference.monthly;
  const cost = minimum === null || maximum === null ? [] : [`    cost per month: ${minimum} to ${maximum}`];
  return `${[`- cluster ${name}`, ...lines.map(printable), ...cost].join('\n')}\n`;
}
