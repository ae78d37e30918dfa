import { operationSecondsMax } from '@corral/contracts';
import type { Pool } from '@corral/database';
import type { Metrics } from '@corral/service';
import { setOrForget } from '../loop/metrics.js';

/** Open operations have no `finished_at`; its index finds them. */
const readOldest = {
  text: `SELECT coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 AS seconds
         FROM operation WHERE finished_at IS NULL`,
};

const maxima = JSON.stringify(operationSecondsMax);
const timedKinds = Object.entries(operationSecondsMax).flatMap(([kind, seconds]) => (seconds === null ? [] : [kind]));

const countOverdue = {
  text: `SELECT kind, (SELECT count(*)::float8 FROM operation
                       WHERE finished_at IS NULL AND operation.kind = timed.kind
                         AND created_at < clock_timestamp() - make_interval(secs => ($2::jsonb->>timed.kind)::float8)) AS count
         FROM unnest($1::text[]) AS timed(kind)`,
  values: [timedKinds, maxima],
};

/** Read from Postgres, so every replica reports the same values. */
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
  metrics.gauge({
    name: 'corral_operations_overdue_count',
    help: 'Open operations that have taken longer than their kind may',
    labelNames: ['kind'],
    async collect() {
      const found = await pool
        .query<{ kind: string; count: number }>(countOverdue)
        .then(({ rows }) => rows)
        .catch(() => []);
      this.reset();
      for (const { kind, count } of found) this.set({ kind }, count);
    },
  });
}
