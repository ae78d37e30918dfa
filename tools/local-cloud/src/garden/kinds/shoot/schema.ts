import {
  any,
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

/** The fields of a Shoot in `core.gardener.cloud/v1beta1` that Corral writes, and those beside them. */
export const shootSchema = objectSchema({
  spec: struct({
    cloudProfile: struct({ kind: text, name: text }),
    region: text,
    purpose: text,
    seedName: text,
    credentialsBindingName: text,
    kubernetes: struct({ version: text }),
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
  }),
  status: any,
});
