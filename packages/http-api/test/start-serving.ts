import { Writable } from 'node:stream';
import { createHealth, createLog, createMetrics } from '@corral/service';
import { waitFor } from '@corral/testing';
import type { Express } from 'express';
import { type ServeOptions, serve } from '../src/server/serve.js';
import { serviceApp } from '../src/service-app.js';

/** Serves an app with these routes on free ports. */
export async function startServing(
  addRoutes: (app: Express) => void,
  options: Partial<ServeOptions> = {},
  checks = {},
) {
  let text = '';
  const destination = new Writable({
    write(chunk, _encoding, next) {
      text += String(chunk);
      next();
    },
  });
  const log = createLog({ service: 'test', destination });
  const metrics = createMetrics({ service: 'test' });
  const health = createHealth({ checks, deadlineMs: 200, freshMs: 0, log });
  const app = serviceApp({ trustProxy: false, log, metrics, admit: (_req, _res, next) => next() });
  addRoutes(app);
  const ports = { host: '127.0.0.1', port: 0, metricsPort: 0 };
  const served = await serve({ ...ports, app, metrics, health, log, shutdownGraceMs: 1_000, ...options });
  const logLines = async (): Promise<Record<string, unknown>[]> => {
    await log.flush();
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  const requestLine = () =>
    waitFor('the line of the request', async () => (await logLines()).find(({ message }) => message === 'request'));
  return { ...served, health, requestLine, logLines, metricsText: () => metrics.registry.metrics() };
}
