import semver from 'semver';

const orOldest = (version: string) => semver.parse(version) ?? '0.0.0';

/** Negative if `a` is older. Invalid versions sort as the oldest. */
export const compareVersions = (a: string, b: string): number => semver.compare(orOldest(a), orOldest(b));

/** Number of minor versions from `a` to `b`. A major version counts as a thousand. */
export function minorsBetween(a: string, b: string): number {
  const [from, to] = [orOldest(a), orOldest(b)];
  return (semver.major(to) - semver.major(from)) * 1000 + semver.minor(to) - semver.minor(from);
}

/** The newest version in a range such as `1.34`. The empty range matches all. */
export function newestIn<V extends { readonly version: string }>(versions: readonly V[], range = ''): V | undefined {
  const newest = semver.maxSatisfying(
    versions.map(({ version }) => version),
    range,
  );
  return versions.find(({ version }) => version === newest);
}
