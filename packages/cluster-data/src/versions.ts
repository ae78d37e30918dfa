import type { CatalogueVersion } from '@corral/garden';
import semver from 'semver';

/* Finds the versions of the garden's catalogue that can be chosen. The API asks when it accepts a declaration, passes when they resolve it. */

/** Newer gardens have further classifications, all for versions that cannot be selected. */
const choosable: readonly string[] = ['preview', 'supported', 'deprecated'];

/** Whether the garden accepts the version for new clusters. A preview must be requested by its full version. */
export function isUsable({ classification, expirationDate }: CatalogueVersion, now: Date): boolean {
  if (!choosable.includes(classification)) return false;
  return expirationDate === null || Date.parse(expirationDate) > now.getTime();
}

/** The versions that can be declared in full, newest first. */
export function usableVersions(catalogue: readonly CatalogueVersion[], now: Date): string[] {
  const usable = catalogue.filter((entry) => semver.valid(entry.version) !== null && isUsable(entry, now));
  return usable.map(({ version }) => version).sort(semver.rcompare);
}

/**
 * Resolves a minor version to its newest usable patch version that is not a preview.
 *
 * @param minor such as `1.34`
 * @returns null when the catalogue has none
 */
export function newestPatch(minor: string, catalogue: readonly CatalogueVersion[], now: Date): string | null {
  const released = catalogue.filter(({ classification }) => classification !== 'preview');
  return usableVersions(released, now).find((version) => version.startsWith(`${minor}.`)) ?? null;
}
