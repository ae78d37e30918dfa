import type { Clock, PlacesPerKey } from '@corral/rate-limit';
import type { Followed } from './follow-actions.js';

export interface HeldReadsDeps {
  readonly clock: Clock;
  /** A read is answered after so long, whatever is known by then. */
  readonly holdMs: number;
  /** Of a token's held reads. */
  readonly places: PlacesPerKey;
  /** Aborted when the process is about to end: nothing is held from then on. */
  readonly draining: AbortSignal;
}

/** A request that may be held. */
export interface Asker {
  /** Aborted when nobody waits for it any more. */
  readonly gone: AbortSignal;
  /** Does not count it as work in flight while it is held. @returns counts it again */
  readonly setAside: () => () => void;
}

export interface HeldReads {
  /**
   * Holds a read until there is news, for as long as reads are held.
   *
   * @returns false when it is not held: the token has too many, or the process is about to end
   */
  hold(tokenId: string, asker: Asker, follow: () => Followed): Promise<boolean>;
}

/** Reads that wait for news, of this process. */
export function heldReads({ clock, holdMs, places, draining }: HeldReadsDeps): HeldReads {
  const releases = new Set<() => void>();
  draining.addEventListener('abort', () => {
    for (const release of releases) release();
  });

  return {
    async hold(tokenId, { gone, setAside }, follow) {
      if (draining.aborted) return false;
      const leave = places.enter(tokenId);
      if (leave === null) return false;
      let release: () => void = () => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      releases.add(release);
      gone.addEventListener('abort', release, { once: true });
      const callOff = clock.after(holdMs, release);
      const followed = follow();
      const goOn = setAside();
      try {
        if (!gone.aborted) await Promise.race([followed.told, released]);
      } finally {
        followed.stop();
        callOff();
        gone.removeEventListener('abort', release);
        releases.delete(release);
        leave();
        goOn();
      }
      return true;
    },
  };
}
