import type { Pool } from '@corral/database';
import type { JobName, JobPayloads, Queue } from '@corral/queue';

/** A job that is sent at an interval. */
export type RecurringJob = {
  readonly [N in JobName]: {
    readonly name: N;
    readonly payload: JobPayloads[N];
    readonly everyMs: number;
    /** SQL condition, without parameters, that is true while the job has anything to do. Null if it always has. */
    readonly isNeeded: string | null;
  };
}[JobName];

/**
 * Sends recurring jobs. Mostly none has anything to do, so one statement for all with the same interval finds those that have:
 * a job takes several statements in each process, only to find nothing.
 */
export function scheduleJobs({ queue, pool }: ScheduleDeps, jobs: readonly RecurringJob[]): void {
  const conditional = new Map<number, Condition[]>();
  for (const { name, payload, everyMs, isNeeded } of jobs) {
    if (isNeeded === null) queue.schedule({ [name]: payload }, everyMs);
    else conditional.set(everyMs, [...(conditional.get(everyMs) ?? []), { name, payload, isNeeded }]);
  }
  for (const [everyMs, together] of conditional) {
    const payloads = Object.fromEntries(together.map(({ name, payload }) => [name, payload]));
    queue.schedule(payloads, everyMs, () => findNeeded(pool, together));
  }
}

interface ScheduleDeps {
  readonly queue: Pick<Queue, 'schedule'>;
  readonly pool: Pick<Pool, 'query'>;
}

interface Condition {
  readonly name: JobName;
  readonly payload: JobPayloads[JobName];
  readonly isNeeded: string;
}

/** @returns the jobs whose condition is true */
export async function findNeeded(
  pool: Pick<Pool, 'query'>,
  conditions: readonly Pick<Condition, 'name' | 'isNeeded'>[],
): Promise<ReadonlySet<JobName>> {
  const { rows } = await pool.query<{ needed: JobName[] }>(
    `SELECT array_remove(ARRAY[${conditions.map(({ name, isNeeded }) => `CASE WHEN ${isNeeded} THEN '${name}' END`)}], NULL) AS needed`,
  );
  return new Set(rows[0]?.needed);
}
