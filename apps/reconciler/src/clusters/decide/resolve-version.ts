import { newestPatch } from '@corral/cluster-data';
import type { CatalogueVersion } from '@corral/garden';
import semver from 'semver';

/** The catalogue has no usable version for the declaration. */
export class VersionUnavailable extends Error {
  override readonly name = 'VersionUnavailable';
  constructor(readonly declared: string) {
    super(`no version of the catalogue can be used for ${declared}`);
  }
}

/**
 * Resolves a declared Kubernetes version to the full version to pin: a minor version to its newest patch that is neither
 * preview nor expired, a full version to itself. It is pinned because the garden resolves a minor version again with every
 * write, which would turn an unrelated change into an upgrade.
 *
 * @param running the Shoot's current version. Maintenance may have raised it, and the garden refuses a lower one
 * @throws VersionUnavailable
 */
export function resolveVersion(
  declared: string,
  catalogue: readonly CatalogueVersion[],
  running: string | null,
  now: Date,
): string {
  const chosen = semver.valid(declared) ?? newestPatch(declared, catalogue, now);
  if (running !== null && (chosen === null ? !semver.ltr(running, declared) : semver.gte(running, chosen))) {
    return running;
  }
  if (chosen === null) throw new VersionUnavailable(declared);
  return chosen;
}

/**
 * Whether a new version must be pinned: none is pinned, another version was declared, or maintenance has raised the Shoot's
 * version.
 */
export function isPinDue(declared: string, pinned: string | null, running: string | null): boolean {
  if (pinned === null) return true;
  if (running !== null && semver.gt(running, pinned)) return true;
  const wasRaised = pinned === running && semver.gtr(pinned, declared);
  return !semver.satisfies(pinned, declared) && !wasRaised;
}
