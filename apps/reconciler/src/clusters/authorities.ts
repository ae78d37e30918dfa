import type { GardenClient } from '@corral/garden';

/** A Shoot whose API server is proved by some authority. */
export interface Proved {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** As the facts of the Shoot have it. */
  readonly rotation: string | null;
}

export interface Authorities {
  /**
   * @returns PEM in base64; null while the garden has none
   * @throws GardenError
   */
  read(shoot: Proved, signal: AbortSignal): Promise<string | null>;
}

/**
 * The certificate authorities of Shoots. One is read again only after its exchange has got on, as the Shoot tells: passes
 * come often while a cluster changes, and authorities stay for years.
 *
 * @param keptMax of so many Shoots they are remembered
 */
export function authorities(garden: Pick<GardenClient, 'readAuthority'>, keptMax: number): Authorities {
  const kept = new Map<string, { readonly rotation: string | null; readonly data: string }>();
  return {
    async read({ uid, rotation, ...shoot }, signal) {
      const known = kept.get(uid);
      if (known !== undefined && known.rotation === rotation) return known.data;
      const pem = await garden.readAuthority(shoot, signal);
      kept.delete(uid);
      if (pem === null) return null;
      const data = Buffer.from(pem).toString('base64');
      kept.set(uid, { rotation, data });
      const [oldest] = kept.keys();
      if (kept.size > keptMax && oldest !== undefined) kept.delete(oldest);
      return data;
    },
  };
}
