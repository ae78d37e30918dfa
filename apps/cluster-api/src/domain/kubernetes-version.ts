import { type CatalogueVersion, newestPatch, usableVersions } from '@corral/garden';
import semver from 'semver';

/**
 * Finds the full version that a declared one stands for: itself, or of a minor version the newest patch. A preview is
 * taken only by its full name.
 *
 * @param declared such as `1.34` or `1.34.3`
 * @returns null when the catalogue has none that can be used
 */
export function resolveVersion(declared: string, catalogue: readonly CatalogueVersion[], now: Date): string | null {
  const isOffered = usableVersions(catalogue, now).includes(declared);
  return isOffered ? declared : newestPatch(declared, catalogue, now);
}

/**
 * Says why a cluster cannot go from one full version to another (kubernetes.io: version skew policy).
 *
 * @returns null when it can
 */
export function upgradeObstacle(from: string, to: string): string | null {
  if (semver.lt(to, from)) return `is lower than the current version ${from}; downgrades are not supported`;
  const skips = semver.major(to) !== semver.major(from) || semver.minor(to) > semver.minor(from) + 1;
  return skips ? `skips a minor version after the current version ${from}; upgrade one minor version at a time` : null;
}
