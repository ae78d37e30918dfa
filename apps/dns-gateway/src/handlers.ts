import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, places } from '@corral/admission';
import { type dnsDemoRoutes, dnsLimits, type dnsZoneRoutes, retentionLimits } from '@corral/contracts';
import type { Pool, Prisma } from '@corral/database';
import {
  type AnsweredRecorder,
  actionStore,
  copyStore,
  demoEnds,
  demoStore,
  drawLabel,
  driftReporter,
  mirrorStore,
  pollTurns,
  type ReadRrset,
  type RecordQuota,
  refusedWrites,
  SETTLE_LEASE_MS,
  settlementStore,
  tokenUseReader,
  upstreamReader,
  type WriteLedger,
  zoneSyncStore,
} from '@corral/dns-data';
import type { HcloudClient } from '@corral/hcloud';
import type { HandlersOf } from '@corral/http-api';
import type { Log, Metrics } from '@corral/service';
import { actionProgress } from './actions/action-progress.js';
import { followActions, untilOneEnds } from './actions/follow-actions.js';
import { heldReads } from './actions/held-reads.js';
import { actionRoutes } from './actions/routes.js';
import { clearDemo, demos } from './demos/demos.js';
import { demoRoutes } from './demos/routes.js';
import type { RequestLimits } from './http/rate-limits.js';
import { keyedQueue } from './rrsets/keyed-queue.js';
import { noteRefused } from './rrsets/refused-writes.js';
import { rrsetRoutes } from './rrsets/routes.js';
import { rrsetWriter } from './rrsets/rrset-writer.js';
import { lookAgain, settling } from './rrsets/settling.js';
import { rrsetWriteRoutes } from './rrsets/write-routes.js';
import { tokenRoutes } from './token/routes.js';
import { zoneRoutes } from './zones/routes.js';
import { type ZoneDirectory, zoneDirectory, zonesOf } from './zones/zone-directory.js';

export interface HandlerConfig {
  readonly zoneName: string;
  /** Base address of the API for its clients. Null when the operator has not stated it. */
  readonly publicUrl: string | null;
  readonly quota: RecordQuota;
  /** Null where demos are switched off. */
  readonly demos: DemoConfig | null;
  readonly settleAfterMs: number;
  /** Maximum time that a client then waits for the outcome of its write. */
  readonly settleWithinMs: number;
  /** How long after an accepted write the upstream may not show it yet. */
  readonly settleGraceMs: number;
  readonly actionPollMs: number;
  readonly actionHoldMs: number;
  readonly actionRunningMsMax: number;
}

export interface DemoConfig {
  readonly zoneName: string;
  /** Live demos that a team may have. */
  readonly perTeam: number;
}

export interface HandlerDeps {
  readonly config: HandlerConfig;
  /** For the reads of record sets. */
  readonly pool: Pool;
  /** For all else. */
  readonly prisma: Prisma;
  /** On the connections for writes: what waits for the rows of owners. */
  readonly writePrisma: Prisma;
  readonly ledger: WriteLedger;
  readonly upstream: Pick<HcloudClient, 'write' | 'readActions' | 'readRrset' | 'readZone' | 'budget'>;
  readonly answered: AnsweredRecorder;
  readonly limits: Pick<RequestLimits, 'giveBack' | 'leftOf'>;
  readonly clock: Clock;
  /** Aborted when the process takes no more connections: reads that are held end. */
  readonly draining: AbortSignal;
  readonly metrics: Pick<Metrics, 'counter'>;
  readonly log: Log;
}

export interface Handlers {
  readonly zones: HandlersOf<(typeof dnsZoneRoutes)[number]>;
  /** Null where demos are switched off. */
  readonly demos: HandlersOf<(typeof dnsDemoRoutes)[number]> | null;
}

/** Time during which this process deletes the records of a deleted demo; afterwards the reconciler does. */
const CLEAR_LEASE_MS = 10_000;
/** Maximum wait of an answer that needs a second call. */
const LOOK_MS_MAX = 1_000;

/** Zones, record sets, actions, the caller's token, and demos. */
export function buildHandlers(deps: HandlerDeps): Handlers {
  const { config, pool, prisma, writePrisma, ledger, upstream, answered, limits, clock, draining, metrics, log } = deps;
  const writes = metrics.counter({
    name: 'corral_dns_writes_total',
    help: 'Writes sent upstream, by how they ended; forbidden: answered 403',
    labelNames: ['outcome'],
  });
  // Counted from zero, so that the first one is seen as an increase.
  writes.inc({ outcome: 'forbidden' }, 0);
  const mirror = mirrorStore(pool);
  const directoryOf = (zoneName: string) => zoneDirectory({ zoneName, find: mirror.findZone });
  const demoZone = config.demos === null ? null : directoryOf(config.demos.zoneName);
  const zones = zonesOf(directoryOf(config.zoneName), demoZone);
  const send: HcloudClient['write'] = async (write, options) => {
    const outcome = await upstream.write(write, options);
    const isForbidden = outcome.kind === 'refused' && outcome.status === 403;
    writes.inc({ outcome: isForbidden ? 'forbidden' : outcome.kind });
    return outcome;
  };
  const sending = { ledger, send, pause, settleAfterMs: config.settleAfterMs };
  const reportDrift = driftReporter(metrics, log);
  const note = noteRefused(refusedWrites(writePrisma), (error) => log.warn('refused write not counted', { error }));
  const settlements = settlementStore(writePrisma);
  // A new reader per read, because a zone that was found once may be unreachable the next time.
  const read: ReadRrset = (key, purpose) => upstreamReader(upstream)(key, purpose);
  const look = lookAgain({
    mirror: zoneSyncStore(writePrisma),
    settlements,
    read,
    reportDrift,
    pause,
    graceMs: config.settleGraceMs,
    waitMsMax: LOOK_MS_MAX,
    onError: (error) => log.warn('record set not read again', { error }),
  });
  const following = { store: actionStore(prisma), pause, now: Date.now, pollIntervalMs: config.actionPollMs };
  const follow = followActions({
    ...following,
    polls: pollTurns(prisma),
    lookAgain: look,
    read: upstream.readActions,
    onReadError: (error) => log.warn('actions not read', { error }),
  });
  const writer = rrsetWriter({
    ledger,
    send,
    pause,
    noteRefused: note,
    settling: settling({
      settlements,
      read,
      pause,
      now: () => performance.now(),
      graceMs: config.settleGraceMs,
      settleAfterMs: config.settleAfterMs,
      settleWithinMs: config.settleWithinMs,
      onError: (error) => log.warn('write not settled', { error }),
    }),
    settleHoldMs: config.settleAfterMs + config.settleWithinMs + SETTLE_LEASE_MS,
    copies: copyStore(prisma, retentionLimits.replaySeconds * 1_000),
    queue: keyedQueue(),
    places: places(dnsLimits.waitingWritesPerToken),
    budgetLimit: () => upstream.budget().limit,
    reportDrift,
    lookAgain: look,
    roomMoves: async (ownerId, waitMs, gone) => {
      const holding = await following.store.findHolding(ownerId);
      if (holding.length > 0) await untilOneEnds(follow(holding, 'ended'), { waitMs, gone, pause });
    },
    isDelivered: answered.has,
    now: () => performance.now(),
  });
  const held = heldReads({
    clock,
    holdMs: config.actionHoldMs,
    draining,
    places: places(dnsLimits.heldReadsPerToken),
  });
  const actions = actionProgress({ ...following, follow, held, runningMsMax: config.actionRunningMsMax });
  const clear = clearDemo({
    ...sending,
    ends: demoEnds(prisma),
    onError: (error) => log.warn('demo not cleared immediately', { error }),
  });
  const buildDemos = (zone: ZoneDirectory, { perTeam }: DemoConfig) => {
    const store = demoStore(prisma, { demosPerTeam: perTeam, clearLeaseMs: CLEAR_LEASE_MS });
    return demoRoutes({ demos: demos({ store, zone, drawLabel, clear }) });
  };
  return {
    zones: {
      ...zoneRoutes({ zones, mirror }),
      ...rrsetRoutes({ zones, mirror }),
      ...rrsetWriteRoutes({ zones, mirror, writer, answered, noteRefused: note, limits, budget: upstream.budget }),
      ...tokenRoutes({
        zones,
        readUse: tokenUseReader(prisma),
        leftOf: limits.leftOf,
        quota: config.quota,
        endpoint: config.publicUrl,
      }),
      ...actionRoutes({ actions, store: following.store, zones, giveBack: limits.giveBack }),
    },
    demos: demoZone === null || config.demos === null ? null : buildDemos(demoZone, config.demos),
  };
}
