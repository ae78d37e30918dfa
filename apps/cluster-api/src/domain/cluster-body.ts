import { apiVersion, type Cluster, type ObservedCluster } from '@corral/contracts';
import type { ClusterRecord, OperationRecord } from './cluster-record.js';
import { costOf } from './cost.js';
import { entityTagOf, quoted } from './entity-tag.js';

const nothingObserved: ObservedCluster = { kubernetes: null, apiServer: null, nodePools: [], maintenance: null };

/** Without what changes often: that is in the operation itself. */
const shownOf = ({ id, kind, state, error, createdAt }: OperationRecord): Cluster['status']['lastOperation'] => ({
  ...{ id, kind, state, error },
  createdAt: createdAt.toISOString(),
});

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
      lastOperation: cluster.lastOperation && shownOf(cluster.lastOperation),
      ...(cluster.observed ?? nothingObserved),
      nodePools: seenPools(cluster),
    },
  };
}

/** Pools of which anything is known. What was seen of one that is gone since is told no more. */
function seenPools({ spec, observed, nodeCounts }: ClusterRecord): Cluster['status']['nodePools'] {
  return spec.nodePools.flatMap(({ name }) => {
    const image = observed?.nodePools.find((pool) => pool.name === name)?.image ?? null;
    const nodes = nodeCounts !== null && Object.hasOwn(nodeCounts, name) ? (nodeCounts[name] ?? null) : null;
    return image === null && nodes === null ? [] : [{ name, image, nodes }];
  });
}
