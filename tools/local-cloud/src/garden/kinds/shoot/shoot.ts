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
  maxSurge?: number | string;
  maxUnavailable?: number | string;
  machine: { type: string; image?: MachineImage; architecture?: string };
  zones?: string[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  cri?: { name: string };
  providerConfig?: Fields;
  systemComponents?: { allow: boolean };
  updateStrategy?: string;
  [field: string]: unknown;
}

export interface ShootSpec {
  cloudProfile?: { kind?: string; name?: string };
  region: string;
  purpose?: string;
  seedName?: string;
  credentialsBindingName?: string;
  kubernetes: { version: string; [field: string]: unknown };
  networking?: { type?: string; nodes?: string; pods?: string; services?: string; ipFamilies?: string[] };
  provider: { type: string; infrastructureConfig?: Fields; controlPlaneConfig?: Fields; workers?: Worker[] };
  controlPlane?: { highAvailability?: { failureTolerance?: { type?: string } } };
  hibernation?: { enabled?: boolean };
  maintenance?: {
    timeWindow?: { begin: string; end: string };
    autoUpdate?: { kubernetesVersion?: boolean; machineImageVersion?: boolean };
    confineSpecUpdateRollout?: boolean;
  };
  [field: string]: unknown;
}

export type OperationType = 'Create' | 'Reconcile' | 'Delete' | 'Migrate' | 'Restore';
export type OperationState = 'Pending' | 'Processing' | 'Succeeded' | 'Error' | 'Failed' | 'Aborted';

export interface LastOperation {
  type: OperationType;
  state: OperationState;
  /** Completed tasks of the flow, in percent. */
  progress: number;
  description: string;
  lastUpdateTime: string;
}

export interface LastError {
  description: string;
  taskID?: string;
  codes?: string[];
  lastUpdateTime?: string;
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
  clusterIdentity?: string;
  retryCycleStartTime?: string;
  migrationStartTime?: string;
  lastOperation?: LastOperation;
  lastErrors?: LastError[];
  conditions?: Condition[];
  constraints?: Condition[];
  advertisedAddresses?: { name: string; url: string }[];
  [field: string]: unknown;
}

export interface Shoot extends KubeObject {
  spec: ShootSpec;
  status: ShootStatus;
}

/** The empty status of a new object on a typed server. */
export const blankStatus = (): ShootStatus => ({
  hibernated: false,
  technicalID: '',
  uid: '',
});

export const workersOf = ({ provider }: ShootSpec): Worker[] => provider.workers ?? [];

export const findWorker = (spec: ShootSpec | undefined, wanted: string): Worker | undefined =>
  spec && workersOf(spec).find(({ name }) => name === wanted);

export const wantsHibernation = (spec: ShootSpec): boolean => spec.hibernation?.enabled === true;

export const failureToleranceOf = (spec: ShootSpec): string | undefined =>
  spec.controlPlane?.highAvailability?.failureTolerance?.type;
