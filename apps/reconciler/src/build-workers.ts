import { connectPrisma, type Pool } from '@corral/database';
import {
  type BackendOptions,
  type Intervals,
  intervalOf,
  type JobHandlers,
  type Queue,
  type RecurringJob,
  startWorker,
} from '@corral/queue';
import type { Log, Metrics } from '@corral/service';
import { buildClusterWorkers, type ClusterWorkerDeps, type ClusterWorkers } from './clusters/workers.js';
import { buildDnsWorkers, type DnsWorkerDeps, type DnsWorkers } from './dns/workers.js';
import { dueMetrics } from './loop/metrics.js';
import { tracedJobs } from './loop/work.js';
import { buildMailWorkers, type MailWorkerDeps, type MailWorkers } from './mail/send-mails.js';
import { buildServerWorkers, type ServerWorkerDeps, type ServerWorkers } from './servers/workers.js';
import { buildUsageWorkers, type UsageWorkerDeps, type UsageWorkers } from './upkeep/record-usage.js';
import { buildRetentionWorkers, type RetentionWorkerDeps, type RetentionWorkers } from './upkeep/retention.js';

interface WorkerSettings {
  /** How long running jobs may continue after `close`, in milliseconds. */
  readonly closeMs: number;
  /** How long this process may be silent before its jobs are given to another process, in milliseconds. */
  readonly lockMs: number;
}

type Shared = 'pool' | 'prisma' | 'queue' | 'metrics' | 'log';

export interface WorkerDeps {
  readonly settings: WorkerSettings;
  readonly intervals: Intervals;
  readonly pool: Pool;
  readonly queue: Queue;
  /** Where jobs come from: the backend that `queue` sends them to. */
  readonly backend: BackendOptions;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly dns: Omit<DnsWorkerDeps, Shared>;
  readonly retention: Omit<RetentionWorkerDeps, Shared>;
  readonly usage: Omit<UsageWorkerDeps, Shared>;
  /** Null in an installation without a garden. Its clusters, if any, wait. */
  readonly clusters: Omit<ClusterWorkerDeps, Shared> | null;
  /** Null without the encryption keys of connections. Servers under adoption wait. */
  readonly servers: Omit<ServerWorkerDeps, Shared> | null;
  /** Null without a mail server. Other processes send the mails, or they wait. */
  readonly mail: Omit<MailWorkerDeps, Shared> | null;
}

export interface Workers {
  readonly dns: DnsWorkers;
  readonly retention: RetentionWorkers;
  readonly usage: UsageWorkers;
  readonly clusters: ClusterWorkers | null;
  readonly servers: ServerWorkers | null;
  readonly mail: MailWorkers | null;
  /** Starts to take jobs, and schedules the recurring ones. */
  start(): StartedWorkers;
}

interface StartedWorkers {
  /** Resolves when every queue has been served once. */
  readonly ready: Promise<void>;
  /** Never rejects. */
  close(): Promise<void>;
}

/** The composition root. Has no effect until `start`. */
export function buildWorkers(deps: WorkerDeps): Workers {
  const { settings, intervals, pool, queue, backend, metrics, log } = deps;
  const shared = { pool, prisma: connectPrisma(pool), queue, metrics, log };
  const dns = buildDnsWorkers({ ...shared, ...deps.dns });
  const retention = buildRetentionWorkers({ ...shared, ...deps.retention });
  const usage = buildUsageWorkers({ ...shared, ...deps.usage });
  const clusters = deps.clusters === null ? null : buildClusterWorkers({ ...shared, ...deps.clusters });
  const servers = deps.servers === null ? null : buildServerWorkers({ ...shared, ...deps.servers });
  const mail = deps.mail === null ? null : buildMailWorkers({ ...shared, ...deps.mail });
  dueMetrics(metrics, { cluster: clusters ?? undefined, server: servers ?? undefined });
  const queues = {
    dns: { handlers: tracedJobs(dns.handlers), concurrency: dns.concurrency },
    retention: besideEachOther({ ...retention.handlers, ...usage.handlers }),
    ...clusterQueues(clusters),
    ...serverQueue(servers),
    ...mailQueue(mail),
  };
  return {
    dns,
    retention,
    usage,
    clusters,
    servers,
    mail,
    start() {
      const { closeMs, lockMs } = settings;
      const worker = startWorker({ ...backend, queues, log, metrics, closeMs, lockMs });
      dns.start();
      for (const { handlers } of Object.values(queues)) schedule(queue, handlers, intervals);
      const following = clusters?.start();
      return {
        ready: worker.ready,
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
export function schedule(queue: Pick<Queue, 'schedule'>, served: Partial<JobHandlers>, intervals: Intervals): void {
  for (const name of Object.keys(served) as RecurringJob[]) {
    const everyMs = intervalOf(name, intervals);
    if (everyMs !== null) queue.schedule(name, everyMs);
  }
}

function serverQueue(servers: ServerWorkers | null) {
  return servers === null ? {} : { servers: { handlers: servers.handlers, concurrency: servers.concurrency } };
}

function mailQueue(mail: MailWorkers | null) {
  return mail === null ? {} : { mail: { handlers: tracedJobs(mail.handlers), concurrency: mail.concurrency } };
}

function clusterQueues(clusters: ClusterWorkers | null) {
  if (clusters === null) return {};
  const { handlers, concurrency } = clusters;
  return {
    clusters: { handlers: handlers.clusters, concurrency },
    upkeep: besideEachOther(handlers.upkeep),
  };
}
