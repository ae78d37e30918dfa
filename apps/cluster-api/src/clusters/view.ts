import type { OperationRecord } from '@corral/cluster-data';
import { costOf } from '@corral/cluster-data';
import { apiVersion, type Cluster, type ObservedCluster } from '@corral/contracts';
import { entityTagOf, quoted } from '../changes/entity-tag.js';
import type { ClusterRecord } from './store.js';

const nothingObserved: ObservedCluster = { kubernetes: null, apiServer: null, nodePools: [], maintenance: null };

/** Omits the fields that change often, such as progress. Clients read them from the operation itself. */
function operationSummary(of: OperationRecord): Cluster['status']['lastOperation'] {
  const { id, kind, state, error, createdAt } = of;
  return { id, kind, state, error, createdAt: createdAt.toISOString() };
}

/** A cluster as clients see it. */
export function clusterBody(cluster: ClusterRecord, team: { readonly slug: string }): Cluster {
  return {
    apiVersion,
    kind: 'Cluster',
    metadata: {
      name: cluster.name,
      id: cluster.id,
      team: team.slug,
      generation: cluster.generation,
      observedGeneration: cluster.observedGeneration,
      etag: quoted(entityTagOf(cluster)),
      createdAt: cluster.createdAt.toISOString(),
      updatedAt: cluster.updatedAt.toISOString(),
    },
    spec: cluster.spec,
    status: {
      phase: cluster.phase,
      seedName: cluster.seedName,
      conditions: [...cluster.conditions],
      migrationPhase: cluster.migrationPhase,
      cost: costOf(cluster.spec, cluster.prices),
      lastOperation: cluster.lastOperation && operationSummary(cluster.lastOperation),
      ...(cluster.observed ?? nothingObserved),
      nodePools: observedPools(cluster),
    },
  };
}

/** The declared pools with a known image or node count. Observations of removed pools are dropped. */
function observedPools({ spec, observed, nodeCounts }: ClusterRecord): Cluster['status']['nodePools'] {
  return spec.nodePools.flatMap(({ name }) => {
    const image = observed?.nodePools.find((pool) => pool.name === name)?.image ?? null;
    const nodes = nodeCounts !== null && Object.hasOwn(nodeCounts, name) ? (nodeCounts[name] ?? null) : null;
    return image === null && nodes === null ? [] : [{ name, image, nodes }];
  });
}
