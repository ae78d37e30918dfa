import type { Socket } from 'node:net';
import { setImmediate as atEndOfTurn } from 'node:timers';

/** Connections of a refused owner that are read again per second. */
const PER_SECOND = 1_000;
/** Clients that honour `Retry-After` find their connection readable again. */
const REST_MS_MAX = 1_000;
/** A shorter pause is not worth a timer. */
const REST_MS_MIN = 5;

export interface RefusedConnections {
  /** Pauses reading from a connection whose owner is refused often. Its answer is still sent. */
  rest(socket: Socket, owner: string): void;
  /** Whether the data that is now read was sent during the pause. */
  hasWaited(socket: Socket): boolean;
}

/**
 * Pauses connections whose last request was refused because of overload. A refusal is cheap, but clients that immediately send
 * the next request can cause so many that no other work gets done. Only a limited number of connections per owner and second is
 * read again.
 */
export function refusedConnections(now: () => number): RefusedConnections {
  /** Time at which the last paused connection of each owner is read again. */
  const lastOf = new Map<string, number>();
  const justRead = new Set<Socket>();

  const readAgain = (socket: Socket, owner: string): void => {
    if ((lastOf.get(owner) ?? 0) <= now()) lastOf.delete(owner);
    socket.resume();
    // Waiting data is read in this turn of the event loop.
    if (justRead.size === 0) atEndOfTurn(() => justRead.clear());
    justRead.add(socket);
  };

  return {
    rest(socket, owner) {
      const earliest = Math.max(now(), (lastOf.get(owner) ?? 0) + 1_000 / PER_SECOND);
      const until = Math.min(earliest, now() + REST_MS_MAX);
      lastOf.set(owner, until);
      const restMs = until - now();
      if (restMs < REST_MS_MIN || socket.destroyed) return;
      socket.pause();
      setTimeout(readAgain, restMs, socket, owner).unref();
    },
    hasWaited: (socket) => justRead.has(socket),
  };
}
