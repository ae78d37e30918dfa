import semver from 'semver';
import type { CatalogueVersion } from './cloud-profile.js';

/** Newer gardens know further classifications, of what cannot be newly chosen. */
const choosable: readonly string[] = ['preview', 'supported', 'deprecated'];

/** Whether the garden takes the version for something new. A preview is taken only by its full name. */
export function isUsable({ classification, expirationDate }: CatalogueVersion, now: Date): boolean {
  if (!choosable.includes(classification)) return false;
  return expirationDate === null || Date.parse(expirationDate) > now.getTime();
}

/** Those that can be declared by their full names, newest first. */
export function usableVersions(catalogue: readonly CatalogueVersion[], now: Date): string[] {
  const usable = catalogue.filter((entry) => semver.valid(entry.version) !== null && isUsable(entry, now));
  return usable.map(({ version }) => version).sort(semver.rcompare);
}

/**
 * The patch that a minor version stands for: the newest that can be used and is no preview.
 *
 * @param minor such as `1.34`
 * @returns null when the catalogue has none
 */
export function newestPatch(minor: string, catalogue: readonly CatalogueVersion[], now: Date): string | null {
  const released = catalogue.filter(({ classification }) => classification !== 'preview');
  return usableVersions(released, now).find((version) => version.startsWith(`${minor}.`)) ?? null;
}
