/** How much work a process takes on. */
export interface FlightBounds {
  /** Requests that are worked on at once while more come than can be served. */
  readonly max: number;
  /** Requests that are worked on at once in a burst, and whatever happens. */
  readonly burst: number;
}

/** The work in flight as a request meets it, which is not among it yet. */
export interface Crowd {
  readonly inFlight: number;
  /** How much of it is that of the same owner. */
  readonly own: number;
  /** Whose work it is, the owner of the request included. */
  readonly owners: number;
  /** Whether it has been crowded for longer than bursts last. */
  readonly isLasting: boolean;
}

/**
 * Whether a request is taken on. A crowd that lasts leaves each owner an equal part of `max`, and what one does not use is
 * anybody's; so those of the busiest are refused first, and who has less than a part is taken as long as there is any room.
 */
export function takes({ inFlight, own, owners, isLasting }: Crowd, { max, burst }: FlightBounds): boolean {
  if (inFlight >= burst) return false;
  return !isLasting || inFlight < max || own < max / owners;
}

/** For so long it may be crowded in one burst. */
export const BURST_MS = 250;
/** This part of the time in which it is not crowded makes up for a burst: 5 s for a whole one. */
const RECOVERY = 1 / 20;

/** Much is free when, for so long, less than half of what may be in flight was. Work often ends all at once. */
const FREE_MS = 50;

/** What is left of the time for bursts, and since when it has been so. Spent while `max` or more are in flight. */
export interface Patience {
  readonly leftMs: number;
  readonly at: number;
}

/** @param isCrowded whether it was crowded from then until now */
export function spend({ leftMs, at }: Patience, isCrowded: boolean, now: number): Patience {
  const passed = Math.max(0, now - at);
  return { leftMs: Math.min(BURST_MS, Math.max(0, leftMs + (isCrowded ? -passed : passed * RECOVERY))), at: now };
}

/** A request that was taken on. */
export interface Flight {
  /**
   * Counts it as another owner's from now on, unless that one would not be taken on.
   *
   * @returns false when it would not: the request is to be refused
   */
  moveTo(owner: string): boolean;
  /** Does not count it while it waits for something that has bounds of its own. May overlap. @returns ends that */
  rest(): () => void;
  /** Has ended, however. */
  end(): void;
}

export interface WorkInFlight {
  /**
   * @param hasWaited whether it was sent some time ago: an answer to it comes late, so it is taken only where much is free
   * @returns null for a request that is to be refused
   */
  begin(owner: string, hasWaited?: boolean): Flight | null;
  count(): number;
  /** Whose work it is; of the same owner it is known by the same text. */
  owners(): number;
}

/** Counts the work in flight of one process, by whose it is. */
export function workInFlight(bounds: FlightBounds, now: () => number): WorkInFlight {
  const counts = new Map<string, number>();
  let inFlight = 0;
  let busyAt = Number.NEGATIVE_INFINITY;
  let patience: Patience = { leftMs: BURST_MS, at: now() };

  const add = (owner: string, by: 1 | -1): void => {
    // Time is looked at where the crowd begins or ends, and where it decides something.
    if (inFlight === (by === 1 ? bounds.max - 1 : bounds.max)) look();
    inFlight += by;
    if (inFlight >= bounds.max / 2) busyAt = now();
    const count = (counts.get(owner) ?? 0) + by;
    if (count === 0) counts.delete(owner);
    else counts.set(owner, count);
  };
  const look = (): void => {
    patience = spend(patience, inFlight >= bounds.max, now());
  };
  const hasRoom = (owner: string): boolean => {
    if (inFlight < Math.min(bounds.max, bounds.burst)) return true;
    look();
    const own = counts.get(owner) ?? 0;
    const owners = counts.size + (own === 0 ? 1 : 0);
    return takes({ inFlight, own, owners, isLasting: patience.leftMs === 0 }, bounds);
  };

  const flightOf = (first: string): Flight => {
    let owner = first;
    let rests = 0;
    let ended = false;
    const isCounted = (): boolean => !ended && rests === 0;
    return {
      moveTo(next) {
        if (next === owner) return true;
        if (!isCounted()) {
          owner = next;
          return true;
        }
        add(owner, -1);
        const goesOn = hasRoom(next);
        if (goesOn) owner = next;
        add(owner, 1);
        return goesOn;
      },
      rest() {
        if (isCounted()) add(owner, -1);
        rests += 1;
        let resting = true;
        return () => {
          if (!resting) return;
          resting = false;
          rests -= 1;
          if (isCounted()) add(owner, 1);
        };
      },
      end() {
        if (isCounted()) add(owner, -1);
        ended = true;
      },
    };
  };

  return {
    begin(owner, hasWaited = false) {
      if (hasWaited && now() - busyAt < FREE_MS) return null;
      if (!hasRoom(owner)) return null;
      add(owner, 1);
      return flightOf(owner);
    },
    count: () => inFlight,
    owners: () => counts.size,
  };
}
