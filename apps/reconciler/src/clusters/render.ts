import type { CloudProfile, GardenFeature, ShootManifest } from '@corral/garden';
import type { Desired, DesiredPool } from './model.js';
import {
  clusterIdLabel,
  clusterNameAnnotation,
  desiredHashAnnotation,
  generationAnnotation,
  managedLabel,
  planAnnotation,
  poolLabel,
  teamAnnotation,
} from './model.js';
import type { ShootFacts } from './observe.js';

/** A specification that no Shoot can express. The API refuses it already, so one that arrives here is never rendered partially. */
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

/** Labels and annotations that Corral sets on a Shoot. */
export function shootMetadata(desired: Desired): {
  labels: Record<string, string>;
  annotations: Record<string, string>;
} {
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
 * Renders the Shoot of a cluster for server-side apply. It contains declared fields only: rendered fields are owned, and
 * owning a default would turn a later change of it by the garden into a conflict.
 *
 * @param running the Shoot as it is. The catalogue may no longer have what it uses, which the garden lets it keep
 * @throws Unrenderable
 */
export function renderShoot(
  desired: Desired,
  settings: GardenSettings,
  running: RunningShoot | null = null,
): ShootManifest {
  const { spec, known } = desired;
  if (desired.namespace === null || desired.pinnedVersion === null) {
    throw new TypeError('a Shoot is rendered once its namespace and its version are known');
  }
  const { existingNetwork } = spec.network;
  if (existingNetwork !== undefined && !settings.features.has('existing-network')) {
    throw new Unrenderable('/spec/network/existingNetwork', 'the provider has no field for it');
  }
  const zone = running?.zone ?? settings.zoneOf(spec.region);
  if (zone === null) throw new Unrenderable('/spec/region', 'it is not in the catalogue');
  return {
    metadata: {
      name: desired.shootName,
      namespace: desired.namespace,
      // With the UID, an apply to a deleted Shoot is a conflict. Without it, the apply would create a new one.
      ...(known.shootUid === null ? {} : { uid: known.shootUid }),
      ...shootMetadata(desired),
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
      // High availability cannot be switched off, so its absence is never rendered.
      ...(spec.controlPlaneHA ? { controlPlane: { highAvailability: { failureTolerance: { type: 'node' } } } } : {}),
      maintenance: { autoUpdate: autoUpdate(desired.pools), confineSpecUpdateRollout: false },
      provider: {
        type: 'hcloud',
        infrastructureConfig: {
          apiVersion: providerApi,
          kind: 'InfrastructureConfig',
          // Repeats the node CIDR: the provider creates its network from this field, and the two are not compared.
          networks: {
            workersConfiguration: { cidr: spec.network.nodeCIDR },
            ...(existingNetwork === undefined ? {} : { existingNetwork }),
          },
        },
        controlPlaneConfig: { apiVersion: providerApi, kind: 'ControlPlaneConfig', zone },
        workers: renderWorkers(desired.pools, zone, settings, running?.workers ?? []),
      },
    },
  };
}

/**
 * Pinning the Kubernetes version contradicts its automatic update. The same holds for images once a pool declares a version.
 * Until then the garden updates images and owns the field.
 *
 * `confineSpecUpdateRollout` is owned as well. With it set, a change would neither be rolled out nor increase the
 * generation by which its end is detected.
 */
export function autoUpdate(pools: readonly DesiredPool[]): Record<string, false> {
  const declaresImageVersion = renderedPools(pools).some(({ image }) => image.version !== undefined);
  return { kubernetesVersion: false, ...(declaresImageVersion ? { machineImageVersion: false } : {}) };
}

/**
 * The pools that are workers of the Shoot, in order. A pool with a maximum of zero has no worker, and the garden does not
 * know nodes that are adopted servers.
 */
export function renderedPools(pools: readonly DesiredPool[]): DesiredPool[] {
  return pools.filter(isWorker);
}

const isWorker = ({ source, maximum }: DesiredPool): boolean => source === 'managed' && maximum > 0;

/** The provider does not scale to zero: each pool with a maximum above zero has at least one node. */
export function renderedMinimum({ minimum }: DesiredPool): number {
  return Math.max(1, minimum);
}

function renderWorkers(
  pools: readonly DesiredPool[],
  zone: string,
  settings: GardenSettings,
  running: RunningShoot['workers'],
): object[] {
  const hasPriorities = new Set(renderedPools(pools).map(({ autoscalerPriority }) => autoscalerPriority)).size > 1;
  const workers = pools.flatMap((pool, index) => {
    if (pool.source === 'managed') assertRenderable(pool, `/spec/nodePools/${index}`, settings);
    if (!isWorker(pool)) return [];
    const before = running.find(
      ({ name, machineType }) => name === pool.workerName && machineType === pool.machineType,
    );
    const architecture = settings.architectureOf(pool.machineType) ?? before?.architecture ?? null;
    return [renderWorker(pool, { zone, hasPriorities, architecture })];
  });
  // An apply would remove all workers, and a workerless Shoot can never get workers again.
  if (workers.length === 0)
    throw new Unrenderable('/spec/nodePools', 'at least one must be managed with a maximum above zero');
  return workers;
}

function renderWorker(
  pool: DesiredPool,
  {
    zone,
    hasPriorities,
    architecture,
  }: { readonly zone: string; readonly hasPriorities: boolean; readonly architecture: string | null },
): object {
  const image = renderImage(pool);
  return {
    name: pool.workerName,
    minimum: renderedMinimum(pool),
    maximum: pool.maximum,
    zones: [zone],
    // Priorities override every other criterion of the autoscaler, so they are rendered only if they differ.
    ...(hasPriorities ? { priority: pool.autoscalerPriority } : {}),
    machine: {
      type: pool.machineType,
      // The garden defaults to amd64, and images of both architectures share their names.
      ...(architecture === null ? {} : { architecture }),
      ...(Object.keys(image).length === 0 ? {} : { image }),
    },
    // Without it, servers get public addresses. Older extensions do not know the field.
    ...(pool.publicIP ? {} : { providerConfig: { apiVersion: providerApi, kind: 'WorkerConfig', publicIP: false } }),
    labels: { [poolLabel]: pool.name },
  };
}

/** Image settings besides name and version, which are passed to the extension unchanged. */
export function imageOptions({ image }: DesiredPool): Record<string, unknown> {
  const { name: _name, version: _version, ...options } = image;
  return options;
}

function renderImage(pool: DesiredPool): object {
  const { name } = pool.image;
  const version = pool.raisedImage ?? pool.image.version;
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

/** What a Shoot keeps, whatever the catalogue says. */
type RunningShoot = Pick<ShootFacts, 'zone' | 'workers'>;

/** Values that a Shoot needs and that teams do not declare. */
export interface GardenSettings {
  readonly cloudProfileName: string;
  /** Type of the networking extension, e.g. `calico`. */
  readonly networkingType: string;
  /** Optional features of the garden and its provider extension. */
  readonly features: ReadonlySet<GardenFeature>;
  /** The zone of a region, or null when the catalogue does not have the region. */
  readonly zoneOf: (region: string) => string | null;
  /** `amd64` or `arm64`. Null when the catalogue does not have the machine type (any more). */
  readonly architectureOf: (machineType: string) => string | null;
}

/** Takes from the catalogue what a Shoot needs. On this provider a region has exactly one zone. */
export function gardenSettings(
  profile: CloudProfile,
  { networkingType, features }: Pick<GardenSettings, 'networkingType' | 'features'>,
): GardenSettings {
  const zones = new Map(profile.regions.map(({ name, zones }) => [name, zones[0]?.name ?? null]));
  const architectures = new Map(profile.machineTypes.map(({ name, architecture }) => [name, architecture]));
  return {
    cloudProfileName: profile.name,
    networkingType,
    features,
    zoneOf: (region) => zones.get(region) ?? null,
    architectureOf: (machineType) => architectures.get(machineType) ?? null,
  };
}
