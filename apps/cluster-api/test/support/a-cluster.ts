import { specHashOf } from '@corral/cluster-data';
import { aClusterSpec, aPool } from '@corral/cluster-data/testing';
import { asClusterId, asConnectionId, clusterLimits } from '@corral/contracts';
import type { CatalogueVersion, CloudProfile } from '@corral/garden';
import type { ClusterQuotas } from '../../src/app-config.js';
import type { ChangeContext } from '../../src/clusters/rules/plan-change.js';
import type { ClusterRecord } from '../../src/clusters/store.js';
import { pointersInCluster } from '../../src/node-pools/rules.js';

export { aClusterSpec, aPool };

export const NOW = new Date('2026-11-21T12:00:00.000Z');

/** A started cluster without a change in progress. */
export function aCluster(more: Partial<ClusterRecord> = {}): ClusterRecord {
  const spec = more.spec ?? aClusterSpec();
  return {
    id: asClusterId('0197b2f0-0000-7000-8000-00000000c1c1'),
    name: 'web',
    shootName: 'c1c1',
    spec,
    desiredHash: specHashOf(spec),
    priorities: new Map(),
    backingReady: new Map(),
    prices: null,
    generation: 4,
    observedGeneration: 4,
    revision: 9,
    phase: 'Ready',
    keptGeneration: null,
    conditions: [],
    seedName: 'seed-hel',
    migrationPhase: null,
    observed: null,
    nodeCounts: null,
    pinnedVersion: spec.kubernetesVersion,
    lastOperation: null,
    startedAt: new Date('2026-11-01T00:00:00.000Z'),
    deletionRequestedAt: null,
    createdAt: new Date('2026-11-01T00:00:00.000Z'),
    updatedAt: new Date('2026-11-01T00:00:00.000Z'),
    ...more,
  };
}

export const quotas: ClusterQuotas = {
  clustersPerTeam: clusterLimits.clustersPerTeam,
  poolsPerCluster: clusterLimits.poolsPerCluster,
  nodesPerCluster: clusterLimits.nodesPerCluster,
};

const version = (text: string, more: Partial<CatalogueVersion> = {}): CatalogueVersion => ({
  version: text,
  classification: 'supported',
  expirationDate: null,
  ...more,
});

const machine = (name: string, more: Partial<CloudProfile['machineTypes'][number]> = {}) => ({
  name,
  cpu: '4',
  memory: '8Gi',
  architecture: 'amd64',
  usable: true,
  ...more,
});

/** The catalogue of the fake garden. */
export const aCatalogue = (more: Partial<CloudProfile> = {}): CloudProfile => ({
  name: 'hcloud',
  type: 'hcloud',
  kubernetesVersions: [
    version('1.31.9', { classification: 'deprecated', expirationDate: '2026-11-20T00:00:00Z' }),
    version('1.32.8', { classification: 'deprecated', expirationDate: '2027-02-01T00:00:00Z' }),
    version('1.33.4'),
    version('1.33.10'),
    version('1.33.11', { classification: 'preview' }),
    version('1.34.2'),
    version('1.35.0', { classification: 'preview' }),
  ],
  machineTypes: [
    machine('cpx31'),
    machine('cpx51'),
    machine('ccx13'),
    machine('cax21', { architecture: 'arm64' }),
    machine('cx11', { usable: false }),
  ],
  images: [
    {
      name: 'ubuntu',
      versions: [
        { ...version('22.4.0', { expirationDate: '2026-01-01T00:00:00Z' }), architectures: ['amd64'] },
        { ...version('24.4.0'), architectures: ['amd64', 'arm64'] },
      ],
    },
    { name: 'flatcar', versions: [{ ...version('4230.2.0'), architectures: ['arm64'] }] },
  ],
  regions: [
    { name: 'hel1', zones: [{ name: 'hel1-dc2', unavailableMachineTypes: ['ccx13'] }] },
    { name: 'fsn1', zones: [{ name: 'fsn1-dc14', unavailableMachineTypes: [] }] },
  ],
  maxNodesTotal: null,
  ...more,
});

export const aContext = (more: Partial<ChangeContext> = {}): ChangeContext => ({
  quotas,
  lacksSubscription: false,
  clustersOfTeam: 0,
  connection: { id: asConnectionId('0197b2f0-0000-7000-8000-00000000c0c0'), phase: 'Ready', prices: null },
  catalogue: aCatalogue(),
  features: new Set(),
  pointers: pointersInCluster,
  now: NOW,
  ...more,
});
