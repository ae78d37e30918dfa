import type { Server, Socket } from 'node:net';
import { peerOf } from '@corral/admission';

/** Maximum numbers of open connections. */
export interface ConnectionBounds {
  readonly max: number;
  /** Connections from one IPv4 address or one IPv6 /64, which is what a household or a host gets. */
  readonly perAddressMax: number;
}

/**
 * Closes connections beyond the bounds immediately, before reading from them.
 *
 * @param isTrustedProxy connections of proxies carry many clients and are not counted by address
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
    // Absent after the client has disconnected.
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
