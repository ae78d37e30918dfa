import {
  type DriftReporter,
  type MirrorStore,
  type SyncCounts,
  type SyncLease,
  type SyncRunStore,
  SyncTakenOver,
  upstreamReader,
  type WithZoneLock,
  type ZoneOwners,
  type ZoneSyncStore,
} from '@corral/dns-data';
import { type HcloudClient, UpstreamUnavailable } from '@corral/hcloud';
import type { Log } from '@corral/service';
import { Stopped, unlessStopped, untilStopped } from '../loop/work.js';
import type { DnsMetrics } from './metrics.js';
import { type Walk, walkZone } from './walk-zone.js';

interface ZoneSyncDeps {
  readonly zoneName: string;
  /** It knows who owns the labels of the zone. */
  readonly owners: ZoneOwners;
  readonly store: ZoneSyncStore;
  readonly runs: SyncRunStore;
  readonly withZoneLock: WithZoneLock;
  readonly mirror: MirrorStore;
  readonly source: HcloudClient;
  readonly metrics: DnsMetrics;
  readonly log: Log;
  readonly reportDrift: DriftReporter;
  /** Milliseconds after an accepted write during which a read may not show it yet. */
  readonly graceMs: number;
}

export interface SyncRequest {
  /** `start`, `schedule`, `request`, or `again` after a run that skipped something. */
  readonly reason: string;
  /** Set when a client follows the run. */
  readonly runId?: string | undefined;
}

export type SyncResult =
  | { kind: 'succeeded'; runId: string; counts: SyncCounts }
  /** `passing`: a retry may succeed. `lasting`: an operator must change something first. */
  | { kind: 'failed'; runId: string; failure: string; cause: 'passing' | 'lasting' }
  | { kind: 'already running' }
  /** The requested run has already ended. */
  | { kind: 'already done' }
  /** The process is shutting down. Another process continues. */
  | { kind: 'stopped'; runId: string };

/** The zone cannot be synced in its current state. The message says what to do. */
class SyncRefused extends Error {
  override readonly name = 'SyncRefused';
}

/**
 * One walk over the zone: updates the mirror to the upstream state. Never writes upstream. At most one runs per zone across all
 * processes. The row in `dns_sync_run` holds its progress and position. An unfinished walk is resumed first, regardless of who
 * requested it. A request then gets its own run, which sees later changes.
 */
export const zoneSync =
  (deps: ZoneSyncDeps) =>
  async ({ reason, runId }: SyncRequest, signal: AbortSignal): Promise<SyncResult> => {
    const { withZoneLock, zoneName, log } = deps;
    const result = await withZoneLock(zoneName, () => walkUntil(deps, { reason, runId }, signal));
    if (result !== 'busy') return result;
    log.debug('zone sync already running', { zone: zoneName, reason });
    return { kind: 'already running' };
  };

async function walkUntil(deps: ZoneSyncDeps, request: SyncRequest, signal: AbortSignal): Promise<SyncResult> {
  const { runs, zoneName } = deps;
  const { reason, runId } = request;
  for (;;) {
    const lease = await runs.takeRun(zoneName, reason, runId ?? null);
    if (lease === 'ended') return { kind: 'already done' };
    const result = await runOnce(deps, lease, reason, signal);
    if (runId === undefined || lease.runId === runId) return result;
    if (result.kind === 'failed') {
      await runs.refuseRun(zoneName, reason, runId, result.failure);
      return { ...result, runId };
    }
    if (result.kind !== 'succeeded') return result;
  }
}

async function runOnce(deps: ZoneSyncDeps, lease: SyncLease, reason: string, signal: AbortSignal): Promise<SyncResult> {
  const { runs, zoneName, log, metrics } = deps;
  const { runId } = lease;
  const about = { zone: zoneName, runId, reason };
  const stopTimer = metrics.syncSeconds.startTimer();
  if (lease.isResumed) log.info('zone sync resumed', { ...about, page: lease.nextPage });
  try {
    const { zoneId, purpose } = await admitZone(deps, signal);
    const read = upstreamReader(untilStopped(deps.source, signal), signal);
    await walkZone({ ...deps, read, signal }, { zoneId, purpose, lease });
    const counts = await runs.finishRun(lease, zoneId);
    const seconds = stopTimer({ outcome: 'succeeded' });
    log.info('zone sync done', { ...about, purpose, seconds, ...counts });
    return { kind: 'succeeded', runId, counts };
  } catch (error) {
    if (error instanceof Stopped) {
      log.info('zone sync left to another process', about);
      return { kind: 'stopped', runId };
    }
    if (error instanceof SyncTakenOver) {
      log.warn('zone sync taken over by another process', about);
      return { kind: 'already running' };
    }
    const seconds = stopTimer({ outcome: 'failed' });
    log.error('zone sync failed', { ...about, seconds, error });
    if (error instanceof UpstreamUnavailable || error instanceof SyncRefused) {
      await runs.failRun(lease, error.message);
      const cause = error instanceof SyncRefused ? 'lasting' : 'passing';
      return { kind: 'failed', runId, failure: error.message, cause };
    }
    // If this fails too, the next run finds the row without a process and resumes it.
    await runs.failRun(lease, 'Unexpected error. See the log of the reconciler.').catch(() => undefined);
    throw error;
  }
}

/** @throws SyncRefused when this zone must not be mirrored */
async function admitZone(
  { source, store, mirror, zoneName, owners }: ZoneSyncDeps,
  signal: AbortSignal,
): Promise<Omit<Walk, 'lease'>> {
  const zone = await unlessStopped(() => source.readZone(zoneName, { purpose: 'sync', signal }), signal);
  if (zone.kind === 'absent') {
    const variable = owners === 'teams' ? 'DNS_ZONE_NAME' : 'DEMO_ZONE_NAME';
    throw new SyncRefused(`The upstream project has no zone ${zoneName}. Check ${variable} and HCLOUD_TOKEN.`);
  }
  if (zone.mode !== 'primary') {
    throw new SyncRefused(`Zone ${zoneName} is ${zone.mode} upstream; only a primary zone can be served.`);
  }
  const mirrored = await mirror.findZone(zoneName);
  if (mirrored !== null && mirrored.id !== zone.id) {
    throw new SyncRefused(
      `Zone ${zoneName} is number ${zone.id} upstream, but the mirror holds number ${mirrored.id}: the zone was recreated, or HCLOUD_TOKEN belongs to another project. Nothing was changed.`,
    );
  }
  await store.saveZone({ id: zone.id, name: zone.name, body: zone.body }, owners);
  return { zoneId: zone.id, purpose: (await store.wasSynced(zone.id)) ? 'sync' : 'import' };
}
