import type { Socket } from 'node:net';
import { setImmediate as atEndOfTurn } from 'node:timers';

/** So many connections of an owner that was refused are read again in a second. */
const PER_SECOND = 1_000;
/** Whoever waits for the time in `Retry-After` finds the connection read. */
const REST_MS_MAX = 1_000;
/** What is shorter is not worth a timer. */
const REST_MS_MIN = 5;

export interface RefusedConnections {
  /** Does not read from a connection for a while, if its owner is refused often. Its answer goes out. */
  rest(socket: Socket, owner: string): void;
  /** Whether what is read from it now was sent while it was not read. */
  hasWaited(socket: Socket): boolean;
}

/**
 * Connections whose last request was refused because there is too much to do. To refuse is little work, but clients that send
 * the next request at once can ask for it so often that nothing else gets done. So only so many of an owner's are read again
 * per second.
 */
export function refusedConnections(now: () => number): RefusedConnections {
  /** When the last connection of each owner is read again. */
  const lastOf = new Map<string, number>();
  const justRead = new Set<Socket>();

  const readAgain = (socket: Socket, owner: string): void => {
    if ((lastOf.get(owner) ?? 0) <= now()) lastOf.delete(owner);
    socket.resume();
    // What has waited is read in this turn.
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
