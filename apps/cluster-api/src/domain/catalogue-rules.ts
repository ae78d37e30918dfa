import type { ClusterSpec, NodePoolSpec } from '@corral/contracts';
import { type CloudProfile, type GardenFeature, isUsable, type MachineType, usableVersions } from '@corral/garden';
import { invalidField } from '../problem.js';
import type { ClusterRecord } from './cluster-record.js';
import { hasWorkers, isManaged } from './complete-spec.js';
import { resolveVersion, upgradeObstacle } from './kubernetes-version.js';
import { lacksFeature } from './lacks-feature.js';
import type { Places } from './places.js';
import { nodesOf } from './quotas.js';

export interface CatalogueContext {
  readonly catalogue: CloudProfile;
  readonly features: ReadonlySet<GardenFeature>;
  readonly places: Places;
  readonly now: Date;
}

/** `pinnedVersion` is what a version is compared with: the garden runs it, or is about to. */
export type CurrentCluster = Pick<ClusterRecord, 'spec' | 'pinnedVersion' | 'startedAt'>;

/**
 * What of a change the catalogue has a say in. Nothing else is held against it: a cluster on a version that expired
 * meanwhile can still be scaled.
 */
interface CatalogueMatters {
  readonly region: boolean;
  readonly version: boolean;
  /** Indexes of managed pools that are new, or get another machine or image. */
  readonly pools: readonly number[];
  readonly growth: boolean;
}

/** Whether a change has to be held against the catalogue. */
export function needsCatalogue(current: CurrentCluster | null, desired: ClusterSpec): boolean {
  const { region, version, pools, growth } = mattersOf(current, desired);
  return region || version || growth || pools.length > 0;
}

/**
 * Checks a change against what the garden offers today.
 *
 * @throws Problem `validation_failed`, `unsupported_version`, `invalid_node_pool` or `unsupported_by_garden`
 */
export function checkCatalogue(current: CurrentCluster | null, desired: ClusterSpec, context: CatalogueContext): void {
  const { catalogue, places } = context;
  const matters = mattersOf(current, desired);
  if (matters.region) checkRegion(desired, catalogue);
  if (matters.version) checkVersion(current, desired, context);
  for (const index of matters.pools) {
    checkMachine(desired.nodePools[index] as NodePoolSpec, places.pool(index), desired.region, context);
  }
  const nodes = nodesOf(desired.nodePools);
  if (matters.growth && catalogue.maxNodesTotal !== null && nodes > catalogue.maxNodesTotal) {
    throw invalidField(
      'unsupported_by_garden',
      places.pools,
      `may grow to ${nodes} nodes in all; the limit per cluster is ${catalogue.maxNodesTotal}. Lower the maximum of a pool`,
    );
  }
}

/** A draft that gets its first workers is made as if all of it were new: the catalogue may be another one by now. */
function mattersOf(current: CurrentCluster | null, desired: ClusterSpec): CatalogueMatters {
  const present = current === null || startsNow(current, desired) ? null : current.spec;
  const before = new Map(present?.nodePools.map((pool) => [pool.name, pool]));
  const isNewMachine = (pool: NodePoolSpec): boolean => {
    const old = before.get(pool.name);
    if (!isManaged(pool)) return false;
    return old === undefined || old.machineType !== pool.machineType || !sameImage(old, pool);
  };
  return {
    region: present === null,
    version:
      present?.kubernetesVersion !== desired.kubernetesVersion && !isPinnedTo(current, desired.kubernetesVersion),
    pools: [...desired.nodePools.keys()].filter((index) => isNewMachine(desired.nodePools[index] as NodePoolSpec)),
    growth: nodesOf(desired.nodePools) > nodesOf(present?.nodePools ?? []),
  };
}

/** A minor version is resolved once: declaring that of the present patch leaves the cluster where it is. */
function isPinnedTo(current: CurrentCluster | null, declared: string): boolean {
  const pinned = current?.pinnedVersion ?? null;
  return pinned !== null && (pinned === declared || pinned.startsWith(`${declared}.`));
}

const startsNow = ({ spec, startedAt }: CurrentCluster, desired: ClusterSpec): boolean =>
  startedAt === null && !hasWorkers(spec) && hasWorkers(desired);

const sameImage = (one: NodePoolSpec, other: NodePoolSpec): boolean =>
  one.image.name === other.image.name && one.image.version === other.image.version;

function checkRegion({ region }: ClusterSpec, { regions }: CloudProfile): void {
  if (regions.some(({ name }) => name === region)) return;
  throw invalidField('validation_failed', '/spec/region', `must be one of ${listed(regions.map(({ name }) => name))}`);
}

function checkVersion(
  current: CurrentCluster | null,
  { kubernetesVersion }: ClusterSpec,
  { catalogue, now }: CatalogueContext,
): void {
  const pointer = '/spec/kubernetesVersion';
  const resolved = resolveVersion(kubernetesVersion, catalogue.kubernetesVersions, now);
  if (resolved === null) {
    const offered = listed(usableVersions(catalogue.kubernetesVersions, now));
    throw invalidField('unsupported_version', pointer, `must be an available version: ${offered}`);
  }
  if (!current?.pinnedVersion) return;
  const obstacle = upgradeObstacle(current.pinnedVersion, resolved);
  if (obstacle !== null) throw invalidField('unsupported_version', pointer, obstacle);
}

function checkMachine(pool: NodePoolSpec, place: string, region: string, context: CatalogueContext): void {
  const { catalogue, features } = context;
  const pointer = `${place}/machineType`;
  const offered = catalogue.machineTypes.filter(
    (type) => type.usable && (type.architecture !== 'arm64' || features.has('arm64')),
  );
  const machine = catalogue.machineTypes.find(({ name }) => name === pool.machineType);
  if (machine === undefined || !machine.usable) {
    const names = listed(offered.map(({ name }) => name));
    throw invalidField('invalid_node_pool', pointer, `must be an available machine type: ${names}`);
  }
  if (!offered.includes(machine)) {
    throw lacksFeature('arm64', pointer, 'is a machine type of the unsupported architecture arm64. Choose another one');
  }
  const zones = catalogue.regions.find(({ name }) => name === region)?.zones ?? [];
  if (
    zones.length > 0 &&
    zones.every(({ unavailableMachineTypes }) => unavailableMachineTypes.includes(machine.name))
  ) {
    throw invalidField('invalid_node_pool', pointer, `is not available in ${region}. Choose another machine type`);
  }
  checkImage(pool, machine, place, context);
}

function checkImage(
  { image }: NodePoolSpec,
  machine: MachineType,
  place: string,
  { catalogue, now }: CatalogueContext,
): void {
  if (image.name === undefined) return;
  const offered = catalogue.images.find(({ name }) => name === image.name);
  if (offered === undefined) {
    const names = listed(catalogue.images.map(({ name }) => name));
    throw invalidField('invalid_node_pool', `${place}/image/name`, `must be an available image: ${names}`);
  }
  const usable = offered.versions.filter(
    (version) => isUsable(version, now) && version.architectures.includes(machine.architecture),
  );
  if (usable.some(({ version }) => image.version === undefined || version === image.version)) return;
  const versions = listed(usable.map(({ version }) => version));
  if (image.version === undefined) {
    throw invalidField('invalid_node_pool', `${place}/image/name`, `has no version that ${machine.name} can run`);
  }
  throw invalidField(
    'invalid_node_pool',
    `${place}/image/version`,
    `must be one that ${machine.name} can run: ${versions}`,
  );
}

/** Enough names to choose by. */
function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none currently';
  return names.length > 20 ? `${names.slice(0, 20).join(', ')} …` : names.join(', ');
}
