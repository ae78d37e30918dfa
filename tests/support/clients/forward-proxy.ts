import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export interface ForwardProxy {
  /** The value for `HTTPS_PROXY`. */
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * A proxy that leads connections for one host to a port of this machine, and refuses all others. It replaces what a test
 * may not have: a name that resolves to this machine, and port 443. It does not change the traffic, so the TLS of the
 * client ends at the listener on that port.
 *
 * @param target the host and port that clients ask for, as `name:443`
 */
export async function startForwardProxy(target: string, port: number): Promise<ForwardProxy> {
  const sockets = new Set<Socket>();
  const proxy = createServer((_request, response) => response.writeHead(405).end());
  proxy.on('connect', ({ url }, client: Socket, head) => {
    if (url !== target) {
      client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      return;
    }
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.write(head);
      client.pipe(upstream).pipe(client);
    });
    for (const [socket, other] of [[client, upstream] as const, [upstream, client] as const]) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.once('close', () => sockets.delete(socket));
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        proxy.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
