import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Express } from 'express';
import type { Health } from './health.js';
import { buildHttpServer, type ClientErrorRenderer, type HttpTimeouts } from './http-server.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';

export interface ServeOptions {
  app: Express;
  /** Default: all addresses. */
  host?: string;
  /** 0 for any free one. */
  port: number;
  /** A port of its own for `/metrics`, `/healthz`, `/readyz`; 0 for any free one. Default: none is opened. */
  metricsPort?: number | undefined;
  metrics: Metrics;
  health: Health;
  log: Log;
  /** How long requests in flight may take to end when closing. */
  shutdownGraceMs: number;
  timeouts?: HttpTimeouts;
  /** Answers what is no HTTP. Default: Node's bare status line. */
  onClientError?: ClientErrorRenderer;
}

export interface Served {
  /** Where this machine reaches the app. */
  readonly url: string;
  readonly port: number;
  readonly metricsUrl: string | undefined;
  readonly metricsPort: number | undefined;
  /** Not ready any more, no new connections, requests in flight end. The metrics port closes last. */
  close(): Promise<void>;
}

/**
 * Listens for the app, and on a port of its own for those who watch it.
 *
 * @throws Error that names the port when it cannot be had
 */
export async function serve(options: ServeOptions): Promise<Served> {
  const { app, host = '::', port, metricsPort, metrics, health, log, shutdownGraceMs } = options;
  const main = buildHttpServer(app, options.timeouts, options.onClientError);
  const watch = metricsPort === undefined ? undefined : buildHttpServer(buildMetricsApp(metrics, health));
  await listen(main.server, host, port);
  try {
    if (watch !== undefined && metricsPort !== undefined) await listen(watch.server, host, metricsPort);
  } catch (error) {
    main.server.close();
    throw error;
  }

  const served = {
    url: urlOf(main.server),
    port: portOf(main.server),
    metricsUrl: watch && urlOf(watch.server),
    metricsPort: watch && portOf(watch.server),
  };
  log.info('listening', { url: served.url, metricsUrl: served.metricsUrl });
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    health.drain();
    const cut = await main.drain(shutdownGraceMs);
    if (cut > 0) log.warn('requests cut at shutdown', { requests: cut, graceMs: shutdownGraceMs });
    await watch?.drain(1_000);
  };
  return {
    ...served,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** `/metrics`, `/healthz`, `/readyz`: on a port of its own beside an app, or all that a worker serves. */
export function buildMetricsApp({ registry }: Pick<Metrics, 'registry'>, health: Health): Express {
  const app = express();
  app.disable('x-powered-by');
  app.get('/metrics', async (_req, res) => {
    res.set('Content-Type', registry.contentType).end(await registry.metrics());
  });
  app.use(health.router());
  return app;
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
  if (error.code === 'EADDRINUSE') return 'Another process has it: stop that one or set another port.';
  if (error.code === 'EACCES') return 'It needs more rights: set a port above 1023.';
  if (error.code === 'EADDRNOTAVAIL') return 'This machine has no such address: set another host.';
  return 'Set another host or port.';
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  if (address === '::' || address === '0.0.0.0') return `http://localhost:${port}`;
  return family === 'IPv6' ? `http://[${address}]:${port}` : `http://${address}:${port}`;
}
