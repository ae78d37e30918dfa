import type { Pool } from '@corral/database';
import { type BackendOptions, type Queue, startWorker } from '@corral/queue';
import type { Log, Metrics } from '@corral/service';
import { buildClusterWorkers, type ClusterWorkerDeps, type ClusterWorkers } from './clusters/build-cluster-workers.js';
import { buildDnsWorkers, type DnsWorkerDeps, type DnsWorkers } from './dns/build-dns-workers.js';
import { buildMailWorkers, type MailWorkerDeps, type MailWorkers } from './mail/build-mail-workers.js';
import {
  buildRetentionWorkers,
  type RetentionWorkerDeps,
  type RetentionWorkers,
} from './retention/build-retention-workers.js';
import { buildServerWorkers, type ServerWorkerDeps, type ServerWorkers } from './servers/build-server-workers.js';

export interface WorkerSettings {
  /** How long running jobs may go on after `close`. */
  readonly closeMs: number;
  /** After so long without a sign of life of this process its jobs are given to another one. */
  readonly lockMs: number;
}

type Shared = 'pool' | 'queue' | 'metrics' | 'log';

export interface WorkerDeps {
  readonly settings: WorkerSettings;
  readonly pool: Pool;
  readonly queue: Queue;
  /** Where jobs come from: the same place that `queue` sends them to. */
  readonly backend: BackendOptions;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly dns: Omit<DnsWorkerDeps, Shared>;
  readonly retention: Omit<RetentionWorkerDeps, Shared>;
  /** Null in an installation without a garden: its clusters, if it has any, wait. */
  readonly clusters: Omit<ClusterWorkerDeps, Shared> | null;
  /** Null without the keys of connections: servers that are being adopted wait. */
  readonly servers: Omit<ServerWorkerDeps, Shared> | null;
  /** Null where no mail server is known: mails are left to other processes, or wait. */
  readonly mail: Omit<MailWorkerDeps, Shared> | null;
}

export interface Workers {
  readonly dns: DnsWorkers;
  readonly retention: RetentionWorkers;
  readonly clusters: ClusterWorkers | null;
  readonly servers: ServerWorkers | null;
  readonly mail: MailWorkers | null;
  /** Takes jobs, and sees to it that there are some. */
  start(): StartedWorkers;
}

export interface StartedWorkers {
  /** Resolves when every queue is being served for the first time. */
  readonly ready: Promise<void>;
  /** Never rejects. */
  close(): Promise<void>;
}

/** The composition root. Does nothing until `start`. */
export function buildWorkers(deps: WorkerDeps): Workers {
  const { settings, pool, queue, backend, metrics, log } = deps;
  const shared = { pool, queue, metrics, log };
  const dns = buildDnsWorkers({ ...shared, ...deps.dns });
  const retention = buildRetentionWorkers({ ...shared, ...deps.retention });
  const clusters = deps.clusters === null ? null : buildClusterWorkers({ ...shared, ...deps.clusters });
  const servers = deps.servers === null ? null : buildServerWorkers({ ...shared, ...deps.servers });
  const mail = deps.mail === null ? null : buildMailWorkers({ ...shared, ...deps.mail });
  return {
    ...{ dns, retention, clusters, servers, mail },
    start() {
      const worker = startWorker({
        ...backend,
        queues: {
          dns: { handlers: dns.handlers, concurrency: dns.concurrency },
          retention: { handlers: retention.handlers, concurrency: retention.concurrency },
          ...clusterQueues(clusters),
          ...serverQueue(servers),
          ...mailQueue(mail),
        },
        ...{ log, metrics, closeMs: settings.closeMs, lockMs: settings.lockMs },
      });
      dns.schedule();
      retention.schedule();
      servers?.schedule();
      mail?.schedule();
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

function serverQueue(servers: ServerWorkers | null) {
  return servers === null ? {} : { servers: { handlers: servers.handlers, concurrency: servers.concurrency } };
}

function mailQueue(mail: MailWorkers | null) {
  return mail === null ? {} : { mail: { handlers: mail.handlers, concurrency: mail.concurrency } };
}

function clusterQueues(clusters: ClusterWorkers | null) {
  if (clusters === null) return {};
  const { handlers, concurrency } = clusters;
  return {
    clusters: { handlers: handlers.clusters, concurrency },
    // One of each may run, and one more that was asked for meanwhile ends at once.
    upkeep: { handlers: handlers.upkeep, concurrency: Object.keys(handlers.upkeep).length + 1 },
  };
}
