import type { Server, Socket } from 'node:net';

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

/** What connections of one client have in common: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function peerOf(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.replace(/%.*$/, '').toLowerCase().split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  while (tail !== undefined && groups.length + after.length < 8) groups.push('0');
  return `${[...groups, ...after].slice(0, 4).join(':')}::/64`;
}
