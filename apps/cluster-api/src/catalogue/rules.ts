import { isManaged, isUsable, newestPatch, usableVersions } from '@corral/cluster-data';
import type { ClusterSpec, NodePoolSpec } from '@corral/contracts';
import type { CatalogueVersion, CloudProfile, GardenFeature, ImageVersion, MachineType } from '@corral/garden';
import semver from 'semver';
import type { ClusterRecord } from '../clusters/store.js';
import { hasWorkers, nodesMaxOf, type PoolPointers } from '../node-pools/rules.js';
import { checkAll, invalidField, unsupportedByGarden } from '../problem.js';

/*
 * What a new cluster or pool may use. The checks of a declaration and the catalogue that clients read both ask here, so that
 * a form offers exactly what the API accepts.
 */

type Image = CloudProfile['images'][number];

/** A version that can be declared in full. `newestOf`: the minor version that stands for it. */
export interface OfferedVersion extends CatalogueVersion {
  readonly newestOf: string | null;
}

/** Newest first. */
export function offeredVersions({ kubernetesVersions }: CloudProfile, now: Date): OfferedVersion[] {
  const byVersion = new Map(kubernetesVersions.map((entry) => [entry.version, entry]));
  return usableVersions(kubernetesVersions, now).map((version) => {
    const minor = `${semver.major(version)}.${semver.minor(version)}`;
    const isNewest = newestPatch(minor, kubernetesVersions, now) === version;
    return { ...(byVersion.get(version) as CatalogueVersion), newestOf: isNewest ? minor : null };
  });
}

/**
 * Resolves a declared version: a full version stands for itself, a minor version for its newest patch. Previews must be
 * named in full.
 *
 * @param declared such as `1.34` or `1.34.3`
 * @returns the full version, or null when the catalogue offers none
 */
export function resolveVersion(declared: string, catalogue: readonly CatalogueVersion[], now: Date): string | null {
  const isOffered = usableVersions(catalogue, now).includes(declared);
  return isOffered ? declared : newestPatch(declared, catalogue, now);
}

/** The machine types that are offered in at least one region. */
export const offeredMachines = (
  { machineTypes }: CloudProfile,
  features: ReadonlySet<GardenFeature>,
): readonly MachineType[] =>
  machineTypes.filter(({ usable, architecture }) => usable && (architecture !== 'arm64' || features.has('arm64')));

/** A region without zones offers every machine type. */
export function isAvailableIn(region: string, machine: MachineType, { regions }: CloudProfile): boolean {
  const zones = regions.find(({ name }) => name === region)?.zones ?? [];
  return (
    zones.length === 0 || zones.some(({ unavailableMachineTypes }) => !unavailableMachineTypes.includes(machine.name))
  );
}

/** The versions of an image that are not expired. */
export const offeredImageVersions = ({ versions }: Image, now: Date): readonly ImageVersion[] =>
  versions.filter((version) => isUsable(version, now));

const runsOn = ({ architectures }: ImageVersion, { architecture }: MachineType): boolean =>
  architectures.includes(architecture);

export interface CatalogueContext {
  readonly catalogue: CloudProfile;
  readonly features: ReadonlySet<GardenFeature>;
  readonly pointers: PoolPointers;
  readonly now: Date;
}

/**
 * The parts of a change that must be checked against the catalogue. Unchanged parts are not checked, so a cluster on an
 * expired version can still be scaled.
 */
interface CatalogueChecks {
  readonly region: boolean;
  readonly version: boolean;
  /** Managed pools that are new or change their machine type or image: their indexes, and what they were. */
  readonly pools: readonly { readonly index: number; readonly before: NodePoolSpec | null }[];
  readonly growth: boolean;
}

/** Whether a change must be checked against the catalogue. */
export function needsCatalogue(current: ClusterRecord | null, desired: ClusterSpec): boolean {
  const { region, version, pools, growth } = checksFor(current, desired);
  return region || version || growth || pools.length > 0;
}

/**
 * Checks a change against what the garden currently offers.
 *
 * @throws Problem `validation_failed`, `unsupported_version`, `invalid_node_pool` or `unsupported_by_garden`, with each invalid field
 */
export function checkCatalogue(current: ClusterRecord | null, desired: ClusterSpec, context: CatalogueContext): void {
  const { catalogue, pointers } = context;
  const checks = checksFor(current, desired);
  const nodes = nodesMaxOf(desired.nodePools);
  checkAll([
    () => {
      if (checks.region) checkRegion(desired, catalogue);
    },
    () => {
      if (checks.version) checkVersion(current, desired, context);
    },
    ...checks.pools.map(({ index, before }) => () => {
      checkMachine(desired.nodePools[index] as NodePoolSpec, before, pointers.pool(index), desired.region, context);
    }),
    () => {
      if (!checks.growth || catalogue.maxNodesTotal === null || nodes <= catalogue.maxNodesTotal) return;
      throw invalidField(
        'unsupported_by_garden',
        pointers.pools,
        `may grow to ${nodes} nodes in all; the limit per cluster is ${catalogue.maxNodesTotal}. Lower the maximum of a pool`,
      );
    },
  ]);
}

/** A draft that gets its first workers counts as new: the catalogue may have changed since it was declared. */
function checksFor(current: ClusterRecord | null, desired: ClusterSpec): CatalogueChecks {
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
    pools: desired.nodePools.flatMap((pool, index) =>
      isNewMachine(pool) ? [{ index, before: before.get(pool.name) ?? null }] : [],
    ),
    growth: nodesMaxOf(desired.nodePools) > nodesMaxOf(present?.nodePools ?? []),
  };
}

/** A minor version is resolved once. Declaring the minor version of the current patch does not upgrade the cluster. */
export function isPinnedTo(current: ClusterRecord | null, declared: string): boolean {
  const pinned = current?.pinnedVersion ?? null;
  return pinned !== null && (pinned === declared || pinned.startsWith(`${declared}.`));
}

const startsNow = ({ spec, startedAt }: ClusterRecord, desired: ClusterSpec): boolean =>
  startedAt === null && !hasWorkers(spec) && hasWorkers(desired);

const sameImage = (one: NodePoolSpec, other: NodePoolSpec): boolean =>
  one.image.name === other.image.name && one.image.version === other.image.version;

function checkRegion({ region }: ClusterSpec, { regions }: CloudProfile): void {
  if (regions.some(({ name }) => name === region)) return;
  throw invalidField('validation_failed', '/spec/region', `must be one of ${listed(regions.map(({ name }) => name))}`);
}

function checkVersion(
  current: ClusterRecord | null,
  { kubernetesVersion }: ClusterSpec,
  { catalogue, now }: CatalogueContext,
): void {
  const pointer = '/spec/kubernetesVersion';
  const resolved = resolveVersion(kubernetesVersion, catalogue.kubernetesVersions, now);
  const obstacleTo = (version: string) =>
    current?.pinnedVersion ? upgradeObstacle(current.pinnedVersion, version) : null;
  if (resolved === null) {
    const offered = offeredVersions(catalogue, now).filter(({ version }) => obstacleTo(version) === null);
    throw invalidField('unsupported_version', pointer, choiceOfVersions(kubernetesVersion, offered));
  }
  const obstacle = obstacleTo(resolved);
  if (obstacle !== null) throw invalidField('unsupported_version', pointer, obstacle);
}

/** @returns the end of an error message that names only versions that would be accepted as they are written there */
function choiceOfVersions(declared: string, offered: readonly CatalogueVersion[]): string {
  const previews = offered.filter(isPreview).map(({ version }) => version);
  const ofMinor = previews.filter((version) => version.startsWith(`${declared}.`));
  if (ofMinor.length > 0) {
    return `must be a full version, because there are only previews of ${declared}: ${listed(ofMinor)}`;
  }
  const released = offered.filter((each) => !isPreview(each)).map(({ version }) => version);
  const more = previews.length === 0 ? '' : `; or a preview: ${listed(previews)}`;
  return `must be an available version: ${listed(released)}${more}`;
}

const isPreview = ({ classification }: CatalogueVersion): boolean => classification === 'preview';

/** What a pool keeps may be over: the garden does not look at it again. */
function checkMachine(
  pool: NodePoolSpec,
  before: NodePoolSpec | null,
  place: string,
  region: string,
  context: CatalogueContext,
): void {
  const typeOf = (wanted: string | undefined) => context.catalogue.machineTypes.find(({ name }) => name === wanted);
  const machine = typeOf(pool.machineType);
  if (before?.machineType !== pool.machineType) checkMachineType(machine, `${place}/machineType`, region, context);
  const keepsImage = before !== null && sameImage(before, pool);
  if (keepsImage && typeOf(before.machineType)?.architecture === machine?.architecture) return;
  checkImage(pool, machine, place, context);
}

function checkMachineType(
  machine: MachineType | undefined,
  pointer: string,
  region: string,
  { catalogue, features }: CatalogueContext,
): void {
  const offered = offeredMachines(catalogue, features);
  if (machine === undefined || !machine.usable) {
    const names = listed(offered.filter((each) => isAvailableIn(region, each, catalogue)).map(({ name }) => name));
    throw invalidField('invalid_node_pool', pointer, `must be an available machine type: ${names}`);
  }
  if (!offered.includes(machine)) {
    throw unsupportedByGarden(
      'arm64',
      pointer,
      'is a machine type of the unsupported architecture arm64. Choose another one',
    );
  }
  if (!isAvailableIn(region, machine, catalogue)) {
    throw invalidField('invalid_node_pool', pointer, `is not available in ${region}. Choose another machine type`);
  }
}

function checkImage(
  { image, machineType }: NodePoolSpec,
  machine: MachineType | undefined,
  place: string,
  { catalogue, now }: CatalogueContext,
): void {
  if (image.name === undefined) return;
  const usableOf = (offered: CloudProfile['images'][number] | undefined): string[] =>
    (offered === undefined ? [] : offeredImageVersions(offered, now))
      .filter((version) => machine === undefined || runsOn(version, machine))
      .map(({ version }) => version);
  const usable = usableOf(catalogue.images.find(({ name }) => name === image.name));
  if (usable.length === 0) {
    const names = listed(catalogue.images.filter((each) => usableOf(each).length > 0).map(({ name }) => name));
    const message = `must be an available image that ${machineType} can run: ${names}`;
    throw invalidField('invalid_node_pool', `${place}/image/name`, message);
  }
  if (image.version === undefined || usable.some((version) => version === image.version)) return;
  throw invalidField(
    'invalid_node_pool',
    `${place}/image/version`,
    `must be one that ${machineType} can run: ${listed(usable)}`,
  );
}

/** Lists at most 20 names for an error message. */
function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none currently';
  return names.length > 20 ? `${names.slice(0, 20).join(', ')} …` : names.join(', ');
}

/**
 * Explains why a cluster cannot go from one full version to another (kubernetes.io: version skew policy).
 *
 * @returns the end of an error message, or null when the change is allowed
 */
export function upgradeObstacle(from: string, to: string): string | null {
  if (semver.lt(to, from)) return `is lower than the current version ${from}; downgrades are not supported`;
  const skips = semver.major(to) !== semver.major(from) || semver.minor(to) > semver.minor(from) + 1;
  return skips ? `skips a minor version after the current version ${from}; upgrade one minor version at a time` : null;
}
