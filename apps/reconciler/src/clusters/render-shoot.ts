import type { ShootManifest } from '@corral/garden';
import type { GardenSettings } from './garden-settings.js';
import {
  clusterIdLabel,
  clusterNameAnnotation,
  desiredHashAnnotation,
  generationAnnotation,
  managedLabel,
  planAnnotation,
  poolLabel,
  teamAnnotation,
} from './marks.js';
import type { Desired, DesiredPool } from './model.js';

/** A specification that no Shoot can express. The API refuses these, so one that arrives here is never rendered by half. */
export class Unrenderable extends Error {
  override readonly name = 'Unrenderable';
  /** @param pointer JSON pointer of the field in the body of a PUT, e.g. `/spec/network/existingNetwork` */
  constructor(
    readonly pointer: string,
    why: string,
  ) {
    super(`${pointer}: ${why}`);
  }
}

const providerApi = 'hcloud.provider.extensions.gardener.cloud/v1alpha1';

/** What a Shoot carries that is only ours. */
export function marksOf(desired: Desired): { labels: Record<string, string>; annotations: Record<string, string> } {
  return {
    labels: { [managedLabel]: 'true', [clusterIdLabel]: desired.id },
    annotations: {
      [clusterNameAnnotation]: desired.name,
      [teamAnnotation]: desired.team.slug,
      [planAnnotation]: desired.spec.plan,
      [generationAnnotation]: String(desired.generation),
      [desiredHashAnnotation]: desired.desiredHash,
    },
  };
}

/**
 * Renders the Shoot of a cluster for server-side apply: only what is declared, because what is rendered is owned, and
 * owning a default would turn the garden's later change of it into a conflict.
 *
 * @throws Unrenderable
 */
export function renderShoot(desired: Desired, settings: GardenSettings): ShootManifest {
  const { spec, known } = desired;
  if (desired.namespace === null || desired.pinnedVersion === null) {
    throw new TypeError('a Shoot is rendered once its namespace and its version are known');
  }
  const { existingNetwork } = spec.network;
  if (existingNetwork !== undefined && !settings.features.has('existing-network')) {
    throw new Unrenderable('/spec/network/existingNetwork', 'the provider has no field for it');
  }
  const zone = settings.zoneOf(spec.region);
  if (zone === null) throw new Unrenderable('/spec/region', 'it is not in the catalogue');
  return {
    metadata: {
      name: desired.shootName,
      namespace: desired.namespace,
      // With it a Shoot that vanished meanwhile is a conflict, where apply would make it anew.
      ...(known.shootUid === null ? {} : { uid: known.shootUid }),
      ...marksOf(desired),
    },
    spec: {
      cloudProfile: { kind: 'CloudProfile', name: settings.cloudProfileName },
      region: spec.region,
      credentialsBindingName: desired.connection.gardenName,
      kubernetes: { version: desired.pinnedVersion },
      networking: {
        type: settings.networkingType,
        nodes: spec.network.nodeCIDR,
        pods: spec.network.podCIDR,
        services: spec.network.serviceCIDR,
      },
      hibernation: { enabled: spec.hibernated },
      // There is no way back from it, so its absence is never rendered.
      ...(spec.controlPlaneHA ? { controlPlane: { highAvailability: { failureTolerance: { type: 'node' } } } } : {}),
      maintenance: { autoUpdate: autoUpdate(desired.pools), confineSpecUpdateRollout: false },
      provider: {
        type: 'hcloud',
        infrastructureConfig: {
          apiVersion: providerApi,
          kind: 'InfrastructureConfig',
          // The nodes' range again: the provider makes its network of this one, and nobody compares the two.
          networks: {
            workersConfiguration: { cidr: spec.network.nodeCIDR },
            ...(existingNetwork === undefined ? {} : { existingNetwork }),
          },
        },
        controlPlaneConfig: { apiVersion: providerApi, kind: 'ControlPlaneConfig', zone },
        workers: renderWorkers(desired.pools, zone, settings),
      },
    },
  };
}

/**
 * Pinning the Kubernetes version and leaving its updates to the garden would contradict each other. The same holds for
 * images once a pool declares a version; until then their updates are the garden's, and so is the field.
 *
 * `confineSpecUpdateRollout` is owned as well: with it, a change of ours would neither be rolled out nor raise the
 * generation by which its end is recognised.
 */
export function autoUpdate(pools: readonly DesiredPool[]): Record<string, false> {
  const declaresImageVersion = renderedPools(pools).some(({ image }) => image.version !== undefined);
  return { kubernetesVersion: false, ...(declaresImageVersion ? { machineImageVersion: false } : {}) };
}

/**
 * The pools that are workers of the Shoot, in its order. A pool that may not have nodes has no worker, and of nodes that are
 * adopted servers the garden does not know.
 */
export function renderedPools(pools: readonly DesiredPool[]): DesiredPool[] {
  return pools.filter(isWorker);
}

const isWorker = ({ source, maximum }: DesiredPool): boolean => source === 'managed' && maximum > 0;

/** The provider does not scale to zero: it wants at least one node of each pool that may have nodes. */
export function renderedMinimum({ minimum }: Pick<DesiredPool, 'minimum'>): number {
  return Math.max(1, minimum);
}

function renderWorkers(pools: readonly DesiredPool[], zone: string, settings: GardenSettings): object[] {
  const hasPriorities = new Set(renderedPools(pools).map(({ autoscalerPriority }) => autoscalerPriority)).size > 1;
  const workers = pools.flatMap((pool, index) => {
    if (pool.source === 'managed') assertRenderable(pool, `/spec/nodePools/${index}`, settings);
    return isWorker(pool) ? [renderWorker(pool, { zone, hasPriorities }, settings)] : [];
  });
  // Apply would remove all workers, and a Shoot without any is of another kind that never gets one again.
  if (workers.length === 0)
    throw new Unrenderable('/spec/nodePools', 'at least one must be managed with a maximum above zero');
  return workers;
}

function renderWorker(
  pool: DesiredPool,
  { zone, hasPriorities }: { readonly zone: string; readonly hasPriorities: boolean },
  settings: GardenSettings,
): object {
  const architecture = settings.architectureOf(pool.machineType);
  const image = renderImage(pool);
  return {
    name: pool.workerName,
    minimum: renderedMinimum(pool),
    maximum: pool.maximum,
    zones: [zone],
    // One worker with a priority puts them before all else that the autoscaler would weigh: without a difference, none.
    ...(hasPriorities ? { priority: pool.autoscalerPriority } : {}),
    machine: {
      type: pool.machineType,
      // The garden takes amd64 for granted, and images of both kinds share their names.
      ...(architecture === null ? {} : { architecture }),
      ...(Object.keys(image).length === 0 ? {} : { image }),
    },
    // Its absence means public addresses, to extensions that know nothing of the field as well.
    ...(pool.publicIP ? {} : { providerConfig: { apiVersion: providerApi, kind: 'WorkerConfig', publicIP: false } }),
    labels: { [poolLabel]: pool.name },
  };
}

/** The members of an image that are neither its name nor its version: they go to the extension as they are. */
export function imageOptions({ image }: Pick<DesiredPool, 'image'>): Record<string, unknown> {
  const { name: _name, version: _version, ...options } = image;
  return options;
}

function renderImage(pool: DesiredPool): object {
  const { name, version } = pool.image;
  const options = imageOptions(pool);
  return {
    ...(name === undefined ? {} : { name }),
    ...(version === undefined ? {} : { version }),
    ...(Object.keys(options).length === 0 ? {} : { providerConfig: options }),
  };
}

function assertRenderable(pool: DesiredPool, pointer: string, { features }: GardenSettings): void {
  if (!pool.publicIP && !features.has('private-nodes')) {
    throw new Unrenderable(`${pointer}/publicIP`, 'every server of the provider gets addresses');
  }
  const [option] = Object.keys(imageOptions(pool));
  if (option !== undefined && !features.has('image-options')) {
    throw new Unrenderable(`${pointer}/image/${option}`, 'images have no such field');
  }
  for (const member of ['name', 'version'] as const) {
    if (!['string', 'undefined'].includes(typeof pool.image[member])) {
      throw new Unrenderable(`${pointer}/image/${member}`, 'must be a string');
    }
  }
  if (Object.keys(pool.image).length > 0 && pool.image.name === undefined) {
    throw new Unrenderable(`${pointer}/image/name`, 'a version and options are those of a named image');
  }
}
