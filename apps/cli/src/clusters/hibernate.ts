import type { Cli } from '../cli.js';
import { endOperation, type LifecycleOptions } from './end-operation.js';
import { clusterPlanBody, clusterPlanText } from './plan-text.js';
import { planCluster } from './planned-change.js';
import { connectTeam, getCluster } from './team-api.js';

export async function setHibernated(
  cli: Cli,
  name: string,
  hibernated: boolean,
  options: LifecycleOptions,
): Promise<void> {
  const api = await connectTeam(cli);
  const { client, team, signal } = api;
  if (options.dryRun) {
    const { spec } = await getCluster(api, name);
    const planned = await planCluster(api, { name, spec: { ...spec, hibernated }, source: name });
    cli.result(clusterPlanBody(planned), () => clusterPlanText(planned, cli.style));
    return;
  }
  const send = hibernated ? client.hibernateCluster : client.resumeCluster;
  const { status, operation } = await send({ team, name }, { signal });
  const done = hibernated ? 'hibernating' : 'resuming';
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
