import type { Held } from '../../kube/store.js';
import { isMachine, isReady, POOL } from '../nodes.js';
import type { Node } from '../objects.js';
import { type Condition, type Shoot, type ShootStatus, workersOf } from './shoot.js';

type Finding = Pick<Condition, 'status' | 'reason' | 'message'>;
type Health = Pick<ShootStatus, 'conditions' | 'constraints'>;

const NODES = 'EveryNodeReady';
/** What is checked. */
const checks = {
  conditions: [
    'APIServerAvailable',
    'ControlPlaneHealthy',
    'ObservabilityComponentsHealthy',
    NODES,
    'SystemComponentsHealthy',
  ],
  constraints: ['HibernationPossible', 'MaintenancePreconditionsSatisfied'],
} as const;

const healthOf = (find: (type: string) => Finding): Health => ({
  conditions: checks.conditions.map((type) => ({ type, ...find(type) })),
  constraints: checks.constraints.map((type) => ({ type, ...find(type) })),
});

/** The health between a flow and the next check: what was False stays so, everything else is Progressing. */
export const uncheckedHealth = ({ conditions = [], constraints = [] }: ShootStatus): Health =>
  healthOf((type) => {
    const before = [...conditions, ...constraints].find((known) => known.type === type);
    if (before?.status === 'False') return before;
    const message = 'The check has not been performed yet.';
    return { status: 'Progressing', reason: 'ConditionInitialized', message };
  });

export function checkedHealth({ spec, status: { hibernated } }: Shoot, nodes: readonly Held<Node>[]): Health {
  const reason = hibernated ? 'ConditionNotChecked' : 'AllIsWell';
  const well: Finding = { status: 'True', reason, message: 'All is well.' };
  const trouble = hibernated ? null : nodeTroubleOf(spec, nodes);
  return healthOf((type) => (type === NODES && trouble !== null ? trouble : well));
}

/** What is not well with the nodes of a Shoot: one is not ready, or there are more than machines. */
function nodeTroubleOf(spec: Shoot['spec'], nodes: readonly Held<Node>[]): Finding | null {
  const pools = workersOf(spec).map(({ name }) => name);
  const ill = nodes.find((node) => !isReady(node) && pools.includes(node.labels[POOL] ?? ''));
  if (ill !== undefined) {
    const message = `Node ${JSON.stringify(ill.name)} is unhealthy`;
    return { status: 'False', reason: 'NodeUnhealthy', message };
  }
  const isManaged = ({ object: { metadata } }: Held<Node>): boolean =>
    metadata.annotations?.['node.machine.sapcloud.io/not-managed-by-mcm'] !== '1';
  const managed = nodes.filter(isManaged).length;
  const desired = nodes.filter(isMachine).length;
  if (managed === desired) return null;
  const message = `too many worker nodes are registered (${managed}/${desired})`;
  return { status: 'False', reason: 'NodesScalingDown', message };
}

/** Whether the status does not say yet what a check would find. */
export function isCheckDue({ spec, status }: Shoot, nodes: readonly Held<Node>[]): boolean {
  if (status.conditions?.some((condition) => condition.status === 'Progressing')) return true;
  const reported = status.conditions?.find(({ type }) => type === NODES);
  if (reported === undefined || status.hibernated) return false;
  const found = nodeTroubleOf(spec, nodes);
  return found === null ? reported.status === 'False' : found.message !== reported.message;
}
