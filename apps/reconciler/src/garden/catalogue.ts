import type { CloudProfile, GardenClient } from '@corral/garden';

export interface Catalogue {
  /**
   * @param ageMsMax milliseconds. Default: the usual age
   * @throws GardenError
   */
  read(signal: AbortSignal, ageMsMax?: number): Promise<CloudProfile>;
}

/** The CloudProfile, shared by all passes and read at most once per `freshMs`. A failed read is not cached. */
export function catalogue(garden: Pick<GardenClient, 'readCloudProfile'>, freshMs: number): Catalogue {
  let known: { readonly readAt: number; readonly profile: CloudProfile } | null = null;
  let reading: Promise<CloudProfile> | null = null;

  // Without the caller's signal, because others may be waiting for the same answer.
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
