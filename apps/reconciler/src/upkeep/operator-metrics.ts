import type { Pool } from '@corral/database';
import type { Metrics } from '@corral/service';
import { setOrForget } from '../loop/metrics.js';

const readBackupAge = `SELECT extract(epoch FROM clock_timestamp() - max(created_at))::float8 AS seconds
  FROM operator_act WHERE action = 'database.backup'`;
const readHoldAge = `SELECT coalesce(extract(epoch FROM clock_timestamp() - min(begun_at)), 0)::float8 AS seconds
  FROM installation_hold WHERE ended_at IS NULL`;

/** What operators did, and did not. Read from Postgres, so every replica reports the same values. */
export function operatorMetrics(metrics: Metrics, pool: Pool): void {
  const age = (name: string, help: string, text: string): void => {
    const read = async () => (await pool.query<{ seconds: number | null }>(text)).rows[0]?.seconds ?? null;
    metrics.gauge({
      name,
      help,
      collect: function () {
        return setOrForget(this, read);
      },
    });
  };
  age(
    'corral_backup_age_seconds',
    'Time since the last backup by the operator’s command; absent if there was none',
    readBackupAge,
  );
  age('corral_hold_age_seconds', 'Time since the hold that is in force began; 0 without one', readHoldAge);
}
