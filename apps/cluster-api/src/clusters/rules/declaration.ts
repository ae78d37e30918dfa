import { specHashOf } from '@corral/cluster-data';
import {
  type ClusterNetwork,
  type ClusterPhase,
  type ClusterSpec,
  type Condition,
  type ConditionReason,
  type ConditionType,
  driftConditionType,
  type OperationKind,
} from '@corral/contracts';
import { hasWorkers } from '../../node-pools/rules.js';
import { checkAll, invalidField, Problem } from '../../problem.js';
import type { ClusterRecord } from '../store.js';

/* What a declaration means for a stored cluster: whether it changes anything, may do so, and what the cluster shows from then on. */

export type DeclarationDecision = { readonly kind: 'unchanged' } | AcceptedDeclaration;

export interface AcceptedDeclaration {
  readonly kind: 'accepted';
  readonly operation: ClusterOperationKind;
  readonly generation: number;
  readonly desiredHash: string;
  /** Nothing to start yet: the change is complete once it is stored. */
  readonly isDraft: boolean;
}

export type ClusterOperationKind = Extract<OperationKind, `cluster.${string}`>;

/**
 * Decides what a specification means for a cluster.
 *
 * @param current the stored cluster, or null when the team has none with that name
 * @param desired the full specification after defaults
 * @throws Problem `cluster_deleting`
 */
export function decideDeclaration(current: ClusterRecord | null, desired: ClusterSpec): DeclarationDecision {
  const desiredHash = specHashOf(desired);
  if (current === null) {
    return { kind: 'accepted', operation: 'cluster.create', generation: 1, desiredHash, isDraft: !hasWorkers(desired) };
  }
  refuseWhileDeleting(current);
  // After drift the same specification is accepted again, also while an operation waits for the other manager: the last one wins.
  const repairsDrift = driftIn(current).length > 0;
  // After a restore, the same specification says that it is the one that the team wants.
  const isAwaited = current.keptGeneration === current.generation;
  if (current.desiredHash === desiredHash && !repairsDrift && !isAwaited) return { kind: 'unchanged' };
  return {
    kind: 'accepted',
    operation: operationFor(current, desired),
    generation: current.generation + 1,
    desiredHash,
    isDraft: current.startedAt === null && !hasWorkers(desired),
  };
}

/** The condition that others changed declared fields on the garden, if it is true. An accepted change sets them back. */
export const driftIn = ({ conditions }: ClusterRecord): Condition[] =>
  conditions.filter(({ type, status }) => type === driftConditionType && status === 'True');

/** @throws Problem `cluster_deleting`, with the newest operation of the cluster */
export function refuseWhileDeleting({ deletionRequestedAt, lastOperation }: ClusterRecord): void {
  if (deletionRequestedAt === null) return;
  throw new Problem(
    'cluster_deleting',
    'The cluster is being deleted. Wait until it is gone. If the deletion fails, send DELETE again.',
    lastOperation === null ? {} : { operationId: lastOperation.id },
  );
}

function operationFor(current: ClusterRecord, desired: ClusterSpec): ClusterOperationKind {
  if (specHashOf(desired) === current.desiredHash) return 'cluster.update';
  const { hibernated } = current.spec;
  const onlyHibernation = specHashOf({ ...desired, hibernated }) === current.desiredHash;
  if (onlyHibernation) return desired.hibernated ? 'cluster.hibernate' : 'cluster.resume';
  return current.startedAt === null ? 'cluster.create' : 'cluster.update';
}

/**
 * Checks that no field changes that is fixed.
 *
 * @throws Problem `immutable_field`, with each such field
 */
export function checkImmutable({ spec, startedAt }: ClusterRecord, desired: ClusterSpec): void {
  const ofDeclared = (['connectionRef', 'region'] as const).map((field) => () => {
    if (spec[field] === desired[field]) return;
    throw immutable(
      `/spec/${field}`,
      `is ${spec[field]} and cannot change for a declared cluster. Declare a new cluster instead`,
    );
  });
  if (startedAt === null) {
    checkAll(ofDeclared);
    return;
  }
  const ranges = ['nodeCIDR', 'podCIDR', 'serviceCIDR', 'existingNetwork'] satisfies (keyof ClusterNetwork)[];
  const ofStarted = ranges.map((field) => () => {
    if (spec.network[field] === desired.network[field]) return;
    const present = spec.network[field] ?? 'absent';
    throw immutable(
      `/spec/network/${field}`,
      `is ${present} and cannot change for a started cluster. Declare a new cluster instead`,
    );
  });
  checkAll([...ofDeclared, ...ofStarted, () => checkHighAvailability(spec, desired)]);
}

function checkHighAvailability(present: ClusterSpec, desired: ClusterSpec): void {
  if (present.controlPlaneHA && !desired.controlPlaneHA) {
    throw immutable('/spec/controlPlaneHA', 'cannot change back to false. Declare a new cluster instead');
  }
  // The garden rejects it while the control plane is down or being stopped.
  if (!present.controlPlaneHA && desired.controlPlaneHA && (present.hibernated || desired.hibernated)) {
    throw immutable('/spec/controlPlaneHA', 'cannot be set while the cluster is hibernated. Resume the cluster first');
  }
}

const immutable = (pointer: string, why: string): Problem => invalidField('immutable_field', pointer, why);

/** The status shown from the moment a change is accepted until the first pass observes the cluster. */
export interface AcceptedStatus {
  readonly phase: ClusterPhase;
  readonly conditions: readonly Condition[];
}

/** What an accepted change asks for. */
export type RequestedState =
  | { readonly kind: 'declare'; readonly hibernated: boolean; readonly isDraft: boolean }
  | { readonly kind: 'delete' };

/**
 * Returns the status to store in the same commit as an accepted change. A client that then waits for `Ready` waits for
 * this change, not for the previous state.
 *
 * @param present the stored cluster, or null for a new one
 */
export function acceptedStatus(present: ClusterRecord | null, requested: RequestedState, now: Date): AcceptedStatus {
  if (requested.kind === 'declare' && (present === null || present.startedAt === null)) {
    const conditions = conditionsBeforeStart(requested.isDraft, present?.conditions ?? [], now);
    return { phase: requested.isDraft ? 'Draft' : 'Pending', conditions };
  }
  const cluster = present as ClusterRecord;
  return { phase: phaseOf(cluster, requested), conditions: queued(cluster.conditions, now) };
}

function phaseOf({ spec, phase, observedGeneration }: ClusterRecord, requested: RequestedState): ClusterPhase {
  if (requested.kind === 'delete') return 'Deleting';
  // Never reconciled yet: the cluster is still being created, whatever the change asks for.
  if (observedGeneration === 0) return phase === 'Provisioning' ? phase : 'Pending';
  if (requested.hibernated !== spec.hibernated) return requested.hibernated ? 'Hibernating' : 'Resuming';
  return phase === 'Hibernating' || phase === 'Resuming' ? phase : 'Updating';
}

type ConditionDraft = readonly [
  type: ConditionType,
  status: Condition['status'],
  reason: ConditionReason,
  message: string,
];

const specAccepted: ConditionDraft = ['SpecAccepted', 'True', 'Accepted', 'The specification was checked and stored.'];

/**
 * Keeps observed conditions. Replaces those about an earlier specification. Drift goes: the change sets it back, and a pass reports what
 * others change after it.
 */
function queued(present: readonly Condition[], now: Date): Condition[] {
  const replaced = [
    condition(present, now, specAccepted),
    condition(present, now, ['Reconciled', 'False', 'Queued', 'The change was accepted and is queued.']),
  ];
  const kept = present
    .filter(({ type }) => type !== driftConditionType)
    .map((known) => replaced.find(({ type }) => type === known.type) ?? known);
  return [...kept, ...replaced.filter(({ type }) => !present.some((known) => known.type === type))];
}

/** The conditions of a cluster that the garden does not know yet. From the first pass on, passes write them. */
function conditionsBeforeStart(isDraft: boolean, previous: readonly Condition[], now: Date): Condition[] {
  const drafts: readonly ConditionDraft[] = [
    specAccepted,
    ['ConnectionReady', 'Unknown', 'NotStarted', 'The connection is used when the cluster starts.'],
    ['ControlPlaneReady', 'False', 'NotStarted', 'The control plane is created when the cluster starts.'],
    ['NodesReady', 'False', 'NotStarted', 'Nodes are created when the cluster starts.'],
    isDraft
      ? [
          'Reconciled',
          'False',
          'AwaitingNodePools',
          'Add a managed node pool with a maximum above zero to start the cluster.',
        ]
      : ['Reconciled', 'False', 'Queued', 'The cluster is queued to start.'],
  ];
  return drafts.map((draft) => condition(previous, now, draft));
}

/** Keeps the transition time of a condition whose status does not change. */
function condition(
  previous: readonly Condition[],
  now: Date,
  [type, status, reason, message]: ConditionDraft,
): Condition {
  const before = previous.find((known) => known.type === type && known.status === status);
  return { type, status, reason, message, lastTransitionTime: before?.lastTransitionTime ?? now.toISOString() };
}
