import type { ClusterSpec } from '@corral/contracts';
import { isSame } from './plan.js';

/**
 * Whether a cluster has all that a declaration says. Absent fields took defaults, and a minor version of Kubernetes was
 * resolved to a patch version.
 */
export function isDeclared(declared: Partial<ClusterSpec>, present: ClusterSpec): boolean {
  const { kubernetesVersion: version, nodePools, ...others } = declared;
  const hasVersion =
    version === undefined ||
    version === present.kubernetesVersion ||
    present.kubernetesVersion.startsWith(`${version}.`);
  return hasVersion && isPartOf(others, present) && (nodePools === undefined || hasPools(nodePools, present.nodePools));
}

/** Pools are matched by name: their order says nothing. */
const hasPools = (declared: ClusterSpec['nodePools'], present: ClusterSpec['nodePools']): boolean =>
  declared.length === present.length &&
  declared.every((pool) =>
    isPartOf(
      pool,
      present.find(({ name }) => name === pool.name),
    ),
  );

function isPartOf(part: unknown, whole: unknown): boolean {
  if (Array.isArray(part)) {
    return Array.isArray(whole) && part.length === whole.length && part.every((each, at) => isPartOf(each, whole[at]));
  }
  if (typeof part !== 'object' || part === null) return isSame(part, whole);
  const members = (whole ?? {}) as Record<string, unknown>;
  return Object.entries(part).every(([name, value]) => isPartOf(value, members[name]));
}
