import { isReady, type Node, nodesOf, readyConditionOf } from '../cluster/nodes.js';
import { type Condition, type Shoot, type ShootSpec, workersOf } from '../kinds/shoot/shoot.js';
import type { Simulation } from './simulation.js';

type Finding = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;
type Findings = readonly (readonly [type: string, reason: string, message: string])[];

const healthy: Findings = [
  ['APIServerAvailable', 'HealthzRequestSucceeded', 'API server /healthz endpoint responded with success status code.'],
  ['ControlPlaneHealthy', 'ControlPlaneRunning', 'All control plane components are healthy.'],
  ['ObservabilityComponentsHealthy', 'ObservabilityComponentsRunning', 'All observability components are healthy.'],
  ['EveryNodeReady', 'EveryNodeReady', 'All nodes are ready.'],
  ['SystemComponentsHealthy', 'SystemComponentsRunning', 'All system components are healthy.'],
];

const constraints: Findings = [
  ['HibernationPossible', 'NoProblematicWebhooks', 'All webhooks are properly configured.'],
  ['MaintenancePreconditionsSatisfied', 'NoProblematicWebhooks', 'All webhooks are properly configured.'],
];

const INITIALIZED = 'The condition has been initialized but its semantic check has not been performed yet.';
const ASLEEP = 'Shoot cluster has been hibernated.';

/** The transition time stays the same while the status does. */
function updated(known: readonly Condition[], next: Finding, at: string): Condition {
  const before = known.find(({ type }) => type === next.type);
  const lastTransitionTime = before?.status === next.status ? before.lastTransitionTime : at;
  return { ...next, lastTransitionTime, lastUpdateTime: at };
}

/** Conditions after a flow, before the next health check. False ones stay; others become Progressing, same reason. */
export function progressing(shoot: Shoot, at: string): Pick<Shoot['status'], 'conditions' | 'constraints'> {
  const awaitCheck = (findings: Findings, known: readonly Condition[] = []): Condition[] =>
    findings.map(([type]) => {
      const before = known.find((condition) => condition.type === type);
      if (before?.status === 'False') return before;
      const { reason = 'ConditionInitialized', message = INITIALIZED, lastTransitionTime = at } = before ?? {};
      return { type, status: 'Progressing', reason, message, lastTransitionTime, lastUpdateTime: at };
    });
  const { status } = shoot;
  return {
    conditions: awaitCheck(healthy, status.conditions),
    constraints: awaitCheck(constraints, status.constraints),
  };
}

/** Result of a health check. @param trouble overrides the condition of its type, unless the Shoot is hibernated */
export function checked(
  shoot: Shoot,
  at: string,
  trouble: Finding | null,
): Pick<Shoot['status'], 'conditions' | 'constraints'> {
  const { status } = shoot;
  const check = (findings: Findings, known: readonly Condition[] = [], notChecked: string): Condition[] =>
    findings.map(([type, reason, message]) => {
      const found = status.hibernated ? { reason: notChecked, message: ASLEEP } : { reason, message };
      const isTrouble = trouble?.type === type && !status.hibernated;
      return updated(known, isTrouble ? trouble : { type, status: 'True', ...found }, at);
    });
  return {
    conditions: check(healthy, status.conditions, 'ConditionNotChecked'),
    constraints: check(constraints, status.constraints, 'ConstraintNotChecked'),
  };
}

const TYPE = 'EveryNodeReady';
const NOT_MANAGED = 'node.machine.sapcloud.io/not-managed-by-mcm';

/**
 * Problem with the nodes of a Shoot (`pkg/gardenlet/controller/shoot/care/health.go`); null if there is none. Nodes
 * marked as not managed by machines do not count as surplus but must be Ready.
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
  return managed.length === desired
    ? null
    : trouble(
        'NodesScalingDown',
        `too many worker nodes are registered. Exceeding maximum desired machine count (${managed.length}/${desired})`,
      );
}

/** Whether the Shoot's status already reports this finding. */
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
