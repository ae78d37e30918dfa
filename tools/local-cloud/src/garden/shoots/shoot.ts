import type { KeyPair } from '@corral/testing/certificates';
import type { Fields, KubeObject } from '../../kube/object.js';

export interface MachineImage {
  name?: string;
  version?: string;
  providerConfig?: Fields;
}

export interface Worker {
  name: string;
  minimum: number;
  maximum: number;
  machine: { type: string; image?: MachineImage; architecture?: string };
  zones?: string[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  providerConfig?: Fields;
  [field: string]: unknown;
}

export interface ShootSpec {
  cloudProfile?: { name?: string };
  region: string;
  seedName?: string;
  credentialsBindingName?: string;
  kubernetes: { version: string };
  provider: { type: string; infrastructureConfig?: Fields; controlPlaneConfig?: Fields; workers?: Worker[] };
  hibernation?: { enabled?: boolean };
  maintenance?: Fields;
  [field: string]: unknown;
}

export type OperationType = 'Create' | 'Reconcile' | 'Delete';

export interface LastOperation {
  type: OperationType;
  state: 'Processing' | 'Succeeded' | 'Error' | 'Failed';
  /** Progress in percent. */
  progress: number;
  description: string;
  lastUpdateTime: string;
}

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown' | 'Progressing';
  reason: string;
  message: string;
  lastTransitionTime: string;
  lastUpdateTime: string;
}

export interface ShootStatus {
  hibernated: boolean;
  technicalID: string;
  uid: string;
  seedName?: string;
  observedGeneration?: number;
  retryCycleStartTime?: string;
  lastOperation?: LastOperation;
  lastErrors?: { description: string; taskID: string; codes: readonly string[]; lastUpdateTime: string }[];
  conditions?: Condition[];
  constraints?: Condition[];
  advertisedAddresses?: readonly { readonly name: string; readonly url: string }[];
}

export interface Shoot extends KubeObject {
  spec: ShootSpec;
  status: ShootStatus;
}

/** What goes wrong with a flow. */
export interface FlowFault {
  /** The flow stops half-way and stays Processing until the faults are cleared. */
  readonly stuck?: boolean;
  /** `ERR_…`. Gardener retries errors without a code. */
  readonly codes?: readonly string[];
  readonly message?: string;
}

/** A running flow. It uses the spec from its start. */
export interface Flow {
  readonly type: OperationType;
  /** Number of completed tasks. */
  readonly step: number;
  readonly spec: ShootSpec;
  readonly fault: FlowFault | null;
}

/** What is kept with an object but never served. Immutable. */
export interface Simulation {
  /** Of a Shoot, while one runs. */
  readonly flow?: Flow;
  /** A health check is due: conditions are still Progressing. */
  readonly careDue?: boolean;
  readonly authority?: KeyPair;
  /** Of a node that joined by itself, without one of the Shoot's machines. */
  readonly joined?: JoinedMachine;
}

interface JoinedMachine {
  /** Null for a machine outside the provider. */
  readonly serverId: number | null;
  /** Number of the server's rebuild that it joined from. A later rebuild wipes the node. */
  readonly rebuild: number;
}

export const workersOf = ({ provider }: ShootSpec): Worker[] => provider.workers ?? [];

export const findWorker = (spec: ShootSpec | undefined, wanted: string): Worker | undefined =>
  spec && workersOf(spec).find(({ name }) => name === wanted);

export const wantsHibernation = (spec: ShootSpec): boolean => spec.hibernation?.enabled === true;

/** Whether the API server of a Shoot is up. It is down while hibernated or not yet created. */
export const isServing = ({ status }: Shoot): boolean =>
  (status.advertisedAddresses ?? []).length > 0 && !status.hibernated;
