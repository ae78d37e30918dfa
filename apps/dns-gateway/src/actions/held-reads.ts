import type { Clock, Places } from '@corral/admission';
import type { Followed } from './follow-actions.js';

export interface HeldReadsDeps {
  readonly clock: Clock;
  /** Maximum hold time in milliseconds. */
  readonly holdMs: number;
  /** Places for held reads per token. */
  readonly places: Places;
  /** Aborted when the process drains. Nothing is held afterwards. */
  readonly draining: AbortSignal;
}

/** A request that may be held. */
export interface Asker {
  /** Aborted when the client disconnects. */
  readonly gone: AbortSignal;
  /** Excludes the request from the work in flight while it is held. @returns a function that includes it again */
  readonly setAside: () => () => void;
}

export interface HeldReads {
  /**
   * Holds a read until the followed actions change, up to the maximum hold time.
   *
   * @returns false when it is not held, because the token has too many held reads or the process drains
   */
  hold(tokenId: string, asker: Asker, follow: () => Followed): Promise<boolean>;
}

/** Reads of this process that are held until actions change. */
export function heldReads({ clock, holdMs, places, draining }: HeldReadsDeps): HeldReads {
  const releases = new Set<() => void>();
  draining.addEventListener('abort', () => {
    for (const release of releases) release();
  });

  return {
    async hold(tokenId, { gone, setAside }, follow) {
      if (draining.aborted) return false;
      const leave = places.take(tokenId);
      if (leave === null) return false;
      const { promise: released, resolve } = Promise.withResolvers<void>();
      const release = () => resolve();
      releases.add(release);
      gone.addEventListener('abort', release, { once: true });
      const callOff = clock.after(holdMs, release);
      const followed = follow();
      const goOn = setAside();
      try {
        if (!gone.aborted) await Promise.race([followed.done, released]);
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
