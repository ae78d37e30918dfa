import { aPool as aDeclaredPool } from '@corral/cluster-data/testing';
import { asClusterId, asConnectionId, asOperationId, asTeamId, type ClusterSpec } from '@corral/contracts';
import { type FieldManager, gardenFeatures, type LastError, type Shoot, type ShootCondition } from '@corral/garden';
import type { Desired, DesiredPool, Known, Observed, OpenOperation } from '../../src/clusters/model.js';
import type { GardenSettings } from '../../src/clusters/render.js';
import { renderShoot } from '../../src/clusters/render.js';

export const settings: GardenSettings = {
  cloudProfileName: 'hcloud',
  networkingType: 'calico',
  features: new Set(),
  zoneOf: (region) => ({ hel1: 'hel1-dc2', fsn1: 'fsn1-dc14' })[region] ?? null,
  architectureOf: (machineType) => (machineType.startsWith('cax') ? 'arm64' : 'amd64'),
};

export const noon = new Date('2026-11-21T12:00:00.000Z');
export const minutesLater = (minutes: number, from = noon): Date => new Date(from.getTime() + minutes * 60_000);

export const aPool = (more: Partial<DesiredPool> = {}): DesiredPool => ({
  ...aDeclaredPool(),
  workerName: 'p1a2b3',
  autoscalerPriority: 0,
  ...more,
});

const aSpec = (more: Partial<Desired['spec']> = {}): Desired['spec'] => ({
  connectionRef: 'main',
  region: 'hel1',
  kubernetesVersion: '1.34',
  hibernated: false,
  controlPlaneHA: false,
  plan: 'payg' as ClusterSpec['plan'],
  deletionProtection: false,
  network: { nodeCIDR: '10.250.0.0/16', podCIDR: '10.244.0.0/16', serviceCIDR: '10.96.0.0/16' },
  ...more,
});

const nothingKnown: Known = {
  shootUid: null,
  appliedGeneration: 0,
  appliedShootGeneration: null,
  appliedAt: null,
  appliedTokenVersion: 0,
  retriedGeneration: 0,
  keptGeneration: null,
  observedGeneration: 0,
  phase: 'Pending',
  conditions: [],
  seedName: null,
  migrationPhase: null,
  observed: null,
  failures: 0,
  waiting: null,
};

type Parts = Omit<Partial<Desired>, 'connection' | 'known' | 'spec'> & {
  connection?: Partial<Desired['connection']>;
  known?: Partial<Known>;
  spec?: Partial<Desired['spec']>;
};

/** A cluster with everything in the garden except its Shoot. */
export function aDesired({ connection, known, spec, ...more }: Parts = {}): Desired {
  return {
    id: asClusterId('6f1c2a34-0000-4000-8000-000000000001'),
    name: 'web',
    team: { id: asTeamId('6f1c2a34-0000-4000-8000-00000000000a'), slug: 'acme', projectName: 't1a2b3c4' },
    namespace: 'garden-t1a2b3c4',
    shootName: 'c9f8e7d6',
    generation: 1,
    desiredHash: 'sha256:01',
    declaredAt: noon,
    poolsDeclaredAt: noon,
    spec: aSpec(spec),
    pools: [aPool()],
    pinnedVersion: '1.34.3',
    isDeleting: false,
    connection: {
      id: asConnectionId('6f1c2a34-0000-4000-8000-00000000000c'),
      ref: 'main',
      gardenName: 'conn-1',
      phase: 'Ready',
      isReadOnly: false,
      tokenVersion: 1,
      gardenTokenVersion: 1,
      ...connection,
    },
    known: { ...nothingKnown, ...known },
    operation: {
      id: asOperationId('o1'),
      kind: 'cluster.create',
      generation: 1,
      state: 'queued',
      progress: 0,
      acceptedAt: noon,
    },
    failedOperationId: null,
    ...more,
  };
}

/** A cluster whose Shoot was applied and has converged. */
export function aSteadyDesired({ known, ...more }: Parts = {}): Desired {
  const generation = more.generation ?? 1;
  return aDesired({
    operation: null,
    ...more,
    known: {
      shootUid: 'uid-1',
      appliedGeneration: generation,
      appliedShootGeneration: 1,
      appliedAt: noon,
      appliedTokenVersion: 1,
      observedGeneration: generation,
      phase: 'Ready',
      ...known,
    },
  });
}

export type ShootParts = Omit<Partial<Shoot['metadata']>, 'annotations'> &
  Omit<Partial<Shoot['status']>, 'lastOperation' | 'lastErrors'> & {
    annotations?: Record<string, string>;
    spec?: Record<string, unknown>;
    lastOperation?: Partial<NonNullable<Shoot['status']['lastOperation']>> | null;
    lastErrors?: Partial<LastError>[];
    managers?: FieldManager[];
  };

/** Another manager that owns a field. @param fields the path to it, e.g. `{'f:spec': {'f:region': {}}}` */
export const aManager = (manager: string, fields: Record<string, unknown>, time = noon): FieldManager => ({
  manager,
  operation: 'Update',
  time: time.toISOString(),
  fields,
});
/** Corral's own entry: the garden knows what was applied. */
export const ourHold: FieldManager = { ...aManager('corral', {}), operation: 'Apply' };

/** The Shoot of `desired` five minutes after noon, converged unless `parts` differ. */
export function aShoot(desired: Desired, parts: ShootParts = {}): Shoot {
  const { metadata, spec } = renderShoot(desired, { ...settings, features: new Set(gardenFeatures) });
  const { annotations, spec: moreSpec, lastOperation, lastErrors = [], managers = [ourHold], ...rest } = parts;
  const { uid, generation = 1, deletionTimestamp = null, labels, resourceVersion = '1', ...status } = rest;
  return {
    metadata: {
      name: metadata.name,
      namespace: metadata.namespace,
      uid: uid ?? 'uid-1',
      resourceVersion,
      generation,
      creationTimestamp: noon.toISOString(),
      deletionTimestamp,
      finalizers: ['gardener'],
      labels: labels ?? metadata.labels ?? {},
      annotations: { ...metadata.annotations, ...annotations },
    },
    managers,
    spec: { ...spec, seedName: 'seed-hel', ...moreSpec },
    status: {
      observedGeneration: generation,
      technicalID: 'shoot--t1a2b3c4--c9f8e7d6',
      uid: 'status-uid',
      seedName: 'seed-hel',
      clusterIdentity: null,
      hibernated: false,
      constraints: [],
      advertisedAddresses: [],
      lastMaintenance: null,
      authorityRotation: null,
      retryCycleStartTime: null,
      migrationStartTime: null,
      conditions: allWell,
      ...status,
      lastOperation:
        lastOperation === null
          ? null
          : {
              type: 'Create',
              state: 'Succeeded',
              progress: 100,
              description: 'flow ran in 10.0.0.7',
              lastUpdateTime: minutesLater(5).toISOString(),
              ...lastOperation,
            },
      lastErrors: lastErrors.map((error) => ({
        taskID: null,
        codes: [],
        description: '',
        lastUpdateTime: minutesLater(5).toISOString(),
        ...error,
      })),
    },
  };
}

export const present = (shoot: Shoot): Observed => ({ kind: 'present', shoot });
export const absent: Observed = { kind: 'absent' };

export const aCondition = (type: string, status: string, reason = 'AllWell'): ShootCondition => ({
  type,
  status,
  reason,
  message: 'as gardenlet-7 says',
  codes: [],
  lastTransitionTime: null,
  lastUpdateTime: null,
});

export const allWell = [
  aCondition('APIServerAvailable', 'True'),
  aCondition('ControlPlaneHealthy', 'True'),
  aCondition('ObservabilityComponentsHealthy', 'True'),
  aCondition('EveryNodeReady', 'True'),
  aCondition('SystemComponentsHealthy', 'True'),
];

/** An operation that changes a cluster to generation 2. */
export const anUpdate = (progress = 0): OpenOperation => ({
  id: asOperationId('o2'),
  kind: 'cluster.update',
  generation: 2,
  state: 'running',
  progress,
  acceptedAt: noon,
});

/** Generation 2 was applied a minute after noon and became the Shoot's own generation 5. */
export const anUpdatedDesired = (known: Partial<Known> = {}, more: Partial<Desired> = {}): Desired => ({
  ...aSteadyDesired({
    generation: 2,
    desiredHash: 'sha256:02',
    operation: anUpdate(),
    known: { appliedShootGeneration: 5, appliedAt: minutesLater(1), observedGeneration: 1, ...known },
  }),
  ...more,
});

/** Its Shoot, with the last operation in this state. */
export const anUpdatedShoot = (state: string, more: ShootParts = {}, progress = 40) =>
  aShoot(anUpdatedDesired(), { generation: 5, lastOperation: { type: 'Reconcile', state, progress }, ...more });
