import { corralVersion, type Health } from '@corral/service';
import { Router, type RouterOptions } from 'express';
import { page } from '../mount-routes.js';

export interface HealthRoutesOptions extends RouterOptions {
  /** The API's own error, with status 503. Default: 503 with the names of the failing checks. */
  readonly notReady?: (failing: readonly string[]) => Error;
}

/** `/healthz`: 200 while the process lives, with its version. `/readyz`: 200 when every check passes. */
export function healthRoutes(health: Health, options: HealthRoutesOptions = {}): Router {
  const { notReady, ...paths } = options;
  const router = Router(paths);
  router.all(
    '/healthz',
    page((_req, res) => void res.set('Cache-Control', 'no-store').json({ status: 'ok', version: corralVersion })),
  );
  router.all(
    '/readyz',
    page(async (_req, res) => {
      const { ready, failing } = await health.readiness();
      if (!ready && notReady !== undefined) throw notReady(failing);
      res.set('Cache-Control', 'no-store').status(ready ? 200 : 503);
      res.json(ready ? { status: 'ok' } : { status: 'unavailable', failing });
    }),
  );
  return router;
}
