import { isUsable } from '@corral/cluster-data';
import type { CloudProfile } from '@corral/garden';
import semver from 'semver';
import type { Catalogue } from '../garden/catalogue.js';
import type { Desired, DesiredPool, Observed } from './model.js';
import { factsOf, type WorkerFacts } from './observe.js';

/**
 * The declaration as the garden can have it: its maintenance raises images that have expired, and it refuses to set them back.
 *
 * @throws GardenError when the catalogue is needed and cannot be read
 */
export async function withRaisedImages(
  catalogue: Catalogue,
  desired: Desired,
  seen: Observed,
  now: Date,
  signal: AbortSignal,
): Promise<Desired> {
  if (seen.kind !== 'present' || desired.isDeleting) return desired;
  const { workers } = factsOf(seen.shoot);
  if (!desired.pools.some((pool) => laterImage(pool, workers) !== null)) return desired;
  const raised = raisedIn(desired, workers, (await catalogue.read(signal)).images, now);
  const isExplained = raised.pools.every((pool) => laterImage(pool, workers) === (pool.raisedImage ?? null));
  // What passes share of the catalogue may be older than the raise.
  return isExplained ? raised : raisedIn(desired, workers, (await catalogue.read(signal, 0)).images, now);
}

/** Pure: marks the pools that run a later version of their image because the declared one is no longer offered. */
export function raisedIn(
  desired: Desired,
  workers: readonly WorkerFacts[],
  images: CloudProfile['images'],
  now: Date,
): Desired {
  const isOffered = ({ name, version }: DesiredPool['image']): boolean =>
    images.some(
      (image) => image.name === name && image.versions.some((each) => each.version === version && isUsable(each, now)),
    );
  const pools = desired.pools.map((pool) => {
    const raisedImage = laterImage(pool, workers);
    return raisedImage === null || isOffered(pool.image) ? pool : { ...pool, raisedImage };
  });
  return { ...desired, pools };
}

/** The version that a pool runs, if it is a later one of the image that it declares. */
function laterImage({ image, workerName }: DesiredPool, workers: readonly WorkerFacts[]): string | null {
  const present = workers.find(({ name }) => name === workerName)?.image;
  if (present?.version == null || present.name !== image.name || typeof image.version !== 'string') return null;
  const [declared, running] = [semver.coerce(image.version), semver.coerce(present.version)];
  return declared !== null && running !== null && semver.gt(running, declared) ? present.version : null;
}
