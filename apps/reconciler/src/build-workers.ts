import type { Pool } from '@corral/database';
import { mirrorStore, settlementStore, zoneSyncStore } from '@corral/dns-mirror';
import type { HcloudClient } from '@corral/hcloud';
import { type BackendOptions, type JobHandlers, type Queue, type StartedWorker, startWorker } from '@corral/queue';
import type { Log, Metrics } from '@corral/service';
import { dnsHandlers } from './dns/dns-handlers.js';
import { dnsMetrics } from './dns/dns-metrics.js';
import { type SettleResult, settleWrites } from './dns/settle-writes.js';
import { type SyncRequest, type SyncResult, zoneSync } from './dns/zone-sync.js';

export interface WorkerSettings {
  readonly zoneName: string;
  readonly syncIntervalMs: number;
  readonly settleIntervalMs: number;
  /** How long after an accepted write the upstream may not show it yet. */
  readonly graceMs: number;
  /** The longest that one read of the upstream can last, waits and retries included. */
  readonly upstreamReadMsMax: number;
  /** How long running jobs may go on after `close`. */
  readonly closeMs: number;
  /** After so long without a sign of life of this process its jobs are given to another one. */
  readonly lockMs: number;
}

export interface WorkerDeps {
  readonly settings: WorkerSettings;
  readonly pool: Pool;
  readonly queue: Queue;
  /** Where jobs come from: the same place that `queue` sends them to. */
  readonly backend: BackendOptions;
  readonly hcloud: Pick<HcloudClient, 'readZone' | 'listRrsets' | 'readRrset'>;
  readonly metrics: Metrics;
  readonly log: Log;
}

export interface Workers {
  settleWrites(signal: AbortSignal): Promise<SettleResult>;
  zoneSync(request: SyncRequest, signal: AbortSignal): Promise<SyncResult>;
  readonly handlers: JobHandlers;
  /** Takes jobs, and sees to it that there are some. */
  start(): StartedWorker;
}

/** As many as may run at the same time: one pass of each loop, with room for a request beside them. */
const CONCURRENCY = 4;

/** The composition root. Does nothing until `start`. */
export function buildWorkers({ settings, pool, queue, backend, hcloud, metrics, log }: WorkerDeps): Workers {
  const { zoneName, graceMs } = settings;
  const settlements = settlementStore(pool);
  const store = zoneSyncStore(pool);
  const shared = { source: hcloud, metrics: dnsMetrics(metrics, { zoneName, sync: store, settlements }), log, graceMs };
  // An absent set costs a second read: of its zone.
  const leaseMs = 2 * settings.upstreamReadMsMax + 5_000;
  const settle = settleWrites({ ...shared, settlements, mirror: store, leaseMs });
  const sync = zoneSync({ ...shared, zoneName, store, mirror: mirrorStore(pool) });
  const handlers = dnsHandlers({ settle, sync, queue, graceMs });
  return {
    settleWrites: settle,
    zoneSync: sync,
    handlers,
    start() {
      const worker = startWorker({
        ...backend,
        ...{ handlers, log, metrics },
        ...{ concurrency: CONCURRENCY, closeMs: settings.closeMs, lockMs: settings.lockMs },
      });
      // The schedule keeps to its interval across restarts; a start is a reason to look at once.
      void queue.nudge('zone-sync', { reason: 'start' }, { jobId: 'start' });
      queue.schedule('zone-sync', { reason: 'schedule' }, settings.syncIntervalMs);
      queue.schedule('settle-writes', {}, settings.settleIntervalMs);
      return worker;
    },
  };
}
