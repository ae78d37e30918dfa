import { randomUUID } from 'node:crypto';
import type { ClusterId, TokenVerdict } from '@corral/contracts';
import { readClock } from '@corral/database';
import type { GardenClient, GardenFeature } from '@corral/garden';
import type { PricesReading } from '@corral/hcloud';
import type { JobContext, JobHandlers } from '@corral/queue';
import type { KeyRing } from '@corral/secrets';
import type { Log } from '@corral/service';
import { authorities, catalogue } from '../garden/catalogue.js';
import { cleanUpGarden, cleanupStore } from '../garden/clean-up.js';
import { countNodes, countStore } from '../garden/count-nodes.js';
import { dueStore, followShoots } from '../garden/follow-shoots.js';
import { type GardenGate, gardenGate } from '../garden/gate.js';
import { probeGarden, wakeWaiting } from '../garden/return-of-the-garden.js';
import { holdStore, unlessHeld } from '../loop/hold.js';
import { lead, leadershipStore } from '../loop/leader.js';
import { clusterTable, type LeasedId, type LeaseStore, leaseStore, serverTable } from '../loop/lease.js';
import { tokenOpener } from '../loop/provider-token.js';
import { clusterJobs, planNext, type RowJobs, serverJobs, sweepDue } from '../loop/sweep.js';
import { passTraces, Stopped, withSignal } from '../loop/work.js';
import type { Services } from '../services.js';
import { priceStore, refreshPrices } from '../upkeep/prices.js';
import { verificationStore, verifyConnections } from '../upkeep/verify-connections.js';
import { followSchedules, scheduleStore } from './follow-schedules.js';
import { type ClusterMetrics, clusterMetrics } from './metrics.js';
import { keepNames, type NamePlace } from './names/keep-names.js';
import { nameStore } from './names/store.js';
import { clusterPass, type PassEnd, type PassResult } from './pass.js';
import { recordStore } from './record.js';
import { desiredStore } from './store.js';

export interface ClusterSettings {
  /** Maximum number of clusters that this process works on concurrently while the garden is healthy. */
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly relistIntervalMs: number;
  /** Milliseconds between two node counts of an unchanged cluster whose nodes are not all ready. */
  readonly nodeCountIntervalMs: number;
  /** Networking extension of new clusters. */
  readonly networkingType: string;
  /** Optional features of the garden. */
  readonly features: ReadonlySet<GardenFeature>;
  /** Names on clusters lead there; null without the address of the DNS API, and then no name is installed. */
  readonly names: NamePlace | null;
}

export interface ClusterOptions {
  readonly settings: ClusterSettings;
  readonly garden: GardenClient;
  /** Decrypts the tokens of connections. */
  readonly keys: KeyRing;
  /** Asks the provider whether a token is valid. */
  readonly verifyToken: (token: string) => Promise<TokenVerdict>;
  /** The provider's price list for the project of a token. */
  readonly readPrices: (token: string) => Promise<PricesReading>;
}

/** The names of what one process of an installation does. */
const [WATCH, PROBE] = ['watch-shoots', 'probe-garden'] as const;

/** How long passes share a read of the CloudProfile, in milliseconds. */
const CATALOGUE_MS = 60_000;
/** Maximum number of cached certificate authorities of a few kilobytes each. */
const AUTHORITIES_MAX = 2_000;
/** How long the leader may be silent before another process takes over the watch and the probe. */
const WATCH_LEASE_MS = 8_000;

/** Wires the loops over clusters and their connections. Has no effect until `start`. */
export function buildClusterWorkers(services: Services, options: ClusterOptions) {
  const { pool, prisma, queue, log } = services;
  const { settings, garden, keys, verifyToken, readPrices } = options;
  const leases = leaseStore(pool, clusterTable);
  const dueTimes = dueStore(pool);
  const jobs = clusterJobs(queue, log);
  const serverRows = serverJobs(queue, log);
  const gate = gardenGate({
    places: settings.concurrency,
    onPause(pause) {
      metrics.pauses.inc({ reason: pause.reason });
      log.warn('garden left alone', pause);
    },
  });
  const metrics = clusterMetrics(services.metrics, { leases, gate });
  const openToken = tokenOpener(keys);
  const holds = holdStore(prisma);
  const pass = clusterPass({
    garden,
    leases,
    desired: desiredStore(services),
    records: recordStore(services),
    holds,
    openToken,
    log,
    catalogue: catalogue(garden, CATALOGUE_MS),
    authorities: authorities(garden, AUTHORITIES_MAX),
    own: { networkingType: settings.networkingType, features: settings.features },
    leaseMs: settings.leaseMs,
  });
  const onVerified = (outcome: string) => metrics.verifications.inc({ outcome });
  const verify = verifyConnections({
    store: verificationStore(services),
    prisma,
    wakeClusters: jobs.wake,
    wakeServers: serverRows.wake,
    openToken,
    verifyToken,
    onVerified,
    log,
  });
  const refresh = refreshPrices({
    store: priceStore(services),
    openToken,
    readPrices,
    log,
    onRead: (outcome) => metrics.priceReadings.inc({ outcome }),
  });
  const count = countNodes({
    store: countStore(services),
    garden,
    intervalMs: settings.nodeCountIntervalMs,
    onCounted: (outcome) => metrics.nodeCounts.inc({ outcome }),
  });
  const cleanUp = cleanUpGarden({
    store: cleanupStore(prisma),
    garden,
    log,
    onOutcome: (outcome) => metrics.cleanups.inc({ outcome }),
  });
  const keep = keepNames({ store: nameStore(prisma), garden, place: settings.names, log });
  const onGardenBack = wakeWaiting({
    wakers: [wakerOf(leases, jobs), wakerOf(leaseStore(pool, serverTable), serverRows)],
    log,
  });
  const probe = probeGarden({ garden, dueTimes, onReturn: onGardenBack, log });
  const follow = followShoots({
    garden,
    dueTimes,
    holds,
    wake: jobs.wake,
    relistEveryMs: settings.relistIntervalMs,
    onChanges: (source, clusters) => metrics.changes.inc({ source }, clusters),
    onWatching: (isWatching) => metrics.watching.set(Number(isWatching)),
    onReturn: onGardenBack,
  });
  const reconcile = reconcileHandler({ pass, traced: passTraces(prisma), gate, jobs, metrics, log });
  return {
    countDue: leases.countDue,
    handlers: {
      clusters: { 'reconcile-cluster': reconcile },
      upkeep: {
        'sweep-clusters': withSignal((signal) =>
          sweepDue({ leases, jobs, onFound: (rows) => metrics.sweepFound.inc(rows) }, log, signal),
        ),
        'follow-schedules': withSignal(
          unlessHeld(
            holds,
            followSchedules({ store: scheduleStore(services), wake: jobs.wake, now: () => readClock(prisma), log }),
          ),
        ),
        'verify-connections': withSignal(async (signal) => {
          if ((await verify(signal)) > 0) void queue.nudge('refresh-prices', {}, { jobId: 'change' });
        }),
        'refresh-prices': withSignal(refresh),
        'count-nodes': withSignal(count),
        'clean-up-garden': withSignal(unlessHeld(holds, cleanUp)),
        'keep-names': withSignal(unlessHeld(holds, keep)),
      } satisfies JobHandlers<'upkeep'>,
    },
    concurrency: settings.concurrency,
    /** Watches the Shoots and probes the garden unless another process does. */
    start() {
      const watch = async (signal: AbortSignal): Promise<void> => {
        try {
          await follow(signal);
        } finally {
          metrics.watching.set(0);
        }
      };
      return lead({
        store: leadershipStore(services),
        tasks: { [WATCH]: watch, [PROBE]: probe },
        holder: randomUUID(),
        leaseMs: WATCH_LEASE_MS,
        log,
      });
    },
  };
}

export type ClusterWorkers = ReturnType<typeof buildClusterWorkers>;

/** Makes the rows due that wait for the garden. */
const wakerOf =
  <Id extends LeasedId>(leases: LeaseStore<Id>, { wake }: RowJobs<Id>) =>
  async (): Promise<number> => {
    const woken = await leases.makeWaitingDue();
    await wake(woken);
    return woken.length;
  };

interface ReconcileDeps {
  readonly pass: (clusterId: ClusterId, stop: AbortSignal) => Promise<PassResult>;
  readonly traced: ReturnType<typeof passTraces>;
  readonly gate: GardenGate;
  readonly jobs: RowJobs<ClusterId>;
  readonly metrics: ClusterMetrics;
  readonly log: Log;
}

/**
 * Runs a pass when the gate admits it, and schedules the next one. Requeueing, metrics and the log line are here, so that a
 * pass contains none of them.
 */
function reconcileHandler({ pass, traced, gate, jobs, metrics, log }: ReconcileDeps) {
  return async ({ clusterId }: { clusterId: ClusterId }, { signal }: JobContext) => {
    const leave = await gate.enter(clusterId, signal).catch((error: unknown) => {
      if (error instanceof Stopped) return null;
      throw error;
    });
    if (leave === null) return planNext(jobs, clusterId, { kind: 'stopped' }, log);
    const startedAt = performance.now();
    let result: PassResult | null = null;
    let traceId: string | undefined;
    try {
      result = await traced('reconcile cluster', clusterId, async (span) => {
        const done = await pass(clusterId, signal);
        traceId = span?.traceId;
        span?.set({
          'corral.cluster.id': clusterId,
          'corral.pass.end': outcomeOf(done.end),
          'corral.pass.steps': done.steps,
        });
        return done;
      });
    } finally {
      leave(result?.report ?? null);
    }
    const { end, steps } = result;
    const outcome = outcomeOf(end);
    metrics.passes.inc({ outcome });
    if (didWork(end)) {
      const seconds = (performance.now() - startedAt) / 1_000;
      metrics.passSeconds.observe({ outcome }, seconds);
      logEnd(log, clusterId, end, { traceId, steps, ms: Math.round(seconds * 1_000) });
    }
    await planNext(jobs, clusterId, end, log);
  };
}

const outcomeOf = (end: PassEnd): string =>
  end.kind === 'failed' ? `failed_${end.failure}` : end.kind.replaceAll(' ', '_');

const didWork = ({ kind }: PassEnd): boolean => kind !== 'busy' && kind !== 'idle' && kind !== 'not due';

interface PassFields {
  readonly traceId: string | undefined;
  readonly steps: readonly string[];
  readonly ms: number;
}

function logEnd(log: Log, clusterId: ClusterId, end: PassEnd, fields: PassFields): void {
  if (end.kind !== 'failed') {
    const inMs = end.kind === 'finished' ? { inMs: end.inMs } : {};
    log.info('pass done', { clusterId, end: end.kind, ...fields, ...inMs });
    return;
  }
  const { failure, inMs, error } = end;
  const line = failure === 'bug' || failure === 'platform' ? log.error : log.warn;
  line('pass failed', { clusterId, failure, ...fields, inMs, error });
}
