import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ListeningServer {
  readonly port: number;
  /** Drops open connections too: a hanging request must not keep the process. */
  close(): Promise<void>;
}

/** Serves HTTP on an address; port 0 takes a free one. */
export async function listenHttp(app: RequestListener, host: string, port: number): Promise<ListeningServer> {
  const server = createServer(app);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: () => closeHttp(server) };
}

async function closeHttp(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
