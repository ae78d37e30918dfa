import type { Shoot, ShootManifest } from '@corral/garden';
import { clone } from './model-spec.js';

/** A Shoot as the garden stores a creation, before any run. @param now in the garden's format */
export function newShoot({ metadata, spec }: ShootManifest, uid: string, now: string): Shoot {
  return {
    metadata: {
      name: metadata.name,
      namespace: metadata.namespace,
      uid,
      resourceVersion: '0',
      generation: 1,
      creationTimestamp: now,
      deletionTimestamp: null,
      finalizers: ['gardener'],
      labels: { ...metadata.labels },
      annotations: { ...metadata.annotations },
    },
    managers: [],
    spec: { ...clone(spec), seedName: 'seed-a' },
    status: {
      observedGeneration: 0,
      technicalID: null,
      uid: null,
      seedName: null,
      clusterIdentity: null,
      hibernated: false,
      lastOperation: null,
      lastErrors: [],
      conditions: [],
      constraints: [],
      advertisedAddresses: [],
      lastMaintenance: null,
      authorityRotation: null,
      retryCycleStartTime: null,
      migrationStartTime: null,
    },
  };
}
