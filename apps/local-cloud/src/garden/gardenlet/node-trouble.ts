import { isReady, type Node, nodesOf, readyConditionOf } from '../cluster/nodes.js';
import { type Shoot, type ShootSpec, workersOf } from '../kinds/shoot/shoot.js';
import type { Finding } from './conditions.js';
import type { Simulation } from './simulation.js';

const TYPE = 'EveryNodeReady';
const NOT_MANAGED = 'node.machine.sapcloud.io/not-managed-by-mcm';

/**
 * What is wrong with the nodes of a Shoot (`pkg/gardenlet/controller/shoot/care/health.go`); null when nothing is. Nodes that
 * are said to be nobody's machines do not count as too many, but have to be ready as well.
 */
export function nodeTroubleOf(spec: ShootSpec, simulation: Simulation): Finding | null {
  const nodes = nodesOf(simulation);
  const inPool = (pool: string): Node[] =>
    nodes.filter(({ metadata }) => metadata.labels['worker.gardener.cloud/pool'] === pool);
  for (const { name } of workersOf(spec)) {
    const ill = inPool(name).find((node) => !isReady(node));
    if (ill !== undefined) return trouble('NodeUnhealthy', illness(ill, name));
  }
  const managed = nodes.filter(({ metadata }) => metadata.annotations?.[NOT_MANAGED] !== '1');
  const desired = simulation.reconciled?.machines.length ?? 0;
  return managed.length === desired ? null : trouble('NodesScalingDown', surplusOf(managed, simulation, desired));
}

/** Whether the Shoot's status says so already. */
export function isKnown({ status }: Shoot, finding: Finding | null): boolean {
  const known = status.conditions?.find(({ type }) => type === TYPE);
  if (known === undefined || status.hibernated) return true;
  if (finding === null) return known.status !== 'False';
  return known.status === finding.status && known.reason === finding.reason && known.message === finding.message;
}

const trouble = (reason: string, message: string): Finding => ({ type: TYPE, status: 'False', reason, message });

function illness(node: Node, pool: string): string {
  const { status, reason, message } = readyConditionOf(node) ?? { status: 'Unknown', reason: '', message: '' };
  const found = `condition "Ready" has invalid status ${status} (expected True) due to ${reason}: ${message}`;
  return `Node ${JSON.stringify(node.metadata.name)} in worker group ${JSON.stringify(pool)} is unhealthy: ${found}`;
}

function surplusOf(managed: readonly Node[], { reconciled }: Simulation, desired: number): string {
  const cordoned = managed.find(({ spec }) => spec.unschedulable === true)?.metadata.name;
  if (cordoned === undefined) {
    return `too many worker nodes are registered. Exceeding maximum desired machine count (${managed.length}/${desired})`;
  }
  const hasMachine = reconciled?.machines.some(({ name }) => name === cordoned) === true;
  return hasMachine
    ? `cordoned node ${JSON.stringify(cordoned)} found but corresponding machine object does not have a deletion timestamp`
    : `machine object for cordoned node ${JSON.stringify(cordoned)} not found`;
}
