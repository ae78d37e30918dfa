import type { Pool } from '@corral/database';
import type { Metrics } from '@corral/service';
import { setOrForget } from '../loop/metrics.js';

const readAge = `SELECT extract(epoch FROM clock_timestamp() - max(created_at))::float8 AS seconds
  FROM operator_act WHERE action = 'database.backup'`;

/** Read from Postgres, so every replica reports the same value. */
export function backupMetrics(metrics: Metrics, pool: Pool): void {
  metrics.gauge({
    name: 'corral_backup_age_seconds',
    help: 'Time since the last backup by the operator’s command; absent if there was none',
    collect() {
      return setOrForget(
        this,
        async () => (await pool.query<{ seconds: number | null }>(readAge)).rows[0]?.seconds ?? null,
      );
    },
  });
}
