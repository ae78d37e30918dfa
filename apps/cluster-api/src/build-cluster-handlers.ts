import { randomUUID } from 'node:crypto';
import { clusterLimits } from '@corral/contracts';
import type { GardenClient, GardenFeature } from '@corral/garden';
import type { PartDeps } from './build-app.js';
import { cachedCatalogue } from './domain/cached-catalogue.js';
import { specChanger } from './domain/change-spec.js';
import { clusterService } from './domain/clusters.js';
import { kubeconfigService } from './domain/kubeconfigs.js';
import { nodePoolService } from './domain/node-pools.js';
import type { ClusterQuotas } from './domain/quotas.js';
import { clusterRoutes } from './routes/clusters.js';
import { kubeconfigRoutes } from './routes/kubeconfig.js';
import { nodePoolRoutes } from './routes/node-pools.js';
import { operationRoutes } from './routes/operations.js';
import { clusterStore } from './store/cluster-store.js';
import { kubeconfigStore } from './store/kubeconfig-store.js';
import { operationStore } from './store/operation-store.js';
import { clusterWakeUp, serverWakeUp } from './wake-ups.js';

export interface ClusterConfig {
  /** Quotas of teams that have none of their own. */
  readonly quotas: ClusterQuotas;
  /** Whether a team needs an active subscription to start a cluster. */
  readonly subscriptionRequired: boolean;
  /** What the garden can do that not all gardens can. */
  readonly gardenFeatures: ReadonlySet<GardenFeature>;
}

/** The part of the garden that answers requests; everything else is for passes. */
export type GardenOfApi = Pick<GardenClient, 'readCloudProfile' | 'adminKubeconfig'> & {
  /** Clusters make the tokens with which machines join them. */
  readonly nodes: Pick<GardenClient['nodes'], 'joinData' | 'endJoin'>;
};

/** Someone waits for it, and the last catalogue will do. */
const CATALOGUE_MS_MAX = 5_000;

/** Clusters, node pools, operations and kubeconfigs. */
export function buildClusterHandlers({ config, prisma, changeTeam, queue, garden, now, log }: PartDeps) {
  const { publicUrl } = config;
  const store = clusterStore(prisma, changeTeam);
  const [wake, wakeServer] = [clusterWakeUp(queue), serverWakeUp(queue)];
  const catalogue = cachedCatalogue({
    read: () => garden.readCloudProfile(AbortSignal.timeout(CATALOGUE_MS_MAX)),
    now,
    random: Math.random,
    onReadError: (error) => log.warn('catalogue not read', { error }),
  });
  const changeSpec = specChanger({
    ...{ store, catalogue, wake, wakeServer, quotas: config.quotas, features: config.gardenFeatures },
    subscriptionRequired: config.subscriptionRequired,
    newId: randomUUID,
  });
  const clusters = clusterService({ changeSpec, store, wake, wakeServer, newId: randomUUID });
  const kubeconfigs = kubeconfigService({
    store: kubeconfigStore(prisma, changeTeam),
    issue: (request) => garden.adminKubeconfig(request),
    perHour: clusterLimits.kubeconfigsPerClusterPerHour,
  });
  return {
    ...clusterRoutes({ clusters, store, publicUrl }),
    ...nodePoolRoutes({ nodePools: nodePoolService({ changeSpec }), store, publicUrl }),
    ...operationRoutes({ store: operationStore(prisma), publicUrl }),
    ...kubeconfigRoutes({ kubeconfigs }),
  };
}
