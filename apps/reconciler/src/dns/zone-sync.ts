import {
  type DriftReporter,
  type MirrorStore,
  type SyncCounts,
  type SyncLease,
  type SyncRunStore,
  SyncTakenOver,
  upstreamReader,
  type ZoneOwners,
  type ZoneSyncStore,
} from '@corral/dns-mirror';
import { type HcloudClient, UpstreamUnavailable } from '@corral/hcloud';
import type { Log } from '@corral/service';
import { Stopped, unlessStopped, untilStopped } from '../loop/unless-stopped.js';
import type { DnsMetrics } from './dns-metrics.js';
import { type Walk, walkZone } from './walk-zone.js';

export interface ZoneSyncDeps {
  readonly zoneName: string;
  /** What the labels of the zone name. */
  readonly owners: ZoneOwners;
  readonly store: ZoneSyncStore;
  readonly runs: SyncRunStore;
  readonly mirror: Pick<MirrorStore, 'findZone'>;
  readonly source: Pick<HcloudClient, 'readZone' | 'listRrsets' | 'readRrset'>;
  readonly metrics: DnsMetrics;
  readonly log: Log;
  readonly reportDrift: DriftReporter;
  /** For so long after an accepted write a read may not show it yet. */
  readonly graceMs: number;
}

export interface SyncRequest {
  /** `start`, `schedule`, `request`, or `again` after a run that left something over. */
  readonly reason: string;
  /** Given by whoever wants to follow the run. */
  readonly runId?: string | undefined;
}

export type SyncResult =
  | { kind: 'succeeded'; runId: string; counts: SyncCounts }
  /** `passing`: worth another try soon; `lasting`: somebody has to change something first. */
  | { kind: 'failed'; runId: string; failure: string; cause: 'passing' | 'lasting' }
  | { kind: 'already running' }
  /** The requested run has reached its end before. */
  | { kind: 'already done' }
  /** The process ends: another one has to do it. */
  | { kind: 'stopped'; runId: string };

/** The zone cannot be synced as things are; the message says what to do. */
class SyncRefused extends Error {
  override readonly name = 'SyncRefused';
}

/**
 * One walk over the zone: brings the mirror to what the upstream states. Never writes upstream. One at a time per zone
 * across all processes; the row `dns_sync_run` tells how it goes and where it is. A walk that did not reach its end is
 * gone on with first, whoever asked for it; a request then has one of its own, which sees what changed meanwhile.
 */
export const zoneSync =
  (deps: ZoneSyncDeps) =>
  async ({ reason, runId }: SyncRequest, signal: AbortSignal): Promise<SyncResult> => {
    const { store, zoneName, log } = deps;
    const result = await store.withZoneLock(zoneName, () => walkUntil(deps, { reason, runId }, signal));
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
  if (lease.isResumed) log.info('zone sync goes on', { ...about, page: lease.nextPage });
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
    // Should this fail too, the next run finds the row without a process and goes on with it.
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
