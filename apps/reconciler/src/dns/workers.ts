import { setTimeout as pause } from 'node:timers/promises';
import { dnsLimits } from '@corral/contracts';
import type { Pool, Prisma } from '@corral/database';
import {
  actionStore,
  demoEnds,
  driftReporter,
  mirrorStore,
  pollTurns,
  settlementStore,
  syncRunStore,
  writeLedger,
  type ZoneOwners,
  zoneLock,
  zoneSyncStore,
} from '@corral/dns-data';
import type { HcloudClient } from '@corral/hcloud';
import type { JobHandlers, Queue } from '@corral/queue';
import type { Log, Metrics } from '@corral/service';
import { holdStore } from '../hold/hold-store.js';
import { type ClearResult, clearDemos, type ExpireResult, expireDemos } from './end-demos.js';
import { dnsHandlers } from './handlers.js';
import { type LookUpResult, lookUpActions } from './look-up-actions.js';
import { dnsMetrics } from './metrics.js';
import { type SettleResult, settleWrites } from './settle-writes.js';
import { type SyncRequest, type SyncResult, zoneSync } from './zone-sync.js';

export interface DnsSettings {
  readonly zoneName: string;
  /** Null when there are no demos. */
  readonly demoZoneName: string | null;
  /** Minimum time in milliseconds between two calls for actions that no client polls. */
  readonly actionIntervalMs: number;
  /** Milliseconds after which an unfinished action counts as failed. */
  readonly actionRunningMsMax: number;
  /** Milliseconds after an accepted write during which the upstream may not show it yet. */
  readonly graceMs: number;
  /** Maximum duration of an upstream call including waits and retries, in milliseconds. */
  readonly upstreamMsMax: number;
}

export interface DnsWorkerDeps {
  readonly settings: DnsSettings;
  readonly pool: Pool;
  /** On the same connections. */
  readonly prisma: Prisma;
  readonly queue: Queue;
  readonly hcloud: Pick<HcloudClient, 'readZone' | 'listRrsets' | 'readRrset' | 'readActions' | 'write'>;
  readonly metrics: Metrics;
  readonly log: Log;
}

export interface DnsWorkers {
  settleWrites(signal: AbortSignal): Promise<SettleResult>;
  lookUpActions(): Promise<LookUpResult>;
  zoneSync(request: SyncRequest, signal: AbortSignal): Promise<SyncResult>;
  /** Null when there is no demo zone. */
  readonly demoZoneSync: ((request: SyncRequest, signal: AbortSignal) => Promise<SyncResult>) | null;
  expireDemos(signal: AbortSignal): Promise<ExpireResult>;
  clearDemos(signal: AbortSignal): Promise<ClearResult>;
  readonly handlers: JobHandlers<'dns'>;
  /** Maximum number of concurrent jobs: one pass of each loop, and room for a request. */
  readonly concurrency: number;
  /** Requests a sync. */
  start(): void;
}

/** Delay before an uncertain deletion is settled, because the upstream may still be processing it. */
const SETTLE_AFTER_MS = 2_000;
/** Time that a write needs besides the upstream call before its lease may end. */
const LEASE_MARGIN_MS = 5_000;

/** Wires the loops over the DNS mirror. Has no effect until `start`. */
export function buildDnsWorkers({ settings, pool, prisma, queue, hcloud, metrics, log }: DnsWorkerDeps): DnsWorkers {
  const { zoneName, demoZoneName, graceMs, upstreamMsMax } = settings;
  const settlements = settlementStore(prisma);
  const store = zoneSyncStore(prisma);
  const runs = syncRunStore(prisma);
  const ends = demoEnds(prisma);
  const zoneNames = demoZoneName === null ? [zoneName] : [zoneName, demoZoneName];
  const recorded = dnsMetrics(metrics, { zoneNames, sync: store, settlements, ends });
  const shared = { source: hcloud, metrics: recorded, log, reportDrift: driftReporter(metrics, log), graceMs };
  const settle = settleWrites({ ...shared, settlements, mirror: store });
  const lookUp = lookUpActions({
    turns: pollTurns(prisma),
    store: actionStore(prisma),
    read: hcloud.readActions,
    metrics: recorded,
    log,
    now: () => new Date(),
    intervalMs: settings.actionIntervalMs,
    runningMsMax: settings.actionRunningMsMax,
  });
  const syncOf = (name: string, owners: ZoneOwners) =>
    zoneSync({
      ...shared,
      zoneName: name,
      owners,
      store,
      runs,
      mirror: mirrorStore(pool),
      withZoneLock: zoneLock(pool),
    });
  const sync = syncOf(zoneName, 'teams');
  const syncDemos = demoZoneName === null ? null : syncOf(demoZoneName, 'demos');
  const expire = expireDemos({ ends, metrics: recorded, log });
  const clear = clearDemos({
    ledger: writeLedger(prisma, { quota: dnsLimits, leaseMs: upstreamMsMax + LEASE_MARGIN_MS, replayMs: 0 }),
    send: hcloud.write,
    settleAfterMs: SETTLE_AFTER_MS,
    now: () => performance.now(),
    ends,
    pause,
    metrics: recorded,
    log,
  });
  return {
    settleWrites: settle,
    zoneSync: sync,
    demoZoneSync: syncDemos,
    expireDemos: expire,
    clearDemos: clear,
    lookUpActions: lookUp,
    handlers: dnsHandlers({ settle, lookUp, sync, syncDemos, expire, clear, holds: holdStore(prisma), queue, graceMs }),
    concurrency: 7,
    // The schedule keeps its interval across restarts. A start triggers a sync immediately.
    start: () => void queue.nudge('zone-sync', { reason: 'start' }, { jobId: 'start' }),
  };
}
