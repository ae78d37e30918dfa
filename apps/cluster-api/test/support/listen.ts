import { createHealth, createMetrics, type Served, serve, silentLog } from '@corral/service';
import type { Express } from 'express';
import { renderClientError } from '../../src/http/client-error.js';
import { PUBLIC_URL } from './start-cluster-api.js';

/** Serves an app over real sockets as `main.ts` does, for bytes that no client would send. */
export function listen(app: Express): Promise<Served> {
  return serve({
    ...{ app, host: '127.0.0.1', port: 0, shutdownGraceMs: 0, log: silentLog },
    metrics: createMetrics({ service: 'test' }),
    health: createHealth({ checks: {}, log: silentLog }),
    onClientError: renderClientError(() => PUBLIC_URL),
  });
}
