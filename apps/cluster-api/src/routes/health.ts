import type { Health } from '@corral/service';
import { Router } from 'express';
import { Problem } from '../problem.js';

const RETRY_SECONDS = 5;

/** `/healthz` and `/readyz` in the shape of this API; the metrics port has them in the shape of all services. */
export function healthRoutes({ live, readiness }: Pick<Health, 'live' | 'readiness'>): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get('/healthz', live);
  router.get('/readyz', async (_req, res) => {
    const { ready, failing } = await readiness();
    if (!ready) {
      throw new Problem('service_unavailable', `Not ready: ${failing.join(', ')}. Try again in a moment.`, {
        retryAfterSeconds: RETRY_SECONDS,
      });
    }
    res.set('Cache-Control', 'no-store').json({ status: 'ok' });
  });
  return router;
}
