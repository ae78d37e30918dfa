import { type CatalogueVersion, newestPatch } from '@corral/garden';
import semver from 'semver';

/** The catalogue has nothing for what was declared. */
export class VersionUnavailable extends Error {
  override readonly name = 'VersionUnavailable';
  constructor(readonly declared: string) {
    super(`no version of the catalogue can be used for ${declared}`);
  }
}

/**
 * Resolves a declared Kubernetes version to the full one that is pinned: a minor one to its newest patch that is neither
 * a preview nor expired, a full one to itself. It is pinned because the garden expands a minor version anew with every
 * write, so that an unrelated change became an upgrade.
 *
 * @param running the version that the Shoot has. Maintenance may have raised it, and the garden refuses a lower one
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
 * Whether the pinned version no longer is the one to render: there is none, another version was declared, or
 * maintenance has raised the Shoot's.
 */
export function isPinDue(declared: string, pinned: string | null, running: string | null): boolean {
  if (pinned === null) return true;
  if (running !== null && semver.gt(running, pinned)) return true;
  const wasRaised = pinned === running && semver.gtr(pinned, declared);
  return !semver.satisfies(pinned, declared) && !wasRaised;
}
