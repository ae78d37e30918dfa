import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/**
 * Names a specification by its content: equal specifications have equal hashes, however their members were ordered.
 * The order of node pools counts, because it is part of what a client declared.
 *
 * @param spec complete, after defaults
 * @returns `sha256:` and the hex digest of the canonical JSON (RFC 8785)
 */
export function desiredHashOf(spec: object): string {
  // `undefined` comes back for what is no JSON value only.
  const canonical = canonicalize(spec) as string;
  return `sha256:${createHash('sha256').update(canonical).digest('hex')}`;
}
