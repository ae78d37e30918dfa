import type { CloudProfile, GardenClient } from '@corral/garden';
import { LRUCache } from 'lru-cache';

export interface Catalogue {
  /**
   * @param ageMsMax milliseconds. Default: the usual age
   * @throws GardenError
   */
  read(signal: AbortSignal, ageMsMax?: number): Promise<CloudProfile>;
}

/** The CloudProfile, shared by all passes and read at most once per `freshMs`. A failed read is not cached. */
export function catalogue(garden: GardenClient, freshMs: number): Catalogue {
  let known: { readonly readAt: number; readonly profile: CloudProfile } | null = null;
  let reading: Promise<CloudProfile> | null = null;

  // The caller's signal is left out, because others may be waiting for the same answer.
  const readAgain = async (): Promise<CloudProfile> => {
    const readAt = performance.now();
    const profile = await garden.readCloudProfile();
    known = { readAt, profile };
    return profile;
  };
  return {
    async read(signal, ageMsMax = freshMs) {
      signal.throwIfAborted();
      if (known !== null && performance.now() - known.readAt < ageMsMax) return known.profile;
      reading ??= readAgain().finally(() => {
        reading = null;
      });
      return reading;
    },
  };
}

/** A Shoot with a certificate authority. */
interface Proved {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** `authorityRotation` of the Shoot's facts. */
  readonly rotation: string | null;
}

export interface Authorities {
  /**
   * @returns PEM in base64, or null while the garden has none
   * @throws GardenError
   */
  read(shoot: Proved, signal: AbortSignal): Promise<string | null>;
}

/**
 * A cache of certificate authorities. One is read again only after its rotation has progressed, as the Shoot reports: passes
 * are frequent while a cluster changes, and authorities are valid for years.
 *
 * @param keptMax maximum number of cached Shoots
 */
export function authorities(garden: GardenClient, keptMax: number): Authorities {
  const kept = new LRUCache<string, { readonly rotation: string | null; readonly data: string }>({ max: keptMax });
  return {
    async read({ uid, rotation, ...shoot }, signal) {
      const known = kept.get(uid);
      if (known !== undefined && known.rotation === rotation) return known.data;
      const pem = await garden.readAuthority(shoot, signal);
      kept.delete(uid);
      if (pem === null) return null;
      const data = Buffer.from(pem).toString('base64');
      kept.set(uid, { rotation, data });
      return data;
    },
  };
}
