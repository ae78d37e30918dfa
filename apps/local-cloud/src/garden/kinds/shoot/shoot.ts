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
  taints?: { key: string; value?: string; effect?: string }[];
  priority?: number;
  cri?: { name: string };
  kubernetes?: { version?: string; kubelet?: Fields };
  providerConfig?: Fields;
  systemComponents?: { allow: boolean };
  updateStrategy?: string;
  [field: string]: unknown;
}

export interface Networking {
  type?: string;
  nodes?: string;
  pods?: string;
  services?: string;
  ipFamilies?: string[];
  [field: string]: unknown;
}

export interface ShootSpec {
  cloudProfile?: { kind?: string; name?: string };
  cloudProfileName?: string;
  region: string;
  purpose?: string;
  seedName?: string;
  schedulerName?: string;
  credentialsBindingName?: string;
  secretBindingName?: string;
  exposureClassName?: string;
  kubernetes: {
    version: string;
    kubeControllerManager?: { nodeCIDRMaskSize?: number; [field: string]: unknown };
    [field: string]: unknown;
  };
  networking?: Networking;
  provider: {
    type: string;
    infrastructureConfig?: Fields;
    controlPlaneConfig?: Fields;
    workers?: Worker[];
    workersSettings?: Fields;
  };
  controlPlane?: { highAvailability?: { failureTolerance?: { type?: string } } };
  hibernation?: { enabled?: boolean; schedules?: { start?: string; end?: string; location?: string }[] };
  maintenance?: {
    timeWindow?: { begin: string; end: string };
    autoUpdate?: { kubernetesVersion?: boolean; machineImageVersion?: boolean };
    confineSpecUpdateRollout?: boolean;
    [field: string]: unknown;
  };
  addons?: Fields;
  dns?: { domain?: string; [field: string]: unknown };
  [field: string]: unknown;
}

export type OperationType = 'Create' | 'Reconcile' | 'Delete' | 'Migrate' | 'Restore';
export type OperationState = 'Pending' | 'Processing' | 'Succeeded' | 'Error' | 'Failed' | 'Aborted';

export interface LastOperation {
  type: OperationType;
  state: OperationState;
  /** Percent of the flow's tasks that are done. */
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
  codes?: string[];
  lastTransitionTime: string;
  lastUpdateTime: string;
}

export interface ShootStatus {
  gardener: { id: string; name: string; version: string };
  hibernated: boolean;
  technicalID: string;
  uid: string;
  seedName?: string;
  observedGeneration?: number;
  clusterIdentity?: string;
  retryCycleStartTime?: string;
  migrationStartTime?: string;
  lastHibernationTriggerTime?: string;
  lastOperation?: LastOperation;
  lastErrors?: LastError[];
  conditions?: Condition[];
  constraints?: Condition[];
  advertisedAddresses?: { name: string; url: string }[];
  networking?: { nodes?: string[]; pods?: string[]; services?: string[] };
  credentials?: Fields;
  [field: string]: unknown;
}

export interface Shoot extends KubeObject {
  spec: ShootSpec;
  status: ShootStatus;
}

/** What a typed server writes for a status that nobody has filled in yet. */
export const blankStatus = (): ShootStatus => ({
  gardener: { id: '', name: '', version: '' },
  hibernated: false,
  technicalID: '',
  uid: '',
});

export const workersOf = ({ provider }: ShootSpec): Worker[] => provider.workers ?? [];

export const isWorkerless = (spec: ShootSpec): boolean => workersOf(spec).length === 0;

export const wantsHibernation = (spec: ShootSpec): boolean => spec.hibernation?.enabled === true;

export const failureToleranceOf = (spec: ShootSpec): string | undefined =>
  spec.controlPlane?.highAvailability?.failureTolerance?.type;
