import { randomUUID } from 'node:crypto';
import type { TokenVerdict } from '@corral/contracts';
import type { Pool } from '@corral/database';
import type { GardenClient, GardenFeature } from '@corral/garden';
import type { PricesReading } from '@corral/hcloud';
import type { JobHandlers, Queue } from '@corral/queue';
import type { KeyRing } from '@corral/secrets';
import type { Log, Metrics } from '@corral/service';
import { gardenGate } from '../loop/garden-gate.js';
import { lead } from '../loop/lead.js';
import { leadershipStore } from '../loop/leadership-store.js';
import { leaseStore } from '../loop/lease-store.js';
import { tokenOpener } from '../loop/provider-token.js';
import { sweepDue } from '../loop/sweep-due.js';
import { clusterWakeUps, serverWakeUps } from '../loop/wake-ups.js';
import { authorities } from './authorities.js';
import { catalogue } from './catalogue.js';
import { cleanUpGarden } from './clean-up-garden.js';
import { cleanupStore } from './cleanup-store.js';
import { reconcileHandler, upkeepHandlers } from './cluster-handlers.js';
import { clusterMetrics } from './cluster-metrics.js';
import { clusterPass, type PassResult } from './cluster-pass.js';
import { clusterTurns } from './cluster-turns.js';
import { countNodes } from './count-nodes.js';
import { countStore } from './count-store.js';
import { desiredStore } from './desired-store.js';
import { newsStore } from './news-store.js';
import { priceStore } from './price-store.js';
import { probeGarden } from './probe-garden.js';
import { recordStore } from './record-store.js';
import { refreshPrices } from './refresh-prices.js';
import { followShoots } from './shoot-news.js';
import { verificationStore } from './verification-store.js';
import { verifyConnections } from './verify-connections.js';
import { waitsForGarden } from './waiting.js';
import { wakeWaiting } from './wake-waiting.js';

export interface ClusterSettings {
  /** Clusters that this process works on at the same time, while the garden is well. */
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly sweepIntervalMs: number;
  readonly verifyIntervalMs: number;
  readonly relistIntervalMs: number;
  /** Between two counts of the nodes of a cluster that shows no news. */
  readonly nodeCountIntervalMs: number;
  /** Networking extension of new clusters. */
  readonly networkingType: string;
  /** What the garden can do that not all can. */
  readonly features: ReadonlySet<GardenFeature>;
}

export interface ClusterWorkerDeps {
  readonly settings: ClusterSettings;
  readonly pool: Pool;
  readonly queue: Queue;
  readonly garden: GardenClient;
  /** Opens the tokens of connections. */
  readonly keys: Pick<KeyRing, 'open'>;
  /** What the provider says of a token. */
  readonly verifyToken: (token: string) => Promise<TokenVerdict>;
  /** The provider's price list, as the project of a token sees it. */
  readonly readPrices: (token: string) => Promise<PricesReading>;
  readonly metrics: Metrics;
  readonly log: Log;
}

export interface ClusterWorkers {
  pass(clusterId: string, stop: AbortSignal): Promise<PassResult>;
  sweep(signal: AbortSignal): Promise<number>;
  verify(signal: AbortSignal): Promise<number>;
  refreshPrices(signal: AbortSignal): Promise<number>;
  countNodes(signal: AbortSignal): Promise<number>;
  readonly handlers: { readonly clusters: JobHandlers<'clusters'>; readonly upkeep: JobHandlers<'upkeep'> };
  readonly concurrency: number;
  /** Sees to it that there are jobs, and follows the Shoots and probes the garden when no other process does. */
  start(): { close(): Promise<void> };
}

/** For so long passes share what they read of the CloudProfile. */
const CATALOGUE_MS = 60_000;
/** A few kilobytes each. */
const AUTHORITIES_MAX = 2_000;
/** After so long without a sign of life another process takes the watch over, and the probe. */
const WATCH_LEASE_MS = 8_000;
/** Nobody waits for what is left on the garden. */
const CLEAN_UP_INTERVAL_MS = 15_000;

/** Wires the loops over clusters and their connections. Does nothing until `start`. */
export function buildClusterWorkers(deps: ClusterWorkerDeps): ClusterWorkers {
  const { settings, pool, queue, garden, keys, verifyToken, readPrices, log } = deps;
  const leases = leaseStore(pool, clusterTurns);
  const news = newsStore(pool);
  const wakeUps = clusterWakeUps(queue);
  const gate = gardenGate({
    places: settings.concurrency,
    onPause(pause) {
      metrics.pauses.inc({ word: pause.word });
      log.warn('garden left alone', pause);
    },
  });
  const metrics = clusterMetrics(deps.metrics, { leases, gate });
  const openToken = tokenOpener(keys);
  const pass = clusterPass({
    ...{ garden, leases, desired: desiredStore(pool), records: recordStore(pool), openToken, log },
    catalogue: catalogue(garden, CATALOGUE_MS),
    authorities: authorities(garden, AUTHORITIES_MAX),
    own: { networkingType: settings.networkingType, features: settings.features },
    leaseMs: settings.leaseMs,
  });
  const sweep = sweepDue({
    ...{ leases, log },
    send: (clusterId) => queue.send('reconcile-cluster', { clusterId, foundBy: 'sweep' }, { jobId: clusterId }),
  });
  const onVerified = (outcome: string) => metrics.verifications.inc({ outcome });
  const verify = verifyConnections({
    ...{ store: verificationStore(pool), news, wakeUps, openToken, verifyToken, onVerified, log },
  });
  const refresh = refreshPrices({
    ...{ store: priceStore(pool), openToken, readPrices, log },
    onRead: (outcome) => metrics.priceReadings.inc({ outcome }),
  });
  const count = countNodes({
    ...{ store: countStore(pool), garden, intervalMs: settings.nodeCountIntervalMs },
    onCounted: (outcome) => metrics.nodeCounts.inc({ outcome }),
  });
  const cleanUp = cleanUpGarden({
    ...{ store: cleanupStore(pool), garden, log },
    onOutcome: (outcome) => metrics.cleanups.inc({ outcome }),
  });
  const onGardenBack = wakeWaiting({
    waiters: [
      { mark: (withinMs) => news.markWaiting(waitsForGarden, withinMs), wake: wakeUps.lookAgain },
      { mark: news.markWaitingServers, wake: serverWakeUps(queue).lookAgain },
    ],
    log,
  });
  const probe = probeGarden({ garden, news, onReturn: onGardenBack, log });
  const follow = followShoots({
    ...{ garden, news, wakeUps, relistEveryMs: settings.relistIntervalMs },
    onNews: (source, clusters) => metrics.news.inc({ source }, clusters),
    onWatching: (isWatching) => metrics.watching.set(Number(isWatching)),
    onReturn: onGardenBack,
  });
  return {
    ...{ pass, sweep, verify, refreshPrices: refresh, countNodes: count },
    handlers: {
      clusters: { 'reconcile-cluster': reconcileHandler({ pass, gate, wakeUps, onGardenBack, metrics, log }) },
      upkeep: upkeepHandlers({
        sweep,
        verify,
        refreshPrices: refresh,
        countNodes: count,
        cleanUp,
      }),
    },
    concurrency: settings.concurrency,
    start() {
      queue.schedule('sweep-clusters', {}, settings.sweepIntervalMs);
      queue.schedule('verify-connections', {}, settings.verifyIntervalMs);
      queue.schedule('refresh-prices', {}, settings.verifyIntervalMs);
      queue.schedule('count-nodes', {}, settings.sweepIntervalMs);
      queue.schedule('clean-up-garden', {}, CLEAN_UP_INTERVAL_MS);
      const store = leadershipStore(pool);
      const one = { store, holder: randomUUID(), leaseMs: WATCH_LEASE_MS, log };
      const watch = (signal: AbortSignal) => follow(signal).finally(() => metrics.watching.set(0));
      const tasks = [
        lead({ ...one, name: 'watch-shoots', work: watch }),
        lead({ ...one, name: 'probe-garden', work: probe }),
      ];
      return { close: async () => void (await Promise.all(tasks.map((task) => task.close()))) };
    },
  };
}
