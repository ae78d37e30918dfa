import { isReady, nodesOf } from '../cluster/nodes.js';
import { type Condition, type ShootSpec, type ShootStatus, type Simulation, workersOf } from './shoot.js';

type Finding = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;
type Health = Pick<ShootStatus, 'conditions' | 'constraints'>;

const NODES = 'EveryNodeReady';
/** What is checked, with the reason of a good result. */
const checks = {
  conditions: {
    APIServerAvailable: 'HealthzRequestSucceeded',
    ControlPlaneHealthy: 'ControlPlaneRunning',
    ObservabilityComponentsHealthy: 'ObservabilityComponentsRunning',
    [NODES]: NODES,
    SystemComponentsHealthy: 'SystemComponentsRunning',
  },
  constraints: {
    HibernationPossible: 'NoProblematicWebhooks',
    MaintenancePreconditionsSatisfied: 'NoProblematicWebhooks',
  },
} as const;

/** @param find what a check finds; `before` is the last finding. The transition time stays while the status does. */
function healthOf(
  status: ShootStatus,
  at: string,
  find: (type: string, reason: string, before: Condition | undefined) => Omit<Finding, 'type'>,
): Health {
  const look = (kind: keyof typeof checks): Condition[] =>
    Object.entries(checks[kind]).map(([type, reason]) => {
      const before = status[kind]?.find((known) => known.type === type);
      const found = find(type, reason, before);
      const lastTransitionTime = before?.status === found.status ? before.lastTransitionTime : at;
      return { ...found, type, lastTransitionTime, lastUpdateTime: at };
    });
  return { conditions: look('conditions'), constraints: look('constraints') };
}

/** The health between a flow and the next check: what was False stays so, everything else is Progressing. @param at RFC 3339 */
export const uncheckedHealth = (status: ShootStatus, at: string): Health =>
  healthOf(status, at, (_type, _reason, before) => {
    if (before?.status === 'False') return before;
    const { reason = 'ConditionInitialized', message = 'The check has not been performed yet.' } = before ?? {};
    return { status: 'Progressing', reason, message };
  });

/** @param at RFC 3339 @param trouble what is not well, unless the Shoot is hibernated */
export const checkedHealth = (status: ShootStatus, at: string, trouble: Finding | null): Health =>
  healthOf(status, at, (type, reason) => {
    if (trouble?.type === type && !status.hibernated) return trouble;
    const notChecked = type in checks.conditions ? 'ConditionNotChecked' : 'ConstraintNotChecked';
    return { status: 'True', reason: status.hibernated ? notChecked : reason, message: 'All is well.' };
  });

const NOT_MANAGED = 'node.machine.sapcloud.io/not-managed-by-mcm';

/** What is not well with the nodes of a Shoot: one is not ready, or there are more than machines. */
export function nodeTroubleOf(spec: ShootSpec, simulation: Simulation): Finding | null {
  const nodes = nodesOf(simulation);
  const pools = workersOf(spec).map(({ name }) => name);
  const ill = nodes.find(
    (node) => !isReady(node) && pools.includes(node.metadata.labels['worker.gardener.cloud/pool'] ?? ''),
  );
  if (ill !== undefined) return trouble('NodeUnhealthy', `Node ${JSON.stringify(ill.metadata.name)} is unhealthy`);
  const managed = nodes.filter(({ metadata }) => metadata.annotations?.[NOT_MANAGED] !== '1').length;
  const desired = simulation.reconciled?.machines.length ?? 0;
  return managed === desired
    ? null
    : trouble('NodesScalingDown', `too many worker nodes are registered (${managed}/${desired})`);
}

const trouble = (reason: string, message: string): Finding => ({ type: NODES, status: 'False', reason, message });

/** Whether the status says already what a check would find. */
export function isReported({ conditions: known, hibernated }: ShootStatus, finding: Finding | null): boolean {
  const reported = known?.find(({ type }) => type === NODES);
  if (reported === undefined || hibernated) return true;
  if (finding === null) return reported.status !== 'False';
  return (
    reported.status === finding.status && reported.reason === finding.reason && reported.message === finding.message
  );
}
