import {
  type BackendOptions,
  type Intervals,
  intervalOf,
  type JobHandlers,
  type Queue,
  type RecurringJob,
  startWorker,
} from '@corral/queue';
import { buildClusterWorkers, type ClusterOptions } from './clusters/workers.js';
import { buildDnsWorkers, type DnsOptions } from './dns/workers.js';
import { dueMetrics } from './loop/metrics.js';
import { tracedJobs } from './loop/work.js';
import { buildMailWorkers, type MailOptions } from './mail/send-mails.js';
import { buildServerWorkers, type ServerOptions } from './servers/workers.js';
import type { Services } from './services.js';
import { buildUsageWorkers, type UsageOptions } from './upkeep/record-usage.js';
import { buildRetentionWorkers, type RetentionOptions } from './upkeep/retention.js';
import { buildWebhookWorkers, type WebhookOptions } from './webhooks/workers.js';

interface WorkerSettings {
  /** How long running jobs may continue after `close`, in milliseconds. */
  readonly closeMs: number;
  /** How long this process may be silent before its jobs are given to another process, in milliseconds. */
  readonly lockMs: number;
}

export interface WorkerOptions {
  readonly settings: WorkerSettings;
  readonly intervals: Intervals;
  /** Jobs come from the backend that the queue sends them to. */
  readonly backend: BackendOptions;
  readonly dns: DnsOptions;
  readonly retention: RetentionOptions;
  readonly usage: UsageOptions;
  /** Null in an installation without a garden. Its clusters, if any, wait. */
  readonly clusters: ClusterOptions | null;
  /** Null without the encryption keys of connections. Servers under adoption wait. */
  readonly servers: ServerOptions | null;
  /** Null without a mail server. Other processes send the mails, or they wait. */
  readonly mail: MailOptions | null;
  /** Null without the keys that decrypt their secrets. Their events wait. */
  readonly webhooks: WebhookOptions | null;
}

/** The composition root. Has no effect until `start`. */
export function buildWorkers(services: Services, options: WorkerOptions) {
  const { queue, metrics, log } = services;
  const { settings, intervals, backend } = options;
  const dns = buildDnsWorkers(services, options.dns);
  const retention = buildRetentionWorkers(services, options.retention);
  const usage = buildUsageWorkers(services, options.usage);
  const clusters = options.clusters && buildClusterWorkers(services, options.clusters);
  const servers = options.servers && buildServerWorkers(services, options.servers);
  const mail = options.mail && buildMailWorkers(services, options.mail);
  const webhooks = options.webhooks && buildWebhookWorkers(services, options.webhooks);
  metrics
    .gauge({ name: 'corral_dns_sync_interval_seconds', help: 'Time between two scheduled syncs of the zone' })
    .set(intervals.sync / 1_000);
  dueMetrics(metrics, { cluster: clusters ?? undefined, server: servers ?? undefined });
  const queues = {
    dns: { handlers: tracedJobs(dns.handlers), concurrency: dns.concurrency },
    retention: besideEachOther({ ...retention.handlers, ...usage.handlers }),
    ...(clusters === null
      ? {}
      : {
          clusters: { handlers: clusters.handlers.clusters, concurrency: clusters.concurrency },
          upkeep: besideEachOther(clusters.handlers.upkeep),
        }),
    ...(servers === null ? {} : { servers }),
    ...(mail === null ? {} : { mail: { ...mail, handlers: tracedJobs(mail.handlers) } }),
    ...(webhooks === null ? {} : { webhooks: { ...webhooks, handlers: tracedJobs(webhooks.handlers) } }),
  };
  return {
    /** Starts to take jobs, and schedules the recurring ones. */
    start() {
      const { closeMs, lockMs } = settings;
      const worker = startWorker({ ...backend, queues, log, metrics, closeMs, lockMs });
      dns.start();
      for (const { handlers } of Object.values(queues)) schedule(queue, handlers, intervals);
      const following = clusters?.start();
      return {
        /** Never rejects. */
        async close() {
          await Promise.all([worker.close(), following?.close()]);
        },
      };
    },
  };
}

/** A place for each kind of job, and for one that was sent out of turn. */
function besideEachOther<H extends Partial<JobHandlers>>(handlers: H) {
  return { handlers: tracedJobs(handlers), concurrency: Object.keys(handlers).length + 1 };
}

/** Sends the recurring jobs among those that this process serves. */
export function schedule(queue: Queue, served: Partial<JobHandlers>, intervals: Intervals): void {
  for (const name of Object.keys(served) as RecurringJob[]) {
    const everyMs = intervalOf(name, intervals);
    if (everyMs !== null) queue.schedule(name, everyMs);
  }
}
