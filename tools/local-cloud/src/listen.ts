import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, type ServerOptions as TlsOptions } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface ListeningServer {
  readonly port: number;
  /** Also drops open connections: a hanging request must not keep the process alive. */
  close(): Promise<void>;
}

/** Serves HTTP on an address. Port 0 selects a free port. */
export async function listenHttp(app: RequestListener, host: string, port: number): Promise<ListeningServer> {
  return listen(createServer(app), host, port);
}

/** Serves HTTPS on an address. Port 0 selects a free port. */
export async function listenHttps(
  app: RequestListener,
  host: string,
  port: number,
  tls: TlsOptions,
): Promise<ListeningServer> {
  return listen(createTlsServer(tls, app), host, port);
}

async function listen(server: Server, host: string, port: number): Promise<ListeningServer> {
  // In milliseconds, as in a Kubernetes API server. Clients reuse connections after pauses of seconds.
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
