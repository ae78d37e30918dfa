import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, type ServerOptions as TlsOptions } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface ListeningServer {
  readonly port: number;
  /** Drops open connections too: a hanging request must not keep the process. */
  close(): Promise<void>;
}

/** Serves HTTP on an address; port 0 takes a free one. */
export async function listenHttp(app: RequestListener, host: string, port: number): Promise<ListeningServer> {
  return listen(createServer(app), host, port);
}

/** Serves HTTPS on an address; port 0 takes a free one. */
export async function listenHttps(
  app: RequestListener,
  host: string,
  port: number,
  tls: TlsOptions,
): Promise<ListeningServer> {
  return listen(createTlsServer(tls, app), host, port);
}

async function listen(server: Server, host: string, port: number): Promise<ListeningServer> {
  // As long as an API server of Kubernetes: clients reuse connections after pauses of seconds.
  server.keepAliveTimeout = 90_000;
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
