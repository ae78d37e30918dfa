import { isReady, nodesOf } from '../cluster/nodes.js';
import type { Simulation } from './shoot.js';
import { type Condition, type ShootSpec, type ShootStatus, workersOf } from './shoot.js';

type Finding = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;
type Health = Pick<ShootStatus, 'conditions' | 'constraints'>;

const NODES = 'EveryNodeReady';
const conditions: readonly (readonly [type: string, reason: string])[] = [
  ['APIServerAvailable', 'HealthzRequestSucceeded'],
  ['ControlPlaneHealthy', 'ControlPlaneRunning'],
  ['ObservabilityComponentsHealthy', 'ObservabilityComponentsRunning'],
  [NODES, NODES],
  ['SystemComponentsHealthy', 'SystemComponentsRunning'],
];
const constraints: typeof conditions = [
  ['HibernationPossible', 'NoProblematicWebhooks'],
  ['MaintenancePreconditionsSatisfied', 'NoProblematicWebhooks'],
];

/** The transition time stays while the status does. */
function updated(known: readonly Condition[] = [], next: Finding, at: string): Condition {
  const before = known.find(({ type }) => type === next.type);
  const lastTransitionTime = before?.status === next.status ? before.lastTransitionTime : at;
  return { ...next, lastTransitionTime, lastUpdateTime: at };
}

/** After a flow, until the next check: what was False stays so, everything else is Progressing. @param at RFC 3339 */
export function uncheckedHealth(status: ShootStatus, at: string): Health {
  const wait = (types: typeof conditions, known: readonly Condition[] = []): Condition[] =>
    types.map(([type]) => {
      const before = known.find((condition) => condition.type === type);
      if (before?.status === 'False') return before;
      const { reason = 'ConditionInitialized', message = 'The check has not been performed yet.' } = before ?? {};
      return updated(known, { type, status: 'Progressing', reason, message }, at);
    });
  return {
    conditions: wait(conditions, status.conditions),
    constraints: wait(constraints, status.constraints),
  };
}

/** @param at RFC 3339 @param trouble what is not well, unless the Shoot is hibernated */
export function checkedHealth(status: ShootStatus, at: string, trouble: Finding | null): Health {
  const check = (types: typeof conditions, known: readonly Condition[] | undefined, notChecked: string): Condition[] =>
    types.map(([type, reason]) => {
      const well: Finding = {
        type,
        status: 'True',
        reason: status.hibernated ? notChecked : reason,
        message: 'All is well.',
      };
      return updated(known, trouble?.type === type && !status.hibernated ? trouble : well, at);
    });
  return {
    conditions: check(conditions, status.conditions, 'ConditionNotChecked'),
    constraints: check(constraints, status.constraints, 'ConstraintNotChecked'),
  };
}

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
