import type {
  ClusterPhase,
  ConditionType,
  ConnectionPhase,
  driftConditionType,
  HostedNameState,
  MigrationPhase,
  OperationState,
  ServerPhase,
} from './states.js';

/*
 * What the words of a status mean. The OpenAPI document, docs/status.md and the types of the reconciler are made from these tables, so a
 * word without a meaning does not compile.
 */

export const clusterPhaseMeanings: Readonly<Record<ClusterPhase, string>> = {
  Draft: 'Declared and not started. It starts with its first managed node pool.',
  Pending: 'Accepted, and about to be created.',
  Provisioning: 'Being created.',
  Ready: 'It matches its specification, and its parts work.',
  Updating: 'A change is being made, or the control plane is being migrated.',
  Hibernating: 'Control plane and managed nodes are being shut down.',
  Hibernated: 'Shut down. Volumes and the specification stay.',
  Resuming: 'Control plane and managed nodes are being created again.',
  Degraded: 'It runs, but a part does not work, or a change is blocked. The conditions say which.',
  Failed: 'The last change failed, and is not retried automatically. `lastOperation.error` says what to do.',
  Deleting: 'Being deleted.',
};

/** The control plane moves to another seed of the garden, which operators start. */
export const migrationPhaseMeanings: Readonly<Record<MigrationPhase, string>> = {
  Preparing: 'About to begin. Changes are still possible.',
  Migrating:
    'The control plane is being saved. Until the end the API server may not answer, and changes wait. Nodes and pods keep running.',
  Restoring: 'The control plane is being started on the other seed. Changes wait.',
};

export const connectionPhaseMeanings: Readonly<Record<ConnectionPhase, string>> = {
  Unverified: 'The provider has not yet given a usable answer about the token. The service asks again.',
  Ready: 'The provider accepts the token for reading and writing.',
  Rejected: 'The provider rejects the token, or accepts it for reading only. Replace it.',
};

export const serverPhaseMeanings: Readonly<Record<ServerPhase, string>> = {
  Adopting:
    'Accepted. Nothing has been wiped yet. A machine that joins by command stays here until a node pool claims it.',
  Rebuilding: 'The rebuild has been or is being requested, which destroys all data.',
  Ready: 'Adopted, and free for a node pool.',
  Joining: 'Becoming a node of a cluster. A machine that joins by command waits for its command here.',
  Joined: 'A node of a cluster.',
  Leaving: 'Being drained, removed from its cluster and, where possible, rebuilt.',
  Failed: 'The adoption, or joining or leaving a cluster, failed. `message` says what to do.',
  Missing: 'Adopted, but the provider no longer knows it. Deregister it.',
  Deregistering: 'Being given up. The server itself is not changed.',
};

export const hostedNameStateMeanings: Readonly<Record<HostedNameState, string>> = {
  Pending: 'Being installed in the cluster. `message` says what it waits for.',
  Ready: 'The cluster writes the records of its Ingresses and Services, and gets certificates.',
  Removing: 'Its DNS token is revoked. Corral takes its objects out of the cluster.',
};

export const operationStateMeanings: Readonly<Record<OperationState, string>> = {
  queued: 'Accepted, and not begun.',
  running: 'In progress. `waiting` says what blocks it, if anything does.',
  succeeded: 'Done.',
  failed:
    'Ended without success. `error` says why, and what to do. It becomes `succeeded` if its work is done after all, for example with a ' +
    'new token.',
  superseded: 'A later change took its place before it was done.',
  cancelled: 'Its resource was deleted before it was done.',
};

/** The garden’s own conditions are passed on in addition. */
export const conditionTypeMeanings = {
  SpecAccepted: 'The specification was checked and is accepted.',
  ConnectionReady: 'The provider accepts the token of the connection.',
  ControlPlaneReady: 'The control plane works, and the API server answers.',
  NodesReady: 'Every node is ready.',
  Reconciled: 'The cluster matches its specification. Otherwise the reason says what happens, or what it waits for.',
  Drifted:
    'Present only while a declared field was changed in the garden by others. Declare the specification again to set it back.',
  ShootMissing: 'Present only when the cluster was removed outside this service. It is not created again.',
  AbsenceConfirmed: 'Present only during a deletion: whether it is certain that no cluster is left.',
} as const satisfies Readonly<Record<ConditionType | typeof driftConditionType, string>> &
  Readonly<Record<string, string>>;
export type OwnConditionTypeName = keyof typeof conditionTypeMeanings;

/** What policies and webhooks keep waiting, on the garden and in clusters. */
const admissionWaits = {
  WebhookUnavailable: 'The admission webhook that the message names does not answer. Work continues once it does.',
  PolicyRefused: 'A policy refuses the next step. The message quotes it. The service tries again.',
} as const;

/** Why an operation on a cluster waits. Also reasons of its condition `Reconciled`. */
const clusterWaits = {
  GardenUnavailable: 'The garden does not answer. Work continues by itself.',
  GardenAccessDenied: 'The garden denies access to this service. Its operators have to restore it.',
  UpstreamThrottled: 'The garden limits requests. Work continues by itself.',
  Retrying: 'The last attempt failed or was interrupted. Another one follows by itself.',
  PlatformFault: 'The platform has a fault. Its operators are notified, and the service retries.',
  PlatformQuotaExceeded: 'A limit of the platform is reached. Work continues once there is capacity.',
  ...admissionWaits,
  Held: 'The operators have stopped changes for now. Work continues by itself.',
  KeptAfterRestore: 'The declaration was restored from a backup and differs from the cluster. Declare what you want.',
} as const;

/** What keeps the garden from finishing, as the condition `Reconciled` says it. Operations wait for it, too. */
const clusterBlocks = {
  ProviderTokenRejected: 'The provider does not accept the token. Replace it.',
  ProviderTokenReadOnly: 'The token is read-only. Replace it with one with read and write access.',
  ProviderPermissionDenied: 'The token lacks permissions. Replace it with one with read and write access.',
  ProviderQuotaExceeded: 'A limit of the cloud project is reached. Raise it, or make node pools smaller.',
  ProviderRateLimited: 'The cloud project got too many requests. The garden tries again.',
  ProviderOutOfStock: 'The provider has no capacity for a machine type in the region. Choose another one, or wait.',
  ProviderResourcesBlock: 'Resources in the cloud project block the change. Remove what is in the way.',
  CleanupBlocked: 'What the message names cannot be deleted, or keeps the cluster. Remove its finalizers or webhooks.',
  WebhookBlocks: 'An admission webhook in the cluster blocks the system. Fix or remove it.',
  ConfigurationProblem: 'The cluster cannot be created or changed as declared. Change the specification.',
  DeletedExternally: 'The cluster is being deleted, but not by this service.',
  ControlPlaneMigrating: 'The control plane is being migrated. Changes wait.',
  ConnectionNotReady: 'The change waits until the provider accepts the connection.',
  Drifted: 'Others changed declared fields in the garden.',
} as const;

/** Reasons of the conditions that this service sets. Others are the garden’s. */
export const conditionReasonMeanings = {
  Accepted: 'The specification is accepted.',
  MinimumRaised: 'Accepted. Pools with a minimum of zero keep one node, because the provider does not scale to zero.',
  SpecRefused:
    'The garden, or one of its policies, refused the specification. The message names the fields to change, or quotes the policy.',
  ReferenceUnknown: 'The garden does not know something that the specification needs. Ask the operators.',
  VersionUnavailable: 'The Kubernetes version is not, or no longer, available. Declare another one.',
  HibernationBlocked: 'A webhook in the cluster would block waking it up. Fix or remove it.',
  Verified: 'The provider accepts the token.',
  Unverified: 'The provider has not confirmed the token yet.',
  TokenRollingOut: 'The cluster is about to switch to a new token.',
  ...clusterBlocks,
  NotStarted: 'The cluster is a draft, or waits for its start.',
  AwaitingNodePools: 'A draft. Add a managed node pool with a maximum above zero to start it.',
  Queued: 'The change was accepted, and has not begun yet.',
  Pending: 'The cluster is about to be created.',
  Creating: 'The cluster is being created.',
  Updating: 'The cluster is being changed to match its specification.',
  Hibernating: 'The cluster is being shut down.',
  Hibernated: 'Not checked while the cluster is hibernated.',
  Resuming: 'The cluster is being started again.',
  Deleting: 'The cluster is being deleted.',
  Reconciled: 'The cluster matches its specification.',
  ChangedByOthers:
    'Others changed the fields that the message names. Declare the specification again to set them back.',
  NoCluster: 'There is no cluster to check.',
  NameCollision: 'The name of the cluster in the garden belongs to another one. Ask the operators.',
  ShootMissing: 'The cluster no longer exists, and this service did not delete it. Delete it here.',
  RemovedExternally: 'The cluster was removed outside this service.',
  Waiting: 'The service checks that no cluster is still being created.',
  ControlPlaneHealthy: 'The garden reports nothing wrong.',
  NotReported: 'The garden has not reported it yet.',
  NotChecked: 'The garden does not check it at the moment.',
  ...clusterWaits,
} as const;
export type ConditionReason = keyof typeof conditionReasonMeanings;
export type ClusterWaitReason = keyof typeof clusterWaits;

/** Why an operation on a server or connection waits. */
const serverWaits = {
  ServerBusy: 'Another action runs on the server, or the provider postponed the request.',
  OutcomeUnknown: 'The answer to the request for the rebuild was lost. The service finds out what happened.',
  ProviderTokenRejected: 'The provider refuses the token of the connection. Replace it.',
  TokenUnreadable: 'The stored token cannot be read. Ask the operators, or replace the token.',
  ProviderThrottled: 'The request limit of the cloud project is used up. Work continues by itself.',
  ProviderUnavailable: 'The provider gives no usable answer. The service asks again.',
  NoNodePool: 'No node pool uses the machine yet.',
  ClusterNotReady: 'The cluster is not ready for nodes yet.',
  ClusterHibernated: 'The cluster is hibernated. Resume it.',
  MachineAwaited: 'The join command has to be run on the machine.',
  NodeNotReady: 'The node has joined and is not ready yet.',
  NodeLeaving: 'The node is being drained.',
  UpstreamThrottled: 'The garden or the cluster limits requests. Work continues by itself.',
  ClusterUnavailable: 'The cluster does not answer. The service tries again.',
  ...admissionWaits,
  Held: 'The operators have stopped changes for now. Work continues by itself.',
  Retrying: 'The last attempt failed or was interrupted. Another one follows by itself.',
} as const;
export type ServerWaitReason = keyof typeof serverWaits;

export const waitReasonMeanings: Readonly<
  Record<keyof typeof clusterBlocks | ClusterWaitReason | ServerWaitReason, string>
> = { ...clusterBlocks, ...clusterWaits, ...serverWaits };

/** Words with their meanings, as a list in Markdown. */
export const meaningsList = (meanings: Readonly<Record<string, string>>): string =>
  Object.entries(meanings)
    .map(([word, meaning]) => `- \`${word}\`: ${meaning}`)
    .join('\n');
