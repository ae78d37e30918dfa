import type { Server } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Health, Log, Metrics } from '@corral/service';
import express, { type ErrorRequestHandler, type Express } from 'express';
import { RequestFault, unknownPath } from '../errors.js';
import { page } from '../mount-routes.js';
import { healthRoutes } from '../pages.js';
import {
  buildHttpServer,
  type ClientErrorRenderer,
  type ConnectionBounds,
  type HttpTimeouts,
  probeConnections,
} from './http-server.js';
import { buildTlsServer, type TlsOptions } from './tls-server.js';

export interface ServeOptions {
  app: Express;
  /** Default: all addresses. */
  host?: string;
  /** 0 for any free port. */
  port: number;
  /** A certificate makes the app speak TLS. Default: plain HTTP. */
  tls?: TlsOptions | undefined;
  /** Separate port for `/metrics`, `/healthz`, `/readyz`; 0 for any free port. Default: none. */
  metricsPort?: number | undefined;
  metrics: Metrics;
  health: Health;
  log: Log;
  /** Time in ms during which it still serves after it became not ready, so that clients can react. Default: 0. */
  drainDelayMs?: number;
  /** Maximum time for requests in flight to finish after the drain delay. */
  shutdownGraceMs: number;
  timeouts?: HttpTimeouts;
  /** Maximum numbers of connections per port. With them, `probeConnections` measures their wait. Default: unlimited. */
  connections?: ConnectionBounds;
  /** Answers malformed requests. Default: the status line of Node.js. */
  onClientError?: ClientErrorRenderer;
}

export interface Served {
  /** URL of the app on this machine. */
  readonly url: string;
  readonly port: number;
  /** URL of the TLS port. */
  readonly tlsUrl: string | undefined;
  readonly metricsUrl: string | undefined;
  readonly metricsPort: number | undefined;
  /**
   * Becomes not ready. After the delay accepts no new connections and waits for requests in flight. The metrics port closes
   * last.
   *
   * @param how `immediately`: without the rest of the delay
   */
  close(how?: { readonly immediately?: boolean }): Promise<void>;
}

/**
 * Listens for the app, and on a separate port for monitoring.
 *
 * @throws Error that names the port when it is not available, or the file when a certificate is unusable
 */
export async function serve(options: ServeOptions): Promise<Served> {
  const { app, host = '::', port, tls, metricsPort, metrics, health, log, shutdownGraceMs, drainDelayMs = 0 } = options;
  const secure = tls === undefined ? undefined : await buildTlsServer(app, tls, options);
  const plain = tls === undefined || tls.port !== undefined ? buildHttpServer(app, options) : undefined;
  const watch = metricsPort === undefined ? undefined : buildHttpServer(buildMetricsApp(metrics, health, log));
  await listenAll(host, [
    [plain?.server, port],
    [secure?.server, tls?.port ?? port],
    [watch?.server, metricsPort ?? 0],
  ]);

  const main = plain?.server ?? (secure?.server as Server);
  const served = {
    url: urlOf(main),
    port: portOf(main),
    tlsUrl: secure && urlOf(secure.server),
    metricsUrl: watch && urlOf(watch.server),
    metricsPort: watch && portOf(watch.server),
  };
  const mains = [plain?.server, secure?.server].filter((server) => server !== undefined);
  const stopProbes = options.connections === undefined ? () => undefined : probeConnections(mains, metrics);
  log.info('listening', { url: served.url, tlsUrl: served.tlsUrl, metricsUrl: served.metricsUrl });
  let closing: Promise<void> | undefined;
  const serveOn = new AbortController();
  const close = async (): Promise<void> => {
    health.retire();
    plain?.announceEnd();
    secure?.announceEnd();
    await pause(drainDelayMs, null, { signal: serveOn.signal }).catch(() => undefined);
    health.drain();
    stopProbes();
    const [cut = 0, cutSecure = 0] = await Promise.all([plain?.drain(shutdownGraceMs), secure?.drain(shutdownGraceMs)]);
    const requests = cut + cutSecure;
    if (requests > 0) log.warn('requests cut at shutdown', { requests, graceMs: shutdownGraceMs });
    await watch?.drain(1_000);
  };
  return {
    ...served,
    close: ({ immediately = false } = {}) => {
      if (immediately) serveOn.abort();
      closing ??= close();
      return closing;
    },
  };
}

/** An answer for people and probes, who read no error of an API. */
const inWords =
  (log: Log): ErrorRequestHandler =>
  (error, _req, res, _next) => {
    const isFault = error instanceof RequestFault;
    if (!isFault) log.error('unexpected error', { error });
    const status = isFault ? (error.kind === 'method_not_allowed' ? 405 : 404) : 500;
    res
      .status(status)
      .type('text/plain')
      .send(isFault ? `${error.message}\n` : 'The service failed.\n');
  };

/** `/metrics`, `/healthz`, `/readyz`: on a separate port beside an app, or everything that a worker serves. */
export function buildMetricsApp({ registry }: Metrics, health: Health, log: Log): Express {
  const app = express();
  app.disable('x-powered-by');
  app.all(
    '/metrics',
    page(async (_req, res) => void res.set('Content-Type', registry.contentType).end(await registry.metrics())),
  );
  app.use(healthRoutes(health));
  app.use(unknownPath);
  app.use(inWords(log));
  return app;
}

/** Closes all when one fails. */
async function listenAll(host: string, listeners: readonly [Server | undefined, number][]): Promise<void> {
  try {
    for (const [server, port] of listeners) if (server !== undefined) await listen(server, host, port);
  } catch (error) {
    for (const [server] of listeners) server?.close();
    throw error;
  }
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(new Error(`Cannot listen on port ${port} of ${host}. ${listenAdvice(error)}`, { cause: error }));
    });
    server.listen({ host, port }, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
}

function listenAdvice(error: NodeJS.ErrnoException): string {
  if (error.code === 'EADDRINUSE') return 'Another process uses it: stop that process or set another port.';
  if (error.code === 'EACCES') return 'The process lacks permission: set a port above 1023.';
  if (error.code === 'EADDRNOTAVAIL') return 'This machine does not have that address: set another host.';
  return 'Set another host or port.';
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  const protocol = server instanceof TlsServer ? 'https' : 'http';
  if (address === '::' || address === '0.0.0.0') return `${protocol}://localhost:${port}`;
  return family === 'IPv6' ? `${protocol}://[${address}]:${port}` : `${protocol}://${address}:${port}`;
}
