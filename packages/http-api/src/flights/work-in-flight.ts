/** How much work a process takes on. */
export interface FlightBounds {
  /** Requests that are taken on while more come than can be served. */
  readonly max: number;
  /** Requests that are taken on in a burst. Beyond it are at most `max` more, of those who have less than an equal part. */
  readonly burst: number;
  /** Requests that are worked on at once; those beyond it have turns. */
  readonly concurrency: number;
}

/** The work in flight as a request meets it, which is not among it yet. */
export interface Crowd {
  readonly inFlight: number;
  /** How much of it is that of the same owner. */
  readonly own: number;
  /** Whose work it is, the owner of the request included. */
  readonly owners: number;
}

/**
 * How a request is taken on: as there is `room` for it, or as part of a `burst`, of which so many are `left`, or not at all.
 * A crowd that lasts leaves each owner an equal part of `max`, and what one does not use is anybody's; so those of the
 * busiest are refused first. Who has less than a part finds room, however large the burst of others is.
 */
export function takes(
  { inFlight, own, owners }: Crowd,
  { max, burst }: FlightBounds,
  left: number,
): 'room' | 'burst' | null {
  if (own < max / owners) return inFlight < burst + max ? 'room' : null;
  if (inFlight < max) return 'room';
  return inFlight < burst && left >= 1 ? 'burst' : null;
}

/** The requests that are worked on, as one that was taken on meets them. */
export interface Shop {
  readonly working: number;
  /** How many of them are those of the same owner. */
  readonly own: number;
  /** Whose work is in flight, the owner of the request included. */
  readonly owners: number;
  /** How many of the same owner have begun in this turn of the event loop. */
  readonly ownOfTurn: number;
}

/**
 * So much begins in one turn of the event loop. Much of it may be done in the same turn, and whatever others wait for, be it
 * an answer of the database, is read only after it.
 */
export const PER_TURN = 4;

/**
 * Whether work on a request begins, or it waits for others to end or for the next turn of the event loop. Nobody waits for
 * what others have sent at once: who has less than an equal part of `concurrency` waits for no more than what they sent themselves.
 */
export const starts = ({ working, own, owners, ownOfTurn }: Shop, { concurrency }: FlightBounds): boolean =>
  ownOfTurn < PER_TURN && (working < concurrency || own < concurrency / owners);

/**
 * So many times `max` requests are taken in bursts until there was room again. Requests are counted, not time, so that a
 * slow machine takes the same bursts as a fast one.
 */
export const BURST_REQUESTS = 10;
/** Without a crowd a whole burst is made up for in so long. */
export const BURST_RECOVERY_MS = 5_000;

/** Much is free when, for so long, less than half of what may be in flight was. Work often ends all at once. */
const FREE_MS = 50;

/** How many more requests are taken in bursts, and since when it has been so. */
export interface Patience {
  readonly left: number;
  readonly at: number;
}

/**
 * @param full what is left when all has been made up for
 * @param isCrowded whether it was crowded from then until now
 */
export function recover({ left, at }: Patience, full: number, isCrowded: boolean, now: number): Patience {
  const passed = isCrowded ? 0 : Math.max(0, now - at);
  return { left: Math.min(full, left + (full * passed) / BURST_RECOVERY_MS), at: now };
}

/** A request that was taken on. */
export interface Flight {
  /**
   * Begins the work on it, now or when it is its turn, but not once it has ended. Called once.
   *
   * @returns whether it has begun
   */
  start(work: () => void): boolean;
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

/** Counts by owner. */
function tally() {
  const counts = new Map<string, number>();
  let total = 0;
  return {
    add(owner: string, by: 1 | -1): void {
      total += by;
      const count = (counts.get(owner) ?? 0) + by;
      if (count === 0) counts.delete(owner);
      else counts.set(owner, count);
    },
    of: (owner: string): number => counts.get(owner) ?? 0,
    total: () => total,
    owners: () => counts.size,
  };
}

/** What waits, owners in turns, and in order for each of them. */
function turnsOf<T>() {
  const queues = new Map<string, Set<T>>();
  return {
    add(owner: string, item: T): void {
      const queue = queues.get(owner);
      if (queue === undefined) queues.set(owner, new Set([item]));
      else queue.add(item);
    },
    remove(owner: string, item: T): void {
      const queue = queues.get(owner);
      if (queue?.delete(item) && queue.size === 0) queues.delete(owner);
    },
    /** @returns the next of the first owner who may, whose turn is the last then; undefined when none may */
    take(mayGo: (owner: string) => boolean): T | undefined {
      for (const [owner, queue] of queues) {
        if (!mayGo(owner)) continue;
        const [item] = queue;
        queues.delete(owner);
        queue.delete(item as T);
        if (queue.size > 0) queues.set(owner, queue);
        return item;
      }
      return undefined;
    },
    has: (owner: string): boolean => queues.has(owner),
    isEmpty: () => queues.size === 0,
  };
}

/**
 * Counts the work in flight of one process, by whose it is, and gives it turns.
 *
 * @param atEndOfTurn begins what has waited; what has arrived meanwhile is to be read first
 */
export function workInFlight(
  bounds: FlightBounds,
  now: () => number,
  atEndOfTurn: (begin: () => void) => void,
): WorkInFlight {
  const taken = tally();
  const working = tally();
  const waiting = turnsOf<() => void>();
  let ofTurn = tally();
  let isTurnEnding = false;
  let busyAt = Number.NEGATIVE_INFINITY;
  const full = bounds.max * BURST_REQUESTS;
  let patience: Patience = { left: full, at: now() };

  const add = (owner: string, by: 1 | -1): void => {
    // Time is looked at where the crowd begins or ends.
    if (taken.total() === (by === 1 ? bounds.max - 1 : bounds.max)) look();
    taken.add(owner, by);
    if (taken.total() >= bounds.max / 2) busyAt = now();
  };
  const look = (): void => {
    patience = recover(patience, full, taken.total() >= bounds.max, now());
  };
  /** @param hasPaid whether it is part of a burst already */
  const take = (owner: string, hasPaid: boolean): 'room' | 'burst' | null => {
    const own = taken.of(owner);
    const owners = taken.owners() + (own === 0 ? 1 : 0);
    const how = takes({ inFlight: taken.total(), own, owners }, bounds, hasPaid ? 1 : patience.left);
    if (how === 'burst' && !hasPaid) patience = { ...patience, left: patience.left - 1 };
    return how;
  };

  const mayStart = (owner: string): boolean => {
    const own = { own: working.of(owner), ownOfTurn: ofTurn.of(owner) };
    return starts({ ...own, working: working.total(), owners: Math.max(1, taken.owners()) }, bounds);
  };
  const endTurn = (): void => {
    if (isTurnEnding) return;
    isTurnEnding = true;
    atEndOfTurn(() => {
      isTurnEnding = false;
      ofTurn = tally();
      let next = waiting.take(mayStart);
      for (let begun = 1; next !== undefined; begun += 1) {
        next();
        next = begun < PER_TURN ? waiting.take(mayStart) : undefined;
      }
    });
  };

  const flightOf = (first: string, isOfBurst: boolean): Flight => {
    let owner = first;
    let hasPaid = isOfBurst;
    let rests = 0;
    let hasStarted = false;
    let ended = false;
    let begin: (() => void) | null = null;
    const isCounted = (): boolean => !ended && rests === 0;
    const count = (by: 1 | -1): void => {
      add(owner, by);
      if (hasStarted) working.add(owner, by);
      if (by === -1 && !waiting.isEmpty()) endTurn();
    };
    return {
      start(work) {
        begin = () => {
          begin = null;
          hasStarted = true;
          if (isCounted()) working.add(owner, 1);
          ofTurn.add(owner, 1);
          endTurn();
          work();
        };
        const isBelowPart = working.of(owner) < bounds.concurrency / taken.owners();
        const isNext = mayStart(owner) && (waiting.isEmpty() || (isBelowPart && !waiting.has(owner)));
        if (isNext) begin();
        else waiting.add(owner, begin);
        return isNext;
      },
      moveTo(next) {
        if (next === owner) return true;
        if (!isCounted()) {
          owner = next;
          return true;
        }
        count(-1);
        const how = take(next, hasPaid);
        if (how !== null) owner = next;
        if (how === 'burst') hasPaid = true;
        count(1);
        return how !== null;
      },
      rest() {
        if (isCounted()) count(-1);
        rests += 1;
        let resting = true;
        return () => {
          if (!resting) return;
          resting = false;
          rests -= 1;
          if (isCounted()) count(1);
        };
      },
      end() {
        if (begin !== null) waiting.remove(owner, begin);
        if (isCounted()) count(-1);
        ended = true;
      },
    };
  };

  return {
    begin(owner, hasWaited = false) {
      if (hasWaited && now() - busyAt < FREE_MS) return null;
      const how = take(owner, false);
      if (how === null) return null;
      add(owner, 1);
      return flightOf(owner, how === 'burst');
    },
    count: taken.total,
    owners: taken.owners,
  };
}
