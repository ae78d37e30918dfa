import type { Health, Metrics } from '@corral/service';
import express, { type Express } from 'express';

/** The only thing that the reconciler serves: /metrics, /healthz, /readyz. */
export function buildWatchApp({ registry }: Pick<Metrics, 'registry'>, health: Health): Express {
  const app = express();
  app.disable('x-powered-by');
  app.get('/metrics', async (_req, res) => {
    res.set('Content-Type', registry.contentType).end(await registry.metrics());
  });
  app.use(health.router());
  return app;
}
