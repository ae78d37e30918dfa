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
import { clusterJobs, type RowJobs, serverJobs, sweepDue } from '../loop/due-rows.js';
import { lead, leadershipStore } from '../loop/leadership.js';
import { clusterTable, serverTable } from '../loop/leased-tables.js';
import { type LeasedId, type LeaseStore, leaseStore } from '../loop/leases.js';
import { tokenOpener } from '../loop/provider-token.js';
import { passTraces } from '../loop/traced-work.js';
import { priceStore } from '../upkeep/price-store.js';
import { refreshPrices } from '../upkeep/refresh-prices.js';
import { verificationStore } from '../upkeep/verification-store.js';
import { verifyConnections } from '../upkeep/verify-connections.js';
import { desiredStore } from './desired-store.js';
import { reconcileHandler, upkeepHandlers } from './handlers.js';
import { clusterMetrics } from './metrics.js';
import { clusterPass, type PassResult } from './pass.js';
import { recordStore } from './record.js';

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
  verify(signal: AbortSignal): Promise<number>;
  refreshPrices(signal: AbortSignal): Promise<number>;
  countNodes(signal: AbortSignal): Promise<number>;
  readonly handlers: { readonly clusters: JobHandlers<'clusters'>; readonly upkeep: JobHandlers<'upkeep'> };
  readonly concurrency: number;
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

/** Wires the loops over clusters and their connections. Has no effect until `start`. */
export function buildClusterWorkers(deps: ClusterWorkerDeps): ClusterWorkers {
  const { settings, pool, prisma, queue, garden, keys, verifyToken, readPrices, log } = deps;
  const leases = leaseStore(pool, clusterTable);
  const dueTimes = dueStore(pool);
  const jobs = clusterJobs(queue, log);
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
  const onVerified = (outcome: string) => metrics.verifications.inc({ outcome });
  const verify = verifyConnections({
    store: verificationStore(pool),
    dueTimes,
    wake: jobs.wake,
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
    wakers: [wakerOf(leases, jobs), wakerOf(leaseStore(pool, serverTable), serverJobs(queue, log))],
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
  const reconcile = reconcileHandler({ pass, traced: passTraces(pool), gate, jobs, onGardenBack, metrics, log });
  return {
    countDue: leases.countDue,
    pass,
    verify,
    refreshPrices: refresh,
    countNodes: count,
    handlers: {
      clusters: { 'reconcile-cluster': reconcile },
      upkeep: upkeepHandlers({
        sweep: (signal) => sweepDue({ leases, jobs, onFound: (rows) => metrics.sweepFound.inc(rows) }, log, signal),
        async verify(signal) {
          if ((await verify(signal)) > 0) void queue.nudge('refresh-prices', {}, { jobId: 'change' });
        },
        refreshPrices: refresh,
        countNodes: count,
        cleanUp: unlessHeld(holds, cleanUp),
      }),
    },
    concurrency: settings.concurrency,
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

/** Makes the rows due that wait for the garden. */
const wakerOf =
  <Id extends LeasedId>(leases: Pick<LeaseStore<Id>, 'makeWaitingDue'>, { wake }: Pick<RowJobs<Id>, 'wake'>) =>
  async (): Promise<number> => {
    const woken = await leases.makeWaitingDue();
    await wake(woken);
    return woken.length;
  };
