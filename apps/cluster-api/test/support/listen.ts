import { clientErrorRenderer, type Served, serve } from '@corral/http-api';
import { createHealth, createMetrics, silentLog } from '@corral/service';
import type { Express } from 'express';
import { problemShape } from '../../src/http/error-shape.js';
import { PUBLIC_URL } from './start-cluster-api.js';

/** Serves an app over real sockets as `main.ts` does, for requests that no HTTP client would send. */
export function listen(app: Express): Promise<Served> {
  return serve({
    app,
    host: '127.0.0.1',
    port: 0,
    shutdownGraceMs: 0,
    log: silentLog,
    metrics: createMetrics({ service: 'test' }),
    health: createHealth({ checks: {}, log: silentLog }),
    onClientError: clientErrorRenderer(problemShape(() => PUBLIC_URL)),
  });
}
