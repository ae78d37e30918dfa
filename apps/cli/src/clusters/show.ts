import { isCorralError } from '@corral/client';
import { type ClusterPhase, scheduleText } from '@corral/contracts';
import type { Cli } from '../cli.js';
import { showList } from '../output/show-list.js';
import { renderFacts, renderTable } from '../output/table.js';
import { savedText } from '../usage/usage-command.js';
import { rangeText } from './plan-text.js';
import { type Cluster, connectTeam, getCluster, listClustersOf, type TeamApi } from './team-api.js';

interface ListOptions {
  readonly phase?: ClusterPhase[];
  readonly connection?: string;
}

export async function listClusters(cli: Cli, { phase, connection }: ListOptions): Promise<void> {
  const clusters = await listClustersOf(await connectTeam(cli), { phase, connection });
  showList(cli, clusters, 'clusters', {
    NAME: ({ metadata }) => metadata.name,
    PHASE: ({ status }) => status.phase,
    VERSION: ({ spec, status }) => status.kubernetes?.version ?? spec.kubernetesVersion,
    REGION: ({ spec }) => spec.region,
    NODES: nodesOf,
    CREATED: ({ metadata }) => metadata.createdAt,
  });
}

export async function showCluster(cli: Cli, name: string): Promise<void> {
  const api = await connectTeam(cli);
  const cluster = await getCluster(api, name);
  const saved = cli.options.output === 'table' ? await savedBySleep(api, name) : null;
  cli.result(cluster, () => clusterText(cluster, saved));
}

/** Null also for a service account of some clusters, which has no access to the usage of the team. */
async function savedBySleep({ client, team, signal }: TeamApi, name: string): Promise<string | null> {
  const query = { step: 'day' as const, from: new Date().toISOString() };
  const usage = await client.getUsage({ team }, { query, signal }).catch((error: unknown) => {
    if (isCorralError(error)) return null;
    throw error;
  });
  const saved = usage?.body.savedBySleep.find(({ cluster }) => cluster === name);
  return saved === undefined ? null : savedText(saved);
}

function clusterText(cluster: Cluster, saved: string | null): string {
  const { metadata, spec, status } = cluster;
  const { lastOperation, cost, apiServer } = status;
  const { minimum, maximum } = cost.monthly;
  const facts = renderFacts([
    ['Name', metadata.name],
    ['Phase', status.phase],
    ['Version', status.kubernetes?.version ?? spec.kubernetesVersion],
    ['Region', spec.region],
    ['Connection', spec.connectionRef],
    ['Nodes', nodesOf(cluster)],
    ['Schedule', spec.hibernationSchedule === undefined ? null : scheduleText(spec.hibernationSchedule)],
    ['Deletion', spec.deletionProtection ? 'protected' : null],
    ['API server', apiServer?.url],
    ['Cost', minimum === null || maximum === null ? null : `${minimum} to ${maximum} ${cost.currency ?? ''} per month`],
    ['Saved', saved === null ? null : `${saved}, by its sleep`],
    ['Operation', lastOperation === null ? null : `${lastOperation.kind} ${lastOperation.state} ${lastOperation.id}`],
    ['Error', lastOperation !== null && 'message' in lastOperation.error ? lastOperation.error.message : null],
    ['Created', metadata.createdAt],
  ]);
  const pools = renderTable(spec.nodePools, {
    'NODE POOL': ({ name }) => name,
    MACHINE: ({ machineType }) => machineType,
    NODES: (pool) => rangeText(pool),
    READY: ({ name }) => {
      const nodes = status.nodePools.find((pool) => pool.name === name)?.nodes;
      return nodes ? `${nodes.ready} of ${nodes.total}` : null;
    },
  });
  const conditions = renderTable(status.conditions, {
    CONDITION: ({ type }) => type,
    STATUS: ({ status: value }) => value,
    REASON: ({ reason }) => reason,
    MESSAGE: ({ message }) => message,
  });
  return [
    facts,
    ...(spec.nodePools.length > 0 ? [pools] : []),
    ...(status.conditions.length > 0 ? [conditions] : []),
  ].join('\n');
}

/** Ready nodes, or those that are declared while none are counted. */
function nodesOf({ spec, status }: Cluster): string {
  const counted = status.nodePools.flatMap(({ nodes }) => (nodes === null ? [] : [nodes]));
  if (counted.length > 0) {
    const sum = (of: (nodes: { ready: number; total: number }) => number) =>
      counted.reduce((all, each) => all + of(each), 0);
    return `${sum(({ ready }) => ready)} of ${sum(({ total }) => total)} ready`;
  }
  const declared = (of: 'minimum' | 'maximum') => spec.nodePools.reduce((all, pool) => all + pool[of], 0);
  return `${rangeText({ minimum: declared('minimum'), maximum: declared('maximum') })} declared`;
}
