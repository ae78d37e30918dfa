import type { NodePoolSpec } from '@corral/contracts';
import canonicalize from 'canonicalize';

/** The image that the garden reports for the nodes of a pool. */
export interface SeenImage {
  readonly name: string;
  readonly version: string;
}

/**
 * Whether another declared image replaces nodes. The garden keeps the image in use when the declaration names none, and
 * its version when the declaration names the same image without a version.
 *
 * @param seen null when the garden has not reported the image. Then what the old declaration leaves open is unknown, and
 *   a new value counts as another one: a plan must not promise that nodes stay
 */
export function imageReplacesNodes(
  old: NodePoolSpec['image'],
  desired: NodePoolSpec['image'],
  seen: SeenImage | null,
): boolean {
  if (canonicalize(old) === canonicalize(desired)) return false;
  // Image options go to the provider's extension as they are, which may include them in its hash of the pool.
  if (canonicalize(optionsOf(old)) !== canonicalize(optionsOf(desired))) return true;
  const name = seen?.name ?? old.name;
  const version = seen?.version ?? old.version;
  if (desired.name === undefined) return false;
  if (desired.name !== name) return true;
  return desired.version !== undefined && desired.version !== version;
}

function optionsOf({ name: _name, version: _version, ...options }: NodePoolSpec['image']): object {
  return options;
}
