import {
  type CatalogueVersion,
  type CloudProfile,
  type GardenFeature,
  type ImageVersion,
  isUsable,
  type MachineType,
  newestPatch,
  usableVersions,
} from '@corral/garden';
import semver from 'semver';

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
export function isAvailableIn(region: string, machine: Pick<MachineType, 'name'>, { regions }: CloudProfile): boolean {
  const zones = regions.find(({ name }) => name === region)?.zones ?? [];
  return (
    zones.length === 0 || zones.some(({ unavailableMachineTypes }) => !unavailableMachineTypes.includes(machine.name))
  );
}

/** The versions of an image that are not expired. */
export const offeredImageVersions = ({ versions }: Image, now: Date): readonly ImageVersion[] =>
  versions.filter((version) => isUsable(version, now));

export const runsOn = ({ architectures }: ImageVersion, { architecture }: MachineType): boolean =>
  architectures.includes(architecture);
