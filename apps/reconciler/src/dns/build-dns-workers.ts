import { setTimeout as pause } from 'node:timers/promises';
import { dnsLimits } from '@corral/contracts';
import type { Pool } from '@corral/database';
import { demoEnds } from '@corral/demos';
import {
  actionStore,
  driftReporter,
  mirrorStore,
  pollTurns,
  settlementStore,
  syncRunStore,
  writeLedger,
  type ZoneOwners,
  zoneSyncStore,
} from '@corral/dns-mirror';
import type { HcloudClient } from '@corral/hcloud';
import type { JobHandlers, Queue } from '@corral/queue';
import type { Log, Metrics } from '@corral/service';
import { type ClearResult, clearDemos } from './clear-demos.js';
import { dnsHandlers } from './dns-handlers.js';
import { dnsMetrics } from './dns-metrics.js';
import { type ExpireResult, expireDemos } from './expire-demos.js';
import { type LookUpResult, lookUpActions } from './look-up-actions.js';
import { type SettleResult, settleWrites } from './settle-writes.js';
import { type SyncRequest, type SyncResult, zoneSync } from './zone-sync.js';

export interface DnsSettings {
  readonly zoneName: string;
  /** Null where there are no demos. */
  readonly demoZoneName: string | null;
  readonly syncIntervalMs: number;
  readonly settleIntervalMs: number;
  /** Shortest time between two calls for actions whose end nobody asks for. */
  readonly actionIntervalMs: number;
  /** An action that the upstream has not ended by then counts as failed. */
  readonly actionRunningMsMax: number;
  /** How often demos are looked for whose time is over, and what is left of them. */
  readonly demoIntervalMs: number;
  /** How long after an accepted write the upstream may not show it yet. */
  readonly graceMs: number;
  /** The longest that one call of the upstream can last, waits and retries included. */
  readonly upstreamMsMax: number;
}

export interface DnsWorkerDeps {
  readonly settings: DnsSettings;
  readonly pool: Pool;
  readonly queue: Queue;
  readonly hcloud: Pick<HcloudClient, 'readZone' | 'listRrsets' | 'readRrset' | 'readActions' | 'write'>;
  readonly metrics: Metrics;
  readonly log: Log;
}

export interface DnsWorkers {
  settleWrites(signal: AbortSignal): Promise<SettleResult>;
  lookUpActions(): Promise<LookUpResult>;
  zoneSync(request: SyncRequest, signal: AbortSignal): Promise<SyncResult>;
  /** Null where there is no demo zone. */
  readonly demoZoneSync: ((request: SyncRequest, signal: AbortSignal) => Promise<SyncResult>) | null;
  expireDemos(signal: AbortSignal): Promise<ExpireResult>;
  clearDemos(signal: AbortSignal): Promise<ClearResult>;
  readonly handlers: JobHandlers<'dns'>;
  /** As many as may run at the same time: one pass of each loop, with room for a request beside them. */
  readonly concurrency: number;
  /** Sees to it that there are jobs. */
  schedule(): void;
}

/** An uncertain deletion is settled after so long: the upstream may still be working on it. */
const SETTLE_AFTER_MS = 2_000;
/** What a write needs beside the upstream call before its lease may run out. */
const LEASE_MARGIN_MS = 5_000;
/** How often it is looked whether actions may be asked for. Looking costs no upstream call. */
const LOOK_UP_CHECK_MS = 2_000;

/** Wires the loops over the DNS mirror. Does nothing until `schedule`. */
export function buildDnsWorkers({ settings, pool, queue, hcloud, metrics, log }: DnsWorkerDeps): DnsWorkers {
  const { zoneName, demoZoneName, graceMs, upstreamMsMax } = settings;
  const settlements = settlementStore(pool);
  const store = zoneSyncStore(pool);
  const runs = syncRunStore(pool);
  const ends = demoEnds(pool);
  const zoneNames = demoZoneName === null ? [zoneName] : [zoneName, demoZoneName];
  const told = dnsMetrics(metrics, { zoneNames, sync: store, settlements, ends });
  const shared = { source: hcloud, metrics: told, log, reportDrift: driftReporter(metrics, log), graceMs };
  const settle = settleWrites({ ...shared, settlements, mirror: store });
  const lookUp = lookUpActions({
    ...{ turns: pollTurns(pool), store: actionStore(pool), read: hcloud.readActions, metrics: told, log },
    ...{ now: () => new Date(), intervalMs: settings.actionIntervalMs, runningMsMax: settings.actionRunningMsMax },
  });
  const syncOf = (name: string, owners: ZoneOwners) =>
    zoneSync({ ...shared, zoneName: name, owners, store, runs, mirror: mirrorStore(pool) });
  const sync = syncOf(zoneName, 'teams');
  const syncDemos = demoZoneName === null ? null : syncOf(demoZoneName, 'demos');
  const expire = expireDemos({ ends, metrics: told, log });
  const clear = clearDemos({
    ledger: writeLedger(pool, { quota: dnsLimits, leaseMs: upstreamMsMax + LEASE_MARGIN_MS, replayMs: 0 }),
    send: hcloud.write,
    settleAfterMs: SETTLE_AFTER_MS,
    now: () => performance.now(),
    ...{ ends, pause, metrics: told, log },
  });
  return {
    ...{ settleWrites: settle, zoneSync: sync, demoZoneSync: syncDemos, expireDemos: expire, clearDemos: clear },
    lookUpActions: lookUp,
    handlers: dnsHandlers({ settle, lookUp, sync, syncDemos, expire, clear, queue, graceMs }),
    concurrency: 7,
    schedule() {
      // The schedule keeps to its interval across restarts; a start is a reason to look at once.
      void queue.nudge('zone-sync', { reason: 'start' }, { jobId: 'start' });
      queue.schedule('zone-sync', { reason: 'schedule' }, settings.syncIntervalMs);
      queue.schedule('settle-writes', {}, settings.settleIntervalMs);
      queue.schedule('look-up-actions', {}, Math.min(LOOK_UP_CHECK_MS, settings.actionIntervalMs));
      // Even where no demos can be made any more: those that live have to end.
      queue.schedule('expire-demos', {}, settings.demoIntervalMs);
      queue.schedule('clear-demos', {}, settings.demoIntervalMs);
    },
  };
}
