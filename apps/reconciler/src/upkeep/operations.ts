import { operationKinds, operationOutcomes, operationSecondsMax, userFaultCodes } from '@corral/contracts';
import { type Pool, type Prisma, readClock } from '@corral/database';
import type { Metrics } from '@corral/service';
import { ageOf, readGauge } from '../loop/metrics.js';

/** Ends per statement. */
const ENDS_AT_ONCE = 1_000;

/**
 * Moves ends into the totals in one statement, so a crash loses none and counts none twice. Ends that another process counts are
 * locked, and skipped. The order of the totals avoids deadlocks.
 */
const COUNT_SOME = `
  WITH found AS (
    SELECT id FROM operation WHERE finished_at IS NOT NULL AND NOT is_counted
    ORDER BY finished_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
  ), counted AS (
    UPDATE operation SET is_counted = true FROM found WHERE operation.id = found.id
    RETURNING kind, state::text AS state, error->>'code' AS code,
              greatest(extract(epoch FROM finished_at - created_at), 0)::float8 AS seconds
  ), judged AS (
    SELECT kind, seconds, coalesce(seconds > ($3::jsonb->>kind)::float8, false) AS is_late,
           CASE WHEN state <> 'failed' THEN state WHEN code = ANY ($2::text[]) THEN 'failed_user' ELSE 'failed_platform' END AS outcome
    FROM counted
  ), summed AS (
    INSERT INTO operation_total AS total (kind, outcome, ended, late, seconds)
    SELECT kind, outcome, count(*), count(*) FILTER (WHERE is_late), sum(seconds)
    FROM judged GROUP BY kind, outcome ORDER BY kind, outcome
    ON CONFLICT (kind, outcome) DO UPDATE
    SET ended = total.ended + excluded.ended, late = total.late + excluded.late, seconds = total.seconds + excluded.seconds
  )
  SELECT count(*)::int AS ends FROM counted`;

/**
 * Adds all operations that have ended to the totals. Any number of runs may overlap.
 *
 * @returns the number of ends that this run has counted
 */
export const countOperations =
  (pool: Pool) =>
  async (signal: AbortSignal): Promise<number> => {
    let counted = 0;
    while (!signal.aborted) {
      const values = [ENDS_AT_ONCE, userFaultCodes, JSON.stringify(operationSecondsMax)];
      const { rows } = await pool.query<{ ends: number }>(COUNT_SOME, values);
      const ends = rows[0]?.ends ?? 0;
      counted += ends;
      if (ends < ENDS_AT_ONCE) break;
    }
    return counted;
  };

type Total = Awaited<ReturnType<Prisma['operationTotal']['findMany']>>[number];

/**
 * Counters of ended operations. Their values are the totals in Postgres, so every replica reports the same ones and a restart
 * resets none. Each kind and outcome has a series from the beginning: otherwise the first end would be no increase.
 */
export function operationEndMetrics(metrics: Metrics, prisma: Prisma): void {
  const collectFrom = (value: (total: Total) => number | bigint) =>
    async function collect(this: Settable): Promise<void> {
      const totals = await prisma.operationTotal.findMany().catch(() => null);
      // Nothing is awaited from here on, so concurrent scrapes add nothing twice.
      this.reset();
      if (totals === null) return;
      for (const kind of operationKinds) {
        for (const outcome of operationOutcomes) {
          const total = totals.find((each) => each.kind === kind && each.outcome === outcome);
          this.inc({ kind, outcome }, total === undefined ? 0 : Number(value(total)));
        }
      }
    };
  metrics.counter({
    name: 'corral_operations_ended_total',
    help: 'Operations that have ended, by kind and outcome. Every process reports the same totals of the installation',
    labelNames: ['kind', 'outcome'],
    collect: collectFrom(({ ended }) => ended),
  });
  metrics.counter({
    name: 'corral_operations_late_total',
    help: 'Those that took longer than their kind may',
    labelNames: ['kind', 'outcome'],
    collect: collectFrom(({ late }) => late),
  });
  metrics.counter({
    name: 'corral_operations_ended_seconds_total',
    help: 'Time from request to end of all ended operations together',
    labelNames: ['kind', 'outcome'],
    collect: collectFrom(({ seconds }) => seconds),
  });
}

interface Settable {
  reset(): void;
  inc(labels: { kind: string; outcome: string }, value: number): void;
}

/** Open operations have no `finishedAt`; its index finds them. Read from Postgres, so every replica reports the same values. */
export function openOperationMetrics(metrics: Metrics, prisma: Prisma): void {
  readGauge(metrics, {
    name: 'corral_operation_open_age_seconds',
    help: 'Age of the oldest open operation, also of one that waits for its team; 0 when none is open',
    read: async () => {
      const { _min: oldest } = await prisma.operation.aggregate({
        where: { finishedAt: null },
        _min: { createdAt: true },
      });
      return oldest.createdAt === null ? 0 : ageOf(prisma, oldest.createdAt);
    },
  });
  metrics.gauge({
    name: 'corral_operations_overdue',
    help: 'Open operations that have taken longer than their kind may',
    labelNames: ['kind'],
    async collect() {
      const found = await countOverdue(prisma).catch(() => null);
      this.reset();
      if (found === null) return;
      for (const { kind } of timed) this.set({ kind }, found.find((each) => each.kind === kind)?._count ?? 0);
    },
  });
}

const timed = Object.entries(operationSecondsMax).flatMap(([kind, seconds]) =>
  seconds === null ? [] : [{ kind, seconds }],
);

async function countOverdue(prisma: Prisma) {
  const now = (await readClock(prisma)).getTime();
  const isOverdue = timed.map(({ kind, seconds }) => ({ kind, createdAt: { lt: new Date(now - seconds * 1_000) } }));
  return prisma.operation.groupBy({ by: ['kind'], where: { finishedAt: null, OR: isOverdue }, _count: true });
}
