import { createHash } from 'node:crypto';
import type { ClusterSpec } from '@corral/contracts';
import canonicalize from 'canonicalize';

/**
 * Hashes a specification by content. The order of object members does not matter. The order of node pools does, because
 * it is part of what the client declared.
 *
 * @param spec complete, after defaults
 * @returns `sha256:` and the hex digest of the canonical JSON (RFC 8785)
 */
export function desiredHashOf(spec: object): string {
  // `canonicalize` returns `undefined` only for values that JSON cannot represent.
  const canonical = canonicalize(spec) as string;
  return `sha256:${createHash('sha256').update(canonical).digest('hex')}`;
}

/** Deletion protection counts while it is set: specifications that were stored without the field keep their hash. */
export function specHashOf({
  deletionProtection,
  ...rest
}: Omit<ClusterSpec, 'deletionProtection'> & Partial<ClusterSpec>): string {
  return desiredHashOf(deletionProtection ? { ...rest, deletionProtection } : rest);
}
