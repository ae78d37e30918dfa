import type { Pool } from '@corral/database';
import type { Metrics } from '@corral/service';
import { setOrForget } from '../loop/set-or-forget.js';

/** Open operations have no `finished_at`; its index finds them. */
const readOldest = {
  name: 'oldest-open-operation',
  text: `SELECT coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 AS seconds
         FROM operation WHERE finished_at IS NULL`,
};

/** Read from Postgres, so every replica reports the same value. */
export function openOperationMetrics(metrics: Metrics, pool: Pick<Pool, 'query'>): void {
  metrics.gauge({
    name: 'corral_operation_open_age_seconds',
    help: 'Age of the oldest open operation, also of one that waits for its team; 0 when none is open',
    collect() {
      return setOrForget(
        this,
        async () => (await pool.query<{ seconds: number }>(readOldest)).rows[0]?.seconds ?? null,
      );
    },
  });
}
