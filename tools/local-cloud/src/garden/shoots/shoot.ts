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
}

export interface ShootStatus {
  hibernated: boolean;
  technicalID: string;
  uid: string;
  seedName?: string;
  observedGeneration?: number;
  retryCycleStartTime?: string;
  lastOperation?: LastOperation;
  lastErrors?: { description: string; codes: readonly string[]; lastUpdateTime: string }[];
  conditions?: Condition[];
  constraints?: Condition[];
  advertisedAddresses?: readonly { readonly name: string; readonly url: string }[];
}

export interface Shoot extends KubeObject {
  spec: ShootSpec;
  status: ShootStatus;
}

export const workersOf = ({ provider }: ShootSpec): Worker[] => provider.workers ?? [];

export const findWorker = (spec: ShootSpec | undefined, wanted: string): Worker | undefined =>
  spec && workersOf(spec).find(({ name }) => name === wanted);

export const wantsHibernation = (spec: ShootSpec): boolean => spec.hibernation?.enabled === true;

/** Whether the API server of a Shoot is up. It is down while hibernated or not yet created. */
export const isServing = ({ status }: Shoot): boolean =>
  (status.advertisedAddresses ?? []).length > 0 && !status.hibernated;
