import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export const LOOPBACK = '127.0.0.1';

export interface ListeningServer {
  readonly port: number;
  /** Ends it and drops open connections: a hanging request must not keep the process alive. */
  close(): Promise<void>;
}

/** Starts an HTTP or HTTPS server on the loopback address. Port 0 selects a free port. */
export async function listen(server: Server, port: number): Promise<ListeningServer> {
  // Milliseconds, as in a Kubernetes API server. Clients reuse connections after pauses of seconds.
  server.keepAliveTimeout = 90_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, LOOPBACK, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
