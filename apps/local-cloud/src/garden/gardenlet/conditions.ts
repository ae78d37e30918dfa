import { type Condition, isWorkerless, type Shoot } from '../kinds/shoot/shoot.js';

export type Finding = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;
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

/** The time of transition stays while the status does. */
function updated(known: readonly Condition[], next: Finding, at: string): Condition {
  const before = known.find(({ type }) => type === next.type);
  const lastTransitionTime = before?.status === next.status ? before.lastTransitionTime : at;
  return { ...next, lastTransitionTime, lastUpdateTime: at };
}

const conditionsOf = ({ spec }: Shoot): Findings =>
  isWorkerless(spec) ? healthy.filter(([type]) => type !== 'EveryNodeReady') : healthy;

/** Right after a flow nothing has been checked yet: what was not False before is Progressing, its reason as it was. */
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
    conditions: awaitCheck(conditionsOf(shoot), status.conditions),
    constraints: awaitCheck(constraints, status.constraints),
  };
}

/** What a health check of a working Shoot finds. @param trouble overrules the finding of its type, unless the Shoot sleeps */
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
    conditions: check(conditionsOf(shoot), status.conditions, 'ConditionNotChecked'),
    constraints: check(constraints, status.constraints, 'ConstraintNotChecked'),
  };
}
