import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, fairQueue } from '@corral/admission';
import { type dnsDemoRoutes, type dnsZoneRoutes, retentionLimits } from '@corral/contracts';
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
import { followActions } from './actions/follow-actions.js';
import { actionRoutes } from './actions/routes.js';
import { clearDemo, demos } from './demos/demos.js';
import { demoRoutes } from './demos/routes.js';
import type { RequestLimits } from './http/rate-limits.js';
import { noteRefused } from './rrsets/access.js';
import { rrsetRoutes, rrsetWriteRoutes } from './rrsets/routes.js';
import { lookAgain, settling } from './rrsets/settling.js';
import { rrsetWriter } from './rrsets/write-rrset.js';
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

/** The scopes of the requests bound number and time of the waits. */
const oneAtATime = {
  concurrency: Number.POSITIVE_INFINITY,
  perOwner: 1,
  waiting: Number.POSITIVE_INFINITY,
  waitingPerOwner: Number.POSITIVE_INFINITY,
  waitMs: Number.POSITIVE_INFINITY,
};
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
  const write = rrsetWriter({
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
    sets: fairQueue(oneAtATime),
    owners: fairQueue(oneAtATime),
    budgetLimit: () => upstream.budget().limit,
    reportDrift,
    lookAgain: look,
    async roomMoves(ownerId, { signal, deadline }) {
      const holding = await following.store.findHolding(ownerId);
      const late = AbortSignal.timeout(Math.max(0, Math.ceil(deadline - performance.now())));
      if (holding.length > 0) await follow(holding, 'ended', AbortSignal.any([signal, late]));
    },
    isDelivered: answered.has,
    now: () => performance.now(),
  });
  const actions = actionProgress({
    ...following,
    follow,
    clock,
    holdMs: config.actionHoldMs,
    draining,
    runningMsMax: config.actionRunningMsMax,
  });
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
      ...rrsetWriteRoutes({ zones, mirror, write, answered, noteRefused: note, budget: upstream.budget }),
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
