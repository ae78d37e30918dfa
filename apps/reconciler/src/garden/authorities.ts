import type { GardenClient } from '@corral/garden';
import { LRUCache } from 'lru-cache';

/** A Shoot with a certificate authority. */
export interface Proved {
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
export function authorities(garden: Pick<GardenClient, 'readAuthority'>, keptMax: number): Authorities {
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
