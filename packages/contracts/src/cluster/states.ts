import { fixable, ours } from './failures.js';
import { type ServerErrorCode, serverErrorCodes } from './servers/server-error-codes.js';

/** States and kinds of resources. */

export const apiVersion = 'clusters.corral.dev/v1';

export const clusterPhases = [
  'Draft',
  'Pending',
  'Provisioning',
  'Ready',
  'Updating',
  'Hibernating',
  'Hibernated',
  'Resuming',
  'Degraded',
  'Failed',
  'Deleting',
] as const;
export type ClusterPhase = (typeof clusterPhases)[number];

export const migrationPhases = ['Preparing', 'Migrating', 'Restoring'] as const;
export type MigrationPhase = (typeof migrationPhases)[number];

/** The conditions of every cluster. The garden's own conditions are passed on in addition. */
export const conditionTypes = [
  'SpecAccepted',
  'ConnectionReady',
  'ControlPlaneReady',
  'NodesReady',
  'Reconciled',
] as const;
/**
 * Present only while a declared field differs in the garden because it was changed there; its transition time is the
 * start.
 */
export const driftConditionType = 'Drifted';
export type ConditionType = (typeof conditionTypes)[number];
export type ConditionStatus = 'True' | 'False' | 'Unknown';

export const operationKinds = [
  'cluster.create',
  'cluster.update',
  'cluster.hibernate',
  'cluster.resume',
  'cluster.delete',
  'connection.verify',
  'server.adopt',
  'server.deregister',
] as const;
export type OperationKind = (typeof operationKinds)[number];

export const operationStates = ['queued', 'running', 'succeeded', 'failed', 'superseded', 'cancelled'] as const;
export type OperationState = (typeof operationStates)[number];
/** All other states are final. */
export const openOperationStates = ['queued', 'running'] as const satisfies readonly OperationState[];

/** Operations that are not open have ended. Of those only a failed one changes: to succeeded, when its work is done after all. */
export function isOpenOperation({ state }: { readonly state: OperationState }): boolean {
  return openOperationStates.some((open) => open === state);
}

export const connectionPhases = ['Unverified', 'Ready', 'Rejected'] as const;
export type ConnectionPhase = (typeof connectionPhases)[number];
/** Status messages of a connection, with what to do about them. */
export const connectionMessages: Readonly<Record<ConnectionPhase | 'ReadOnly', string>> = {
  Unverified: 'The provider has not yet given a usable answer about the token. The service retries.',
  Ready: '',
  Rejected: 'The provider rejects the token. Replace it with a valid token with read and write access.',
  ReadOnly:
    'The token is read-only, which is not enough to create clusters. Replace it with a token with read and write access.',
};

export const serverArchitectures = ['amd64', 'arm64'] as const;
export type ServerArchitecture = (typeof serverArchitectures)[number];
export const serverKinds = ['cloud', 'dedicated', 'onprem'] as const;
export type ServerKind = (typeof serverKinds)[number];
/**
 * Whether the service cannot rebuild servers of this kind. Their owner runs a join command on the machine, and wipes it
 * after it has left.
 */
export const joinsByCommand = (kind: ServerKind): boolean => kind !== 'cloud';
/** The exact acknowledgement required before a server is wiped. */
export const wipeAcknowledgement = { confirm: 'WIPE' } as const;
/** The purpose of a rebuild of an adopted server. */
export type RebuildPurpose = 'adopt' | 'join' | 'leave';
/** Their meanings: `serverPhaseMeanings`. A server that joins by command is never `Rebuilding` or `Missing`. */
export const serverPhases = [
  'Adopting',
  'Rebuilding',
  'Ready',
  'Joining',
  'Joined',
  'Leaving',
  'Failed',
  'Missing',
  'Deregistering',
] as const;
export type ServerPhase = (typeof serverPhases)[number];

/** States of a name on a cluster. */
export const hostedNameStates = ['Pending', 'Ready', 'Removing'] as const;
export type HostedNameState = (typeof hostedNameStates)[number];

export const poolSources = ['managed', 'pooled', 'dedicated', 'onprem'] as const;
export type PoolSource = (typeof poolSources)[number];
/** The kind of adopted servers used by each pool source. */
export const serverKindOf = { pooled: 'cloud', dedicated: 'dedicated', onprem: 'onprem' } as const satisfies Record<
  Exclude<PoolSource, 'managed'>,
  ServerKind
>;

/** Rights of a kubeconfig: all, or reading everything except Secrets. */
export const kubeconfigScopes = ['admin', 'viewer'] as const;
export type KubeconfigScope = (typeof kubeconfigScopes)[number];
export const plans = ['payg', 'monthly', 'annual'] as const;
export const providers = ['hcloud'] as const;
/**
 * Reasons why an operation failed, as in `error.code`. `fault`: the team can fix `user` itself, `platform` is ours.
 * `retryable`: the same change can succeed unaltered once the hint was followed.
 */
export const operationErrorCodes = {
  provider_token_rejected: fixable(
    'Replace the token of the connection with a valid one. The cluster then continues automatically.',
  ),
  provider_permission_denied: fixable(
    'Replace the token of the connection with one with read and write access. The cluster then continues automatically.',
  ),
  provider_quota_exceeded: fixable('Raise the limits of the cloud project or make the node pools smaller, then retry.'),
  provider_rate_limited: ours('Wait. The cluster retries automatically.'),
  provider_capacity: fixable('Choose another machine type or region, or wait until the provider has stock.'),
  provider_dependency: fixable('Remove what the message names from the cloud project, then retry.'),
  cleanup_blocked: fixable(
    'Remove the objects in the cluster that block its deletion, for example finalizers or webhooks.',
  ),
  webhook_blocks: fixable('Fix or remove the admission webhook in the cluster that blocks the system, then retry.'),
  configuration_problem: { ...fixable('Change the specification as described in the message.'), retryable: false },
  refused_by_garden: { ...fixable('Change the specification as described in the message.'), retryable: false },
  platform_quota_exceeded: ours(
    'Wait. The operators of this service are notified, and the cluster continues automatically once there is capacity.',
  ),
  field_conflict: ours(
    'Agree on the field with the other manager that the message names, then declare it again. The last declaration wins.',
  ),
  name_collision: { ...ours('Ask the operators of this service.'), retryable: false },
  shoot_missing: {
    ...ours('The cluster was deleted outside this service. Delete it here, or ask the operators of this service.'),
    retryable: false,
  },
  ...serverErrorCodes,
  internal_error: ours('Ask the operators of this service.'),
} as const satisfies Record<string, { fault: 'user' | 'platform'; retryable: boolean; hint: string }>;
export type OperationErrorCode = keyof typeof operationErrorCodes;
/** The codes of cluster operations. */
export type ClusterErrorCode = Exclude<OperationErrorCode, ServerErrorCode>;

/** How an operation ended, for statistics: failures that the team can fix itself are not those of the service. */
export const operationOutcomes = ['succeeded', 'failed_user', 'failed_platform', 'superseded', 'cancelled'] as const;

/** Codes with which an operation ends as `failed_user`. */
export const userFaultCodes: readonly OperationErrorCode[] = Object.entries(operationErrorCodes)
  .filter(([, { fault }]) => fault === 'user')
  .map(([code]) => code as OperationErrorCode);

/**
 * Seconds from the request within which an operation is to succeed. The times of clusters are those of their nodes: a rolling
 * update replaces one after the other. Null: the end may wait for what a person does with the machine.
 */
export const operationSecondsMax = {
  'cluster.create': 1_800,
  'cluster.update': 7_200,
  'cluster.hibernate': 1_800,
  'cluster.resume': 1_800,
  'cluster.delete': 3_600,
  'connection.verify': 300,
  'server.adopt': null,
  'server.deregister': null,
} as const satisfies Record<OperationKind, number | null>;

/** Seconds in which the work of an operation usually shows something new: how often passes look at what it waits for. */
const runningSeconds = {
  'cluster.create': 5,
  'cluster.update': 5,
  'cluster.hibernate': 5,
  'cluster.resume': 5,
  'cluster.delete': 5,
  'connection.verify': 1,
  'server.adopt': 10,
  'server.deregister': 10,
} as const satisfies Record<OperationKind, number>;
/** The wake-up of an accepted change is on its way. */
const QUEUED_SECONDS = 1;
/** What blocks an operation is tried again with growing pauses. */
const BLOCKED_SECONDS = 15;

/** `Retry-After` of an operation: the seconds after which a look at it may show something new. 0 for one that has ended. */
export function nextLookSeconds(operation: {
  readonly kind: OperationKind;
  readonly state: OperationState;
  readonly waiting: object | null;
}): number {
  const { kind, state, waiting } = operation;
  if (!isOpenOperation(operation)) return 0;
  if (waiting !== null) return BLOCKED_SECONDS;
  return state === 'queued' ? QUEUED_SECONDS : runningSeconds[kind];
}
