import type { JobName, JobPayloads, Queue } from '@corral/queue';

/** A job that is sent at an interval. */
export type RecurringJob = {
  readonly [N in JobName]: { readonly name: N; readonly payload: JobPayloads[N]; readonly everyMs: number };
}[JobName];

/** Sends recurring jobs, each once per interval for all processes together. */
export function scheduleJobs(queue: Pick<Queue, 'schedule'>, jobs: readonly RecurringJob[]): void {
  for (const { name, payload, everyMs } of jobs) queue.schedule({ [name]: payload }, everyMs);
}
