import type { Cli } from '../cli.js';
import { declarePart } from './declare-part.js';
import { endOperation, type LifecycleOptions } from './end-operation.js';
import { connectTeam } from './team-api.js';

export async function setHibernated(
  cli: Cli,
  name: string,
  hibernated: boolean,
  options: LifecycleOptions,
): Promise<void> {
  const done = hibernated ? 'hibernating' : 'resuming';
  if (options.dryRun) return declarePart(cli, name, { declared: () => ({ hibernated }), done }, options);
  const api = await connectTeam(cli);
  const { client, team, signal } = api;
  const send = hibernated ? client.hibernateCluster : client.resumeCluster;
  const { status, operation } = await send({ team, name }, { signal });
  await endOperation(cli, api, {
    name,
    result: status === 202 ? done : 'unchanged',
    operationId: operation?.id ?? null,
    options,
  });
}

export async function retryCluster(cli: Cli, name: string, options: LifecycleOptions): Promise<void> {
  const api = await connectTeam(cli);
  const { client, team, signal } = api;
  const { operation } = await client.retryCluster({ team, name }, { signal });
  await endOperation(cli, api, {
    name,
    result: operation === null ? 'unchanged' : 'retrying',
    operationId: operation?.id ?? null,
    options,
  });
}
