import { isManaged } from '@corral/cluster-data';
import {
  type ClusterNetwork,
  type ClusterSpec,
  type ClusterSpecInput,
  type Condition,
  defaultNetwork,
  driftConditionType,
  InvalidBody,
  type NodePoolSpec,
  type NodePoolSpecInput,
  nodePoolDefaults,
  type OperationKind,
  placeOf,
} from '@corral/contracts';
import { desiredHashOf } from '../../changes/entity-tag.js';
import { hasWorkers, type PoolPointers } from '../../node-pools/rules.js';
import { checkAll, invalidField, Problem } from '../../problem.js';
import type { ClusterRecord } from '../store.js';

/* What a declaration means: first completed, then compared with the stored cluster. */

/**
 * Fills in omitted fields: with what the stored cluster has, or the initial value of a new one. Only the fields of a pool that
 * have a default in the specification of the API take it.
 *
 * @param current the stored cluster, or null for a new one
 * @param pointers where node pools are in the body
 * @throws InvalidBody with the required fields that a new cluster or pool lacks
 */
export function completeSpec(
  declared: ClusterSpecInput,
  current: { readonly spec: ClusterSpec } | null,
  pointers: PoolPointers,
): ClusterSpec {
  const present = current?.spec ?? null;
  const { connectionRef = present?.connectionRef, region = present?.region } = declared;
  const presentOf = (name: string) => present?.nodePools.find((pool) => pool.name === name) ?? null;
  const missing = [
    ...(connectionRef === undefined ? [lacking('/spec/connectionRef')] : []),
    ...(region === undefined ? [lacking('/spec/region')] : []),
    ...(declared.nodePools ?? []).flatMap((pool, index) => {
      const before = presentOf(pool.name);
      return machineTypeOf(pool, before) === undefined ? [lacking(`${pointers.pool(index)}/machineType`, before)] : [];
    }),
  ];
  if (connectionRef === undefined || region === undefined || missing.length > 0) throw new InvalidBody(missing);
  const { kubernetesVersion } = declared;
  const declaredPools = declared.nodePools?.map((pool, index) =>
    completePool(pool, presentOf(pool.name), pointers.pool(index)),
  );
  return {
    connectionRef,
    region,
    kubernetesVersion,
    plan: declared.plan ?? present?.plan ?? 'payg',
    hibernated: declared.hibernated ?? present?.hibernated ?? false,
    controlPlaneHA: declared.controlPlaneHA ?? present?.controlPlaneHA ?? false,
    network: completeNetwork(declared.network ?? {}, present?.network ?? defaultNetwork),
    nodePools: declaredPools ?? present?.nodePools ?? [],
  };
}

/**
 * Fills in omitted fields of a declared pool: its source, its image and on adopted servers the machine type from the stored pool,
 * the others with their defaults.
 *
 * @throws InvalidBody for a pool without a machine type
 */
export function completePool(declared: NodePoolSpecInput, present: NodePoolSpec | null, place: string): NodePoolSpec {
  const source = sourceOf(declared, present);
  const machineType = machineTypeOf(declared, present);
  if (machineType === undefined) throw new InvalidBody([lacking(`${place}/machineType`, present)]);
  const { name, image = present?.image ?? {}, minimum, maximum, publicIP } = { ...nodePoolDefaults, ...declared };
  return { name, source, machineType, image, minimum, maximum, publicIP };
}

const sourceOf = ({ source }: NodePoolSpecInput, present: NodePoolSpec | null): NodePoolSpec['source'] =>
  source ?? present?.source ?? 'managed';

function machineTypeOf(declared: NodePoolSpecInput, present: NodePoolSpec | null): string | undefined {
  const isFixed = present !== null && !isManaged(present) && present.source === sourceOf(declared, present);
  return declared.machineType ?? (isFixed ? present.machineType : undefined);
}

function completeNetwork(declared: Partial<ClusterNetwork>, present: ClusterNetwork): ClusterNetwork {
  const { nodeCIDR, podCIDR, serviceCIDR, existingNetwork } = { ...present, ...declared };
  return { nodeCIDR, podCIDR, serviceCIDR, ...(existingNetwork === undefined ? {} : { existingNetwork }) };
}

const lacking = (pointer: string, present: object | null = null) => ({
  name: placeOf(pointer),
  pointer,
  message: present === null ? 'must be set for a new resource' : 'is required',
});

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
