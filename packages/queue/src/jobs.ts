/** The queues, and what travels in them. A payload names things by id and holds no state: what changed is read anew. */
export interface JobPayloads {
  /** Find out what became of DNS writes whose answer never came. */
  'settle-writes': Record<string, never>;
  /** Compare the mirror with the upstream's zone. `runId`: the requested run, whose outcome somebody waits for. */
  'zone-sync': { readonly runId?: string; readonly reason: 'schedule' | 'start' | 'request' };
}
export type JobName = keyof JobPayloads;

export interface JobRule {
  readonly queue: QueueName;
  /** Runs in all until one succeeds. With 1 the next wake-up or schedule is the retry. */
  readonly attempts: number;
  /** Before the second run; doubles from run to run, with jitter. */
  readonly backoffMs: number;
}
export type QueueName = 'dns';

export const jobRules = {
  'settle-writes': { queue: 'dns', attempts: 1, backoffMs: 0 },
  'zone-sync': { queue: 'dns', attempts: 3, backoffMs: 5_000 },
} as const satisfies Record<JobName, JobRule>;

export const queueNames: readonly QueueName[] = [...new Set(Object.values(jobRules).map(({ queue }) => queue))];
