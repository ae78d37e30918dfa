import type { MirrorStore, SyncCounts, ZoneOwners, ZoneSyncStore } from '@corral/dns-mirror';
import { type HcloudClient, UpstreamUnavailable } from '@corral/hcloud';
import type { Log } from '@corral/service';
import { Stopped, unlessStopped } from '../loop/unless-stopped.js';
import type { DnsMetrics } from './dns-metrics.js';
import { upstreamReader } from './upstream-reader.js';
import { type Walk, walkZone } from './walk-zone.js';

export interface ZoneSyncDeps {
  readonly zoneName: string;
  /** What the labels of the zone name. */
  readonly owners: ZoneOwners;
  readonly store: ZoneSyncStore;
  readonly mirror: Pick<MirrorStore, 'findZone'>;
  readonly source: Pick<HcloudClient, 'readZone' | 'listRrsets' | 'readRrset'>;
  readonly metrics: DnsMetrics;
  readonly log: Log;
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
  /** The process ends: another one has to do it. */
  | { kind: 'stopped'; runId: string };

/** The zone cannot be synced as things are; the message says what to do. */
class SyncRefused extends Error {
  override readonly name = 'SyncRefused';
}

/**
 * One walk over the zone: brings the mirror to what the upstream states. Never writes upstream. One at a time per zone
 * across all processes; the row `dns_sync_run` tells how it goes.
 */
export const zoneSync =
  (deps: ZoneSyncDeps) =>
  async ({ reason, runId }: SyncRequest, signal: AbortSignal): Promise<SyncResult> => {
    const { store, zoneName, log } = deps;
    const result = await store.withZoneLock(zoneName, async () => {
      const id = await store.startRun(zoneName, reason, runId ?? null);
      return runOnce(deps, id, reason, signal);
    });
    if (result !== 'busy') return result;
    log.debug('zone sync already running', { zone: zoneName, reason });
    return { kind: 'already running' };
  };

async function runOnce(deps: ZoneSyncDeps, runId: string, reason: string, signal: AbortSignal): Promise<SyncResult> {
  const { store, zoneName, log, metrics } = deps;
  const stopTimer = metrics.syncSeconds.startTimer();
  try {
    const walk = await admitZone(deps, signal);
    const read = upstreamReader(deps.source, signal);
    const onDrift = (kind: string): void => metrics.drift.inc({ kind });
    const counts = await walkZone({ ...deps, read, onDrift, signal }, walk);
    await store.finishRun(runId, walk.zoneId, counts);
    const seconds = stopTimer({ outcome: 'succeeded' });
    log.info('zone sync done', { zone: zoneName, runId, reason, purpose: walk.purpose, seconds, ...counts });
    return { kind: 'succeeded', runId, counts };
  } catch (error) {
    if (error instanceof Stopped) {
      log.info('zone sync left to another process', { zone: zoneName, runId, reason });
      return { kind: 'stopped', runId };
    }
    const seconds = stopTimer({ outcome: 'failed' });
    log.error('zone sync failed', { zone: zoneName, runId, reason, seconds, error });
    if (error instanceof UpstreamUnavailable || error instanceof SyncRefused) {
      await store.failRun(runId, error.message);
      const cause = error instanceof SyncRefused ? 'lasting' : 'passing';
      return { kind: 'failed', runId, failure: error.message, cause };
    }
    // Should this fail too, the next run finds the row without a process and ends it.
    await store.failRun(runId, 'An unexpected error, which the reconciler’s log tells.').catch(() => undefined);
    throw error;
  }
}

/** @throws SyncRefused when this zone must not be mirrored */
async function admitZone(
  { source, store, mirror, zoneName, owners }: ZoneSyncDeps,
  signal: AbortSignal,
): Promise<Walk> {
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
      `Zone ${zoneName} is number ${zone.id} upstream, but the mirror holds number ${mirrored.id}: it was made anew, or HCLOUD_TOKEN is of another project. Nothing was changed.`,
    );
  }
  await store.saveZone({ id: zone.id, name: zone.name, body: zone.body }, owners);
  return { zoneId: zone.id, purpose: (await store.wasSynced(zone.id)) ? 'sync' : 'import' };
}
