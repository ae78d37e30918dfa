import { randomUUID } from 'node:crypto';
import { outside } from '@corral/admission';
import { asOperationId, clusterLimits } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import type { GardenClient, GardenFeature } from '@corral/garden';
import type { Queue } from '@corral/queue';
import type { Log } from '@corral/service';
import { cachedCatalogue } from '../catalogue/cached-catalogue.js';
import { catalogueRoutes } from '../catalogue/routes.js';
import { catalogueStore } from '../catalogue/store.js';
import type { ChangeTeam } from '../changes/team-changes.js';
import { kubeconfigService } from '../kubeconfigs/kubeconfigs.js';
import { kubeconfigRoutes } from '../kubeconfigs/routes.js';
import { kubeconfigStore } from '../kubeconfigs/store.js';
import { nodePoolService } from '../node-pools/node-pools.js';
import { nodePoolRoutes } from '../node-pools/routes.js';
import { clusterWakeUp, serverWakeUp } from '../wake-ups.js';
import { specChanger } from './change-spec.js';
import { clusterService } from './clusters.js';
import { clusterRoutes } from './routes.js';
import type { ClusterQuotas } from './spec/quotas.js';
import { clusterStore } from './store.js';

export interface ClusterConfig {
  /** Public base URL of this service, without a trailing slash. */
  readonly publicUrl: () => string;
  /** Quotas of teams without overrides. */
  readonly quotas: ClusterQuotas;
  /** Whether a team needs an active subscription to start a cluster. */
  readonly subscriptionRequired: boolean;
  /** Optional features that the garden supports. */
  readonly gardenFeatures: ReadonlySet<GardenFeature>;
  readonly adoptedServersPerTeam: number;
}

export interface ClusterHandlerDeps {
  readonly config: ClusterConfig;
  readonly prisma: Prisma;
  readonly changeTeam: ChangeTeam;
  readonly queue: Pick<Queue, 'nudge'>;
  readonly garden: Pick<GardenClient, 'readCloudProfile' | 'adminKubeconfig' | 'viewerKubeconfig'>;
  /** Unix time in ms, for the age of the catalogue. */
  readonly now: () => number;
  readonly log: Log;
}

/**
 * Time limit of a catalogue read, in ms. Short because a request waits for it; the previous catalogue is the fallback.
 */
const CATALOGUE_MS_MAX = 5_000;

const newOperationId = () => asOperationId(randomUUID());

/** Builds the handlers for clusters, node pools, kubeconfigs and the catalogue. */
export function buildClusterHandlers(deps: ClusterHandlerDeps) {
  const { config, prisma, changeTeam, queue, garden, now, log } = deps;
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
    store,
    catalogue,
    wake,
    wakeServer,
    quotas: config.quotas,
    features: config.gardenFeatures,
    subscriptionRequired: config.subscriptionRequired,
    newId: newOperationId,
  });
  const clusters = clusterService({ changeSpec, store, wake, wakeServer, newId: newOperationId });
  const kubeconfigs = kubeconfigService({
    store: kubeconfigStore(prisma, changeTeam),
    issue: (request, scope, wish) =>
      outside(request, () => (scope === 'admin' ? garden.adminKubeconfig(wish) : garden.viewerKubeconfig(wish))),
    perHour: clusterLimits.kubeconfigsPerClusterPerHour,
  });
  return {
    ...clusterRoutes({ clusters, store, publicUrl }),
    ...nodePoolRoutes({ nodePools: nodePoolService({ changeSpec }), store, publicUrl }),
    ...kubeconfigRoutes({ kubeconfigs }),
    ...catalogueRoutes({
      catalogue,
      store: catalogueStore(prisma),
      quotas: config.quotas,
      adoptedServersPerTeam: config.adoptedServersPerTeam,
      features: config.gardenFeatures,
    }),
  };
}
