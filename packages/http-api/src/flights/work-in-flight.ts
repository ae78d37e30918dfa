/** Limits of the work that a process accepts. */
export interface FlightBounds {
  /** Maximum number of accepted requests under sustained overload. */
  readonly max: number;
  /**
   * Maximum number of accepted requests in a burst. At most `max` more are accepted beyond it, from owners with less than an
   * equal share.
   */
  readonly burst: number;
  /** Maximum number of requests that are processed concurrently. The others wait for their turn. */
  readonly concurrency: number;
}

/** The work in flight when a request arrives, without that request. */
export interface Crowd {
  readonly inFlight: number;
  /** Part of it that belongs to the owner of the request. */
  readonly own: number;
  /** Number of owners, including that of the request. */
  readonly owners: number;
}

/**
 * How a request is accepted: because there is `room`, as part of a `burst` (with the number `left`), or not at all. Sustained
 * overload leaves each owner an equal share of `max`, and unused shares go to the others, so the busiest owners are refused
 * first. An owner with less than a share always finds room, however large the bursts of others are.
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

/** The requests in progress when an accepted one arrives. */
export interface Shop {
  readonly working: number;
  /** Part of them that belongs to the same owner. */
  readonly own: number;
  /** Number of owners of work in flight, including that of the request. */
  readonly owners: number;
  /** Requests of the same owner that started in this turn of the event loop. */
  readonly ownOfTurn: number;
  /** Whether new connections are accepted first. */
  readonly isAccepting: boolean;
}

/**
 * Maximum number of requests that start in one turn of the event loop. Their synchronous work delays everything else, such as
 * answers of the database.
 */
export const PER_TURN = 4;

/**
 * Whether work on a request starts, or waits for others to end or for the next turn of the event loop. An owner with less than
 * an equal share of `concurrency` only waits for its own earlier requests, and for the acceptance of new connections.
 */
export const starts = (
  { working, own, owners, ownOfTurn, isAccepting }: Shop,
  { concurrency }: FlightBounds,
): boolean =>
  ownOfTurn < PER_TURN && (own === 0 || !isAccepting) && (working < concurrency || own < concurrency / owners);

/**
 * Node.js accepts one connection per turn of the event loop. While connections arrive in one turn after the other, only one of
 * this number of turns starts further work of owners that have work in progress.
 */
export const ACCEPTING_TURNS = 64;

/**
 * Burst credit as a multiple of `max`, until there was room again. Counts requests instead of time, so that slow and fast
 * machines accept the same bursts.
 */
export const BURST_REQUESTS = 10;
/** Time in ms in which the full burst credit is restored when there is room. */
export const BURST_RECOVERY_MS = 5_000;

/** There is spare capacity when less than half of the limit was in use for this time in ms. Work often ends in groups. */
const FREE_MS = 50;

/** Remaining burst credit, and since when. */
export interface Patience {
  readonly left: number;
  readonly at: number;
}

/**
 * @param full the whole credit
 * @param isCrowded whether there was overload from then until now
 */
export function recover({ left, at }: Patience, full: number, isCrowded: boolean, now: number): Patience {
  const passed = isCrowded ? 0 : Math.max(0, now - at);
  return { left: Math.min(full, left + (full * passed) / BURST_RECOVERY_MS), at: now };
}

/** An accepted request. */
export interface Flight {
  /**
   * Starts the work, now or at its turn, unless the request has ended. Call once.
   *
   * @returns whether it started immediately
   */
  start(work: () => void): boolean;
  /**
   * Attributes the request to another owner, if that one may have it accepted.
   *
   * @returns false when the request must be refused
   */
  moveTo(owner: string): boolean;
  /**
   * Stops counting it while it waits for something with its own limits. May overlap. @returns a function that resumes counting
   */
  rest(): () => void;
  /** Call when the request has ended in any way. */
  end(): void;
}

export interface WorkInFlight {
  /**
   * @param hasWaited whether it was sent some time ago. Its answer would come late, so it is accepted only with spare capacity
   * @returns null when the request must be refused
   */
  begin(owner: string, hasWaited?: boolean): Flight | null;
  count(): number;
  /** Identifies the owner. Equal texts mean the same owner. */
  owners(): number;
  /** A connection was accepted, so others may wait. */
  accepted(): void;
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
    clear(): void {
      total = 0;
      counts.clear();
    },
  };
}

/** Waiting requests: owners in turns, each in order. */
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
    /**
     * @returns the next request of the first owner who may start one, and moves that owner to the end; undefined when none may
     */
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
 * Counts the work in flight of one process by owner, and schedules it.
 *
 * @param atEndOfTurn starts waiting work after newly arrived data was read
 */
export function workInFlight(
  bounds: FlightBounds,
  now: () => number,
  atEndOfTurn: (begin: () => void) => void,
): WorkInFlight {
  const taken = tally();
  const working = tally();
  const waiting = turnsOf<() => void>();
  const ofTurn = tally();
  let isTurnEnding = false;
  let hasAccepted = false;
  /** Number of turns in a row, up to the last one, in which a connection was accepted. */
  let acceptingTurns = 0;
  let busyAt = Number.NEGATIVE_INFINITY;
  const full = bounds.max * BURST_REQUESTS;
  let patience: Patience = { left: full, at: now() };

  const add = (owner: string, by: 1 | -1): void => {
    // The clock is read only where overload begins or ends.
    if (taken.total() === (by === 1 ? bounds.max - 1 : bounds.max)) look();
    taken.add(owner, by);
    if (taken.total() >= bounds.max / 2) busyAt = now();
  };
  const look = (): void => {
    patience = recover(patience, full, taken.total() >= bounds.max, now());
  };
  /** @param hasPaid whether it already used burst credit */
  const take = (owner: string, hasPaid: boolean): 'room' | 'burst' | null => {
    const own = taken.of(owner);
    const owners = taken.owners() + (own === 0 ? 1 : 0);
    const how = takes({ inFlight: taken.total(), own, owners }, bounds, hasPaid ? 1 : patience.left);
    if (how === 'burst' && !hasPaid) patience = { ...patience, left: patience.left - 1 };
    return how;
  };

  const isAccepting = (): boolean =>
    (hasAccepted || acceptingTurns > 0) &&
    acceptingTurns % ACCEPTING_TURNS !== ACCEPTING_TURNS - 1 &&
    // Otherwise requests would be refused that come no faster than they are worked on.
    taken.total() < bounds.burst - bounds.max;
  const mayStart = (owner: string): boolean => {
    const [own, ownOfTurn, owners] = [working.of(owner), ofTurn.of(owner), Math.max(1, taken.owners())];
    return starts({ working: working.total(), own, owners, ownOfTurn, isAccepting: isAccepting() }, bounds);
  };
  const endTurn = (): void => {
    if (isTurnEnding) return;
    isTurnEnding = true;
    atEndOfTurn(() => {
      isTurnEnding = false;
      ofTurn.clear();
      acceptingTurns = hasAccepted ? acceptingTurns + 1 : 0;
      hasAccepted = false;
      // More may wait, or what was held back starts.
      if (acceptingTurns > 0) endTurn();
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
    accepted() {
      hasAccepted = true;
      endTurn();
    },
  };
}
