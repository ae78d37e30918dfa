import {
  any,
  flag,
  integer,
  integerOrText,
  keyedBy,
  listOf,
  mapOf,
  number,
  struct,
  text,
} from '../../fields/schema.js';
import { kubeletConfig } from './kubernetes-schema.js';
import { objectReference } from './reference-schema.js';

const taint = struct({ key: text, value: text, effect: text, timeAdded: text });
const containerRuntime = struct({ type: text, providerConfig: any });
const cri = struct({ name: text, containerRuntimes: listOf(containerRuntime) });
const workerKubernetes = struct({ kubelet: kubeletConfig, version: text });
const shootMachineImage = struct({ name: text, providerConfig: any, version: text });
const machine = struct({ type: text, image: shootMachineImage, architecture: text });
const volume = struct({ name: text, type: text, size: text, encrypted: flag });
const dataVolume = struct({ name: text, type: text, size: text, encrypted: flag });
const workerSystemComponents = struct({ allow: flag });
const machineControllerManagerSettings = struct({
  machineDrainTimeout: text,
  machineHealthTimeout: text,
  machineCreationTimeout: text,
  maxEvictRetries: integer,
  nodeConditions: listOf(text),
  inPlaceUpdateTimeout: text,
  disableHealthTimeout: flag,
  machinePreserveTimeout: text,
  autoPreserveFailedMachineMax: integer,
});
const clusterAutoscalerOptions = struct({
  scaleDownUtilizationThreshold: number,
  scaleDownGpuUtilizationThreshold: number,
  scaleDownUnneededTime: text,
  scaleDownUnreadyTime: text,
  maxNodeProvisionTime: text,
});
const backup = struct({ provider: text, providerConfig: any, region: text, credentialsRef: objectReference });
const extensionExposure = struct({ type: text, providerConfig: any });
const exposure = struct({ extension: extensionExposure, dns: struct({}) });
const workerControlPlane = struct({ backup, exposure });
const worker = struct({
  annotations: mapOf(text),
  caBundle: text,
  cri,
  kubernetes: workerKubernetes,
  labels: mapOf(text),
  name: text,
  machine,
  maximum: integer,
  minimum: integer,
  maxSurge: integerOrText,
  maxUnavailable: integerOrText,
  providerConfig: any,
  taints: listOf(taint),
  volume,
  dataVolumes: listOf(dataVolume),
  kubeletDataVolumeName: text,
  zones: listOf(text),
  systemComponents: workerSystemComponents,
  machineControllerManager: machineControllerManagerSettings,
  sysctls: mapOf(text),
  clusterAutoscaler: clusterAutoscalerOptions,
  priority: integer,
  updateStrategy: text,
  controlPlane: workerControlPlane,
});
const sshAccess = struct({ enabled: flag });
const workersSettings = struct({ sshAccess });
export const provider = struct({
  type: text,
  controlPlaneConfig: any,
  infrastructureConfig: any,
  workers: keyedBy('name', worker),
  workersSettings,
});
