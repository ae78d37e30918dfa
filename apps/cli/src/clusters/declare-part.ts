import type { Cli } from '../cli.js';
import { endOperation, type LifecycleOptions } from './end-operation.js';
import { clusterPlanBody, clusterPlanText } from './plan-text.js';
import { applyCluster, hasEffects, type PlannedChange, planCluster } from './planned-change.js';
import { type Cluster, connectTeam, getCluster } from './team-api.js';

interface Part {
  /** What is declared, by what the cluster declares now. The rest stays. */
  readonly declared: (spec: Cluster['spec']) => object;
  /** One word. */
  readonly done: string;
  /** Asks before the change is made. @throws CliError, CliExit */
  readonly permit?: (planned: PlannedChange) => Promise<void>;
}

/** Changes a part of what one cluster declares, or shows what that would do. */
export async function declarePart(cli: Cli, name: string, part: Part, options: LifecycleOptions): Promise<void> {
  const api = await connectTeam(cli);
  const { spec } = await getCluster(api, name);
  const wanted = { kubernetesVersion: spec.kubernetesVersion, ...part.declared(spec) };
  const planned = await planCluster(api, { name, spec: wanted, source: name });
  if (options.dryRun) return cli.result(clusterPlanBody(planned), () => clusterPlanText(planned, cli.style));
  const isChanged = hasEffects(planned);
  if (isChanged) await part.permit?.(planned);
  const operationId = isChanged ? (await applyCluster(api, planned)).operationId : null;
  await endOperation(cli, api, { name, result: isChanged ? part.done : 'unchanged', operationId, options });
}

/** Protects a cluster from deletion, or lifts the protection. */
export const setProtected = (cli: Cli, name: string, deletionProtection: boolean, options: LifecycleOptions) =>
  declarePart(
    cli,
    name,
    { declared: () => ({ deletionProtection }), done: deletionProtection ? 'protected' : 'unprotected' },
    options,
  );
