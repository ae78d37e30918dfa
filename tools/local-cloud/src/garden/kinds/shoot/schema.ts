import {
  any,
  type FieldType,
  flag,
  integer,
  integerOrText,
  keyedBy,
  listOf,
  mapOf,
  objectSchema,
  struct,
  text,
} from '../../fields/schema.js';

/** Fields whose contents are not checked. */
const unread = (...names: string[]): Record<string, FieldType> => Object.fromEntries(names.map((name) => [name, any]));

const worker = struct({
  name: text,
  minimum: integer,
  maximum: integer,
  maxSurge: integerOrText,
  maxUnavailable: integerOrText,
  zones: listOf(text),
  priority: integer,
  labels: mapOf(text),
  annotations: mapOf(text),
  taints: listOf(struct({ key: text, value: text, effect: text, timeAdded: text })),
  machine: struct({
    type: text,
    architecture: text,
    image: struct({ name: text, version: text, providerConfig: any }),
  }),
  cri: struct({ name: text, containerRuntimes: any }),
  systemComponents: struct({ allow: flag }),
  updateStrategy: text,
  providerConfig: any,
  ...unread('caBundle', 'clusterAutoscaler', 'controlPlane', 'dataVolumes', 'kubeletDataVolumeName', 'kubernetes'),
  ...unread('machineControllerManager', 'sysctls', 'volume'),
});

const kubernetes = struct({
  version: text,
  ...unread('clusterAutoscaler', 'etcd', 'kubeAPIServer', 'kubeControllerManager', 'kubeProxy', 'kubeScheduler'),
  ...unread('kubelet', 'verticalPodAutoscaler'),
});

const networking = struct({
  type: text,
  nodes: text,
  pods: text,
  services: text,
  ipFamilies: listOf(text),
  providerConfig: any,
});

const maintenance = struct({
  autoUpdate: struct({ kubernetesVersion: flag, machineImageVersion: flag }),
  timeWindow: struct({ begin: text, end: text }),
  confineSpecUpdateRollout: flag,
  autoRotation: any,
});

/** Fields of a Shoot in `core.gardener.cloud/v1beta1`, as of Gardener v1.150. */
export const shootSchema = objectSchema({
  spec: struct({
    cloudProfile: struct({ kind: text, name: text }),
    region: text,
    purpose: text,
    seedName: text,
    credentialsBindingName: text,
    kubernetes,
    networking,
    hibernation: struct({ enabled: flag, schedules: any }),
    controlPlane: struct({
      highAvailability: struct({ failureTolerance: struct({ type: text }) }),
      zones: listOf(text),
    }),
    maintenance,
    provider: struct({
      type: text,
      infrastructureConfig: any,
      controlPlaneConfig: any,
      workers: keyedBy('name', worker),
      workersSettings: any,
    }),
    ...unread(
      'accessRestrictions',
      'addons',
      'cloudProfileName',
      'dns',
      'exposureClassName',
      'extensions',
      'monitoring',
    ),
    ...unread('resources', 'schedulerName', 'secretBindingName', 'seedSelector', 'systemComponents', 'tolerations'),
  }),
  status: any,
});
