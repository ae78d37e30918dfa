import type { Cli } from '../cli.js';
import { endOperation, type LifecycleOptions } from './end-operation.js';
import { clusterPlanBody, clusterPlanText } from './plan-text.js';
import { applyCluster, hasEffects, planCluster } from './planned-change.js';
import { connectTeam, getCluster } from './team-api.js';

/** Protects a cluster from deletion, or lifts the protection. Everything else of it stays. */
export async function setProtected(
  cli: Cli,
  name: string,
  deletionProtection: boolean,
  options: LifecycleOptions,
): Promise<void> {
  const api = await connectTeam(cli);
  const { kubernetesVersion } = (await getCluster(api, name)).spec;
  const planned = await planCluster(api, { name, spec: { kubernetesVersion, deletionProtection }, source: name });
  if (options.dryRun) {
    cli.result(clusterPlanBody(planned), () => clusterPlanText(planned, cli.style));
    return;
  }
  const isChanged = hasEffects(planned);
  const operationId = isChanged ? (await applyCluster(api, planned)).operationId : null;
  const result = deletionProtection ? 'protected' : 'unprotected';
  await endOperation(cli, api, { name, result: isChanged ? result : 'unchanged', operationId, options });
}
