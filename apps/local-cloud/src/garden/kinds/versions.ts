/** Major, minor and patch of a version; null when it is not three numbers. */
export function parseVersion(version: string): readonly [number, number, number] | null {
  const parts = /^v?(\d+)\.(\d+)\.(\d+)(?:[-+].*)?$/.exec(version);
  return parts === null ? null : [Number(parts[1]), Number(parts[2]), Number(parts[3])];
}

/** Negative when `a` is older. Versions that are none count as oldest. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parseVersion(a) ?? [-1, 0, 0], parseVersion(b) ?? [-1, 0, 0]];
  const differing = left.findIndex((part, index) => part !== right[index]);
  return differing < 0 ? 0 : (left[differing] ?? 0) - (right[differing] ?? 0);
}

/** How many minor versions `b` is ahead of `a`; a major version counts as a thousand. */
export function minorsBetween(a: string, b: string): number {
  const [left, right] = [parseVersion(a) ?? [0, 0, 0], parseVersion(b) ?? [0, 0, 0]];
  return (right[0] - left[0]) * 1000 + right[1] - left[1];
}
