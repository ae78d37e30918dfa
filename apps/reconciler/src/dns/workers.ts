import { setTimeout as pause } from 'node:timers/promises';
import { dnsLimits } from '@corral/contracts';
import {
  actionStore,
  demoEnds,
  driftReporter,
  endingRrsets,
  mirrorStore,
  pollLeases,
  settlementStore,
  syncRunStore,
  writeLedger,
  type ZoneOwners,
  zoneLock,
  zoneSyncStore,
} from '@corral/dns-data';
import type { HcloudClient } from '@corral/hcloud';
import type { JobHandlers, Queue } from '@corral/queue';
import { type HoldStore, holdStore, unlessHeld } from '../loop/hold.js';
import { Stopped, withSignal } from '../loop/work.js';
import type { Services } from '../services.js';
import { type ClearResult, clearDemos, type ExpireResult, expireDemos } from './end-demos.js';
import { endRrsets } from './end-rrsets.js';
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

export interface DnsOptions {
  readonly settings: DnsSettings;
  readonly hcloud: HcloudClient;
}

/** Delay before an uncertain deletion is settled, because the upstream may still be processing it. */
const SETTLE_AFTER_MS = 2_000;
/** Time that a write needs besides the upstream call before its lease may end. */
const LEASE_MARGIN_MS = 5_000;

/** Wires the loops over the DNS mirror. Has no effect until `start`. */
export function buildDnsWorkers(services: Services, { settings, hcloud }: DnsOptions) {
  const { pool, prisma, queue, metrics, log } = services;
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
    leases: pollLeases(prisma),
    store: actionStore(prisma),
    read: hcloud.readActions,
    metrics: recorded,
    log,
    now: () => new Date(),
    intervalMs: settings.actionIntervalMs,
    runningMsMax: settings.actionRunningMsMax,
  });
  const zones = { ...shared, store, runs, mirror: mirrorStore(pool), withZoneLock: zoneLock(pool) };
  const syncOf = (name: string, owners: ZoneOwners) => zoneSync({ ...zones, zoneName: name, owners });
  const sync = syncOf(zoneName, 'teams');
  const syncDemos = demoZoneName === null ? null : syncOf(demoZoneName, 'demos');
  const expire = expireDemos({ ends, metrics: recorded, log });
  const deletions = {
    ledger: writeLedger(prisma, { quota: dnsLimits, leaseMs: upstreamMsMax + LEASE_MARGIN_MS, replayMs: 0 }),
    send: hcloud.write,
    settleAfterMs: SETTLE_AFTER_MS,
    now: () => performance.now(),
    pause,
    log,
  };
  const clear = clearDemos({ ...deletions, ends, metrics: recorded });
  const end = endRrsets({ ...deletions, ending: endingRrsets(prisma) });
  return {
    settleWrites: settle,
    zoneSync: sync,
    demoZoneSync: syncDemos,
    expireDemos: expire,
    clearDemos: clear,
    endRrsets: end,
    lookUpActions: lookUp,
    handlers: dnsHandlers({
      settle,
      lookUp,
      sync,
      syncDemos,
      expire,
      clear,
      end,
      queue,
      graceMs,
      holds: holdStore(prisma),
    }),
    /** One pass of each loop, and room for a request. */
    concurrency: 8,
    /** Requests a sync: the schedule keeps its interval across restarts. */
    start: () => void queue.nudge('zone-sync', { reason: 'start' }, { jobId: 'start' }),
  };
}

type Sync = (request: SyncRequest, signal: AbortSignal) => Promise<SyncResult>;

interface DnsHandlerDeps {
  readonly settle: (signal: AbortSignal) => Promise<SettleResult>;
  /** The sync of the zone of the teams, the only one that can be requested. */
  readonly sync: Sync;
  /** The sync of the demo zone. Null when there is none. */
  readonly syncDemos: Sync | null;
  readonly expire: (signal: AbortSignal) => Promise<ExpireResult>;
  readonly clear: (signal: AbortSignal) => Promise<ClearResult>;
  readonly end: ReturnType<typeof endRrsets>;
  readonly lookUp: () => Promise<LookUpResult>;
  readonly holds: HoldStore;
  readonly queue: Queue;
  /** Milliseconds until sets that a sync skipped can be compared. */
  readonly graceMs: number;
}

/** Delay of the retry after a transient failure, well before the next scheduled run. */
const RETRY_MS = 30_000;
/** Delay of a requested sync that found another one in progress. */
const TURN_MS = 1_000;

/** Handlers of the jobs in the queue `dns`. */
function dnsHandlers(deps: DnsHandlerDeps): JobHandlers<'dns'> {
  const { sync, syncDemos, expire, holds, queue, graceMs } = deps;
  const lookUp = async () => {
    const { failed } = await deps.lookUp();
    // A failed action means that the mirror is wrong, so it is corrected immediately.
    if (failed > 0) await queue.nudge('settle-writes', {}, { jobId: 'failed-actions' });
  };
  return {
    'settle-writes': withSignal(deps.settle),
    'look-up-actions': lookUp,
    'expire-demos': async (_payload, { signal }) => {
      // A restored demo may have been extended since its backup.
      if ((await holds.find()) !== null) return;
      const { ended } = await expire(signal);
      if (ended > 0) await queue.nudge('clear-demos', {}, { jobId: 'clear' });
    },
    'clear-demos': withSignal(unlessHeld(holds, deps.clear)),
    'end-rrsets': withSignal(unlessHeld(holds, deps.end)),
    'zone-sync': async ({ runId, reason = 'schedule' }, { signal }) => {
      const syncs = runId === undefined && syncDemos !== null ? [sync, syncDemos] : [sync];
      const results = await allEnded(syncs.map((each) => each({ runId, reason }, signal)));
      // A failed job is retried by another process under the same run id.
      if (results.some((result) => result.kind === 'stopped')) throw new Stopped();
      // A requested run must start after the request, so it is queued behind the one in progress.
      if (results[0]?.kind === 'already running' && runId !== undefined) {
        await queue.nudge('zone-sync', { runId, reason }, { jobId: runId, delayMs: TURN_MS });
      }
      const againMs = results.map((result) => syncAgainMs(result, graceMs)).filter((ms) => ms !== null);
      if (againMs.length > 0) {
        await queue.nudge('zone-sync', { reason: 'schedule' }, { jobId: 'again', delayMs: Math.min(...againMs) });
      }
    },
  };
}

/** Waits for all of them before it fails with the first failure, so that no work outlives its job. */
async function allEnded<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/** Milliseconds until the next sync ahead of the schedule, or null when none is needed. */
function syncAgainMs(result: SyncResult, graceMs: number): number | null {
  if (result.kind === 'succeeded' && result.counts.skipped > 0) return Math.max(1_000, graceMs);
  if (result.kind === 'failed' && result.cause === 'passing') return RETRY_MS;
  return null;
}
