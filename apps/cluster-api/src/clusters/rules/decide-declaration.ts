import {
  type ClusterNetwork,
  type ClusterSpec,
  type Condition,
  driftConditionType,
  type OperationKind,
} from '@corral/contracts';
import { desiredHashOf } from '../../changes/entity-tag.js';
import { hasWorkers } from '../../node-pools/rules.js';
import { checkAll, invalidField, Problem } from '../../problem.js';
import type { ClusterRecord } from '../store.js';

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

/** The stored fields that decide about a change of the cluster. */
export type DeclaredCluster = Pick<
  ClusterRecord,
  | 'spec'
  | 'desiredHash'
  | 'generation'
  | 'keptGeneration'
  | 'startedAt'
  | 'deletionRequestedAt'
  | 'conditions'
  | 'lastOperation'
>;

/**
 * Decides what a specification means for a cluster.
 *
 * @param current the stored cluster, or null when the team has none with that name
 * @param desired the full specification after defaults
 * @throws Problem `cluster_deleting`
 */
export function decideDeclaration(current: DeclaredCluster | null, desired: ClusterSpec): DeclarationDecision {
  const desiredHash = desiredHashOf(desired);
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
export const driftIn = ({ conditions }: Pick<ClusterRecord, 'conditions'>): Condition[] =>
  conditions.filter(({ type, status }) => type === driftConditionType && status === 'True');

/** @throws Problem `cluster_deleting`, with the newest operation of the cluster */
export function refuseWhileDeleting({
  deletionRequestedAt,
  lastOperation,
}: Pick<ClusterRecord, 'deletionRequestedAt' | 'lastOperation'>): void {
  if (deletionRequestedAt === null) return;
  throw new Problem(
    'cluster_deleting',
    'The cluster is being deleted. Wait until it is gone. If the deletion fails, send DELETE again.',
    lastOperation === null ? {} : { operationId: lastOperation.id },
  );
}

function operationFor(current: DeclaredCluster, desired: ClusterSpec): ClusterOperationKind {
  if (desiredHashOf(desired) === current.desiredHash) return 'cluster.update';
  const { hibernated } = current.spec;
  const onlyHibernation = desiredHashOf({ ...desired, hibernated }) === current.desiredHash;
  if (onlyHibernation) return desired.hibernated ? 'cluster.hibernate' : 'cluster.resume';
  return current.startedAt === null ? 'cluster.create' : 'cluster.update';
}

/**
 * Checks that no field changes that is fixed.
 *
 * @throws Problem `immutable_field`, with each such field
 */
export function checkImmutable(
  { spec, startedAt }: Pick<DeclaredCluster, 'spec' | 'startedAt'>,
  desired: ClusterSpec,
): void {
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
