import type { Server, Socket } from 'node:net';
import { peerOf } from '@corral/rate-limit';

/** How many connections a server holds open at once. */
export interface ConnectionBounds {
  readonly max: number;
  /** From one address; of IPv6 from one /64, which a household or a host gets as a whole. */
  readonly perAddressMax: number;
}

/**
 * Closes connections beyond the bounds at once, before a byte of them is read.
 *
 * @param isTrustedProxy connections from there are those of many clients, and are not counted by address
 */
export function boundConnections(
  server: Server,
  { max, perAddressMax }: ConnectionBounds,
  isTrustedProxy: (address: string) => boolean,
): void {
  const open = new Map<string, number>();
  server.maxConnections = max;
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    // Absent when the client has gone already.
    if (remoteAddress === undefined || isTrustedProxy(remoteAddress)) return;
    const peer = peerOf(remoteAddress);
    const count = open.get(peer) ?? 0;
    if (count >= perAddressMax) {
      socket.destroy();
      return;
    }
    open.set(peer, count + 1);
    socket.once('close', () => {
      const left = (open.get(peer) ?? 1) - 1;
      if (left > 0) open.set(peer, left);
      else open.delete(peer);
    });
  });
}
