import type { CloudProfile, GardenClient } from '@corral/garden';

export interface Catalogue {
  /** @throws GardenError */
  read(signal: AbortSignal): Promise<CloudProfile>;
}

/** The CloudProfile, read once in `freshMs` for all passes together. A failed read is not kept. */
export function catalogue(garden: Pick<GardenClient, 'readCloudProfile'>, freshMs: number): Catalogue {
  let known: { readonly readAt: number; readonly profile: CloudProfile } | null = null;
  let reading: Promise<CloudProfile> | null = null;

  // Without anybody's signal: others may be waiting for the same answer.
  const readAnew = async (): Promise<CloudProfile> => {
    const readAt = performance.now();
    const profile = await garden.readCloudProfile();
    known = { readAt, profile };
    return profile;
  };
  return {
    async read(signal) {
      signal.throwIfAborted();
      if (known !== null && performance.now() - known.readAt < freshMs) return known.profile;
      reading ??= readAnew().finally(() => {
        reading = null;
      });
      return reading;
    },
  };
}
