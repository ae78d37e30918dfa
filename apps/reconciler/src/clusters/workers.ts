import { randomUUID } from 'node:crypto';
import type { ClusterId, TokenVerdict } from '@corral/contracts';
import type { Pool, Prisma } from '@corral/database';
import type { GardenClient, GardenFeature } from '@corral/garden';
import type { PricesReading } from '@corral/hcloud';
import type { JobHandlers, Queue } from '@corral/queue';
import type { KeyRing } from '@corral/secrets';
import type { Log, Metrics } from '@corral/service';
import { authorities } from '../garden/authorities.js';
import { catalogue } from '../garden/catalogue.js';
import { cleanUpGarden, cleanupStore } from '../garden/clean-up.js';
import { countNodes, countStore } from '../garden/count-nodes.js';
import { dueStore } from '../garden/due-store.js';
import { followShoots } from '../garden/follow-shoots.js';
import { gardenGate } from '../garden/gate.js';
import { probeGarden } from '../garden/probe-garden.js';
import { wakeWaiting } from '../garden/wake-waiting.js';
import { holdStore, unlessHeld } from '../hold/hold-store.js';
import { lead, leadershipStore } from '../loop/leadership.js';
import { type LeasedTable, leaseStore } from '../loop/leases.js';
import { tokenOpener } from '../loop/provider-token.js';
import type { RecurringJob } from '../loop/recurring.js';
import { sweepDue } from '../loop/sweep-due.js';
import { passTraces } from '../loop/traced-work.js';
import { clusterWakeUps, serverWakeUps } from '../loop/wake-ups.js';
import { priceStore } from '../upkeep/price-store.js';
import { refreshPrices } from '../upkeep/refresh-prices.js';
import { verificationStore } from '../upkeep/verification-store.js';
import { verifyConnections } from '../upkeep/verify-connections.js';
import { desiredStore } from './desired-store.js';
import { reconcileHandler, upkeepHandlers } from './handlers.js';
import { causedByGarden, waitsForGarden } from './judge/waiting.js';
import { clusterMetrics } from './metrics.js';
import { clusterPass, type PassResult } from './pass.js';
import { recordStore } from './record.js';

export interface ClusterSettings {
  /** Maximum number of clusters that this process works on concurrently while the garden is healthy. */
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly sweepIntervalMs: number;
  readonly verifyIntervalMs: number;
  readonly relistIntervalMs: number;
  /** Milliseconds between two node counts of an unchanged cluster whose nodes are not all ready. */
  readonly nodeCountIntervalMs: number;
  /** Networking extension of new clusters. */
  readonly networkingType: string;
  /** Optional features of the garden. */
  readonly features: ReadonlySet<GardenFeature>;
}

export interface ClusterWorkerDeps {
  readonly settings: ClusterSettings;
  readonly pool: Pool;
  readonly prisma: Prisma;
  readonly queue: Queue;
  readonly garden: GardenClient;
  /** Decrypts the tokens of connections. */
  readonly keys: Pick<KeyRing, 'open'>;
  /** Asks the provider whether a token is valid. */
  readonly verifyToken: (token: string) => Promise<TokenVerdict>;
  /** The provider's price list for the project of a token. */
  readonly readPrices: (token: string) => Promise<PricesReading>;
  readonly metrics: Metrics;
  readonly log: Log;
}

export interface ClusterWorkers {
  /** Number of rows that are due or have a running pass, without those that wait for the garden. */
  countDue(): Promise<number>;
  pass(clusterId: ClusterId, stop: AbortSignal): Promise<PassResult>;
  sweep(signal: AbortSignal): Promise<number>;
  verify(signal: AbortSignal): Promise<number>;
  refreshPrices(signal: AbortSignal): Promise<number>;
  countNodes(signal: AbortSignal): Promise<number>;
  readonly handlers: { readonly clusters: JobHandlers<'clusters'>; readonly upkeep: JobHandlers<'upkeep'> };
  readonly concurrency: number;
  readonly recurring: readonly RecurringJob[];
  /** Watches the Shoots and probes the garden unless another process does. */
  start(): { close(): Promise<void> };
}

/** The names of what one process of an installation does. */
const [WATCH, PROBE] = ['watch-shoots', 'probe-garden'] as const;

/** How long passes share a read of the CloudProfile, in milliseconds. */
const CATALOGUE_MS = 60_000;
/** Maximum number of cached certificate authorities of a few kilobytes each. */
const AUTHORITIES_MAX = 2_000;
/** How long the leader may be silent before another process takes over the watch and the probe. */
const WATCH_LEASE_MS = 8_000;
/** Clean-up is not urgent. */
const CLEAN_UP_INTERVAL_MS = 30_000;
/** Prices are read once a day; a connection that became ready says so at once. */
const PRICES_INTERVAL_FACTOR = 3;

/** Wires the loops over clusters and their connections. Has no effect until `start`. */
export function buildClusterWorkers(deps: ClusterWorkerDeps): ClusterWorkers {
  const { settings, pool, prisma, queue, garden, keys, verifyToken, readPrices, log } = deps;
  const leases = leaseStore(pool, clusterTable);
  const dueTimes = dueStore(pool);
  const wakeUps = clusterWakeUps(queue);
  const gate = gardenGate({
    places: settings.concurrency,
    onPause(pause) {
      metrics.pauses.inc({ reason: pause.reason });
      log.warn('garden left alone', pause);
    },
  });
  const metrics = clusterMetrics(deps.metrics, { leases, gate });
  const openToken = tokenOpener(keys);
  const holds = holdStore(prisma);
  const pass = clusterPass({
    garden,
    leases,
    desired: desiredStore(pool),
    records: recordStore(pool),
    holds,
    openToken,
    log,
    catalogue: catalogue(garden, CATALOGUE_MS),
    authorities: authorities(garden, AUTHORITIES_MAX),
    own: { networkingType: settings.networkingType, features: settings.features },
    leaseMs: settings.leaseMs,
  });
  const sweep = sweepDue({
    leases,
    log,
    send: (clusterId) => queue.send('reconcile-cluster', { clusterId, foundBy: 'sweep' }, { jobId: clusterId }),
  });
  const onVerified = (outcome: string) => metrics.verifications.inc({ outcome });
  const verify = verifyConnections({
    store: verificationStore(pool),
    dueTimes,
    wakeUps,
    openToken,
    verifyToken,
    onVerified,
    log,
  });
  const refresh = refreshPrices({
    store: priceStore(pool),
    openToken,
    readPrices,
    log,
    onRead: (outcome) => metrics.priceReadings.inc({ outcome }),
  });
  const count = countNodes({
    store: countStore(pool),
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
  const onGardenBack = wakeWaiting({
    waiters: [
      { makeDue: (withinMs) => dueTimes.makeWaitingDue(waitsForGarden, withinMs), wake: wakeUps.wakeSoon },
      { makeDue: dueTimes.makeWaitingServersDue, wake: serverWakeUps(queue).wakeSoon },
    ],
    log,
  });
  const probe = probeGarden({ garden, dueTimes, onReturn: onGardenBack, log });
  const follow = followShoots({
    garden,
    dueTimes,
    holds,
    wakeUps,
    relistEveryMs: settings.relistIntervalMs,
    onChanges: (source, clusters) => metrics.changes.inc({ source }, clusters),
    onWatching: (isWatching) => metrics.watching.set(Number(isWatching)),
    onReturn: onGardenBack,
  });
  const reconcile = reconcileHandler({ pass, traced: passTraces(pool), gate, wakeUps, onGardenBack, metrics, log });
  return {
    countDue: leases.countDue,
    pass,
    sweep,
    verify,
    refreshPrices: refresh,
    countNodes: count,
    handlers: {
      clusters: { 'reconcile-cluster': reconcile },
      upkeep: upkeepHandlers({
        sweep,
        async verify(signal) {
          if ((await verify(signal)) > 0) void queue.nudge('refresh-prices', {}, { jobId: 'change' });
        },
        refreshPrices: refresh,
        countNodes: count,
        cleanUp: unlessHeld(holds, cleanUp),
      }),
    },
    concurrency: settings.concurrency,
    recurring: recurringJobs(settings),
    start() {
      const watch = async (signal: AbortSignal): Promise<void> => {
        try {
          await follow(signal);
        } finally {
          metrics.watching.set(0);
        }
      };
      const leading = lead({
        store: leadershipStore(pool),
        tasks: { [WATCH]: watch, [PROBE]: probe },
        holder: randomUUID(),
        leaseMs: WATCH_LEASE_MS,
        log,
      });
      return { close: () => leading.close() };
    },
  };
}

function recurringJobs({ sweepIntervalMs, verifyIntervalMs }: ClusterSettings): RecurringJob[] {
  return [
    { name: 'sweep-clusters', payload: {}, everyMs: sweepIntervalMs },
    { name: 'count-nodes', payload: {}, everyMs: sweepIntervalMs },
    { name: 'verify-connections', payload: {}, everyMs: verifyIntervalMs },
    { name: 'refresh-prices', payload: {}, everyMs: PRICES_INTERVAL_FACTOR * verifyIntervalMs },
    { name: 'clean-up-garden', payload: {}, everyMs: CLEAN_UP_INTERVAL_MS },
  ];
}

/**
 * Work on a cluster starts with its first pool that the garden can have: a Shoot without workers can never get any (see
 * "workerless" in Gardener's documentation).
 */
export const clusterTable: LeasedTable<ClusterId> = {
  table: 'cluster',
  isWorkedOn: `(started_at IS NOT NULL OR EXISTS (
    SELECT 1 FROM node_pool WHERE cluster_id = cluster.id AND source = 'managed' AND maximum > 0))`,
  waitsForGarden: `(coalesce(waiting->>'reason', '') IN (${causedByGarden.map((reason) => `'${reason}'`).join(', ')}))`,
  onTaken: ', sighted_hash = NULL, started_at = coalesce(started_at, clock_timestamp())',
  isReported: 'sighted_hash IS NOT NULL',
};
