import { randomBytes, randomUUID } from 'node:crypto';
import type { ClusterId, ConnectionId } from '@corral/contracts';
import { connectGarden } from '@corral/garden';
import { readPrices, verifyToken } from '@corral/hcloud';
import { type LocalCloudOptions, startLocalCloud } from '@corral/local-cloud';
import {
  type BackendOptions,
  connectQueue,
  type Intervals,
  type Queue,
  type StartedWorker,
  startWorker,
} from '@corral/queue';
import { KeyRing } from '@corral/secrets';
import { createMetrics, type Log, type Metrics, silentLog } from '@corral/service';
import { schedule } from '../../src/build-workers.js';
import { buildClusterWorkers, type ClusterSettings, type ClusterWorkers } from '../../src/clusters/workers.js';
import { openClusterRows, type TestTeam } from './cluster-rows.js';

export const PROJECT_TOKEN = 'p'.repeat(64);
export const OTHER_TOKEN = 'q'.repeat(64);

export interface StartOptions {
  readonly settings?: Partial<ClusterSettings>;
  readonly intervals?: Partial<Intervals>;
  readonly redisUrl?: string | undefined;
  readonly log?: Log;
}

export interface Reconciler {
  readonly workers: ClusterWorkers;
  readonly queue: Queue;
  readonly metrics: Metrics;
  /** Tells of a cluster that is due, as the API does. */
  wake(clusterId: ClusterId): Promise<void>;
  stop(): Promise<void>;
}

const clusterSettings: ClusterSettings = {
  concurrency: 8,
  leaseMs: 5_000,
  relistIntervalMs: 60_000,
  nodeCountIntervalMs: 3_600_000,
  networkingType: 'calico',
  features: new Set(),
  names: { zone: 'example.test', endpoint: 'https://dns.test/v1', acmeServer: 'https://acme.test/directory' },
};

/** Those of DNS and mails are not used. */
const shortIntervals = { sweep: 1_000, verify: 1_000, sync: 1, settle: 1, lookUp: 1, demos: 1, mails: 1 };

const fast = { createMs: 200, reconcileMs: 120, deleteMs: 150 };

/** Clusters in a separate garden, with a real Postgres, a real queue and the local cloud. */
export async function startClusters(cloudOptions: Partial<LocalCloudOptions> = {}, key = randomBytes(32)) {
  const rows = await openClusterRows();
  const cloud = await startLocalCloud({
    tokens: ['x'.repeat(64)],
    projectTokens: [PROJECT_TOKEN, OTHER_TOKEN],
    zones: [{ name: 'example.test' }],
    garden: fast,
    ...cloudOptions,
  });
  const connect = () =>
    connectGarden({
      kubeconfigText: cloud.gardenKubeconfigs.reconciler,
      cloudProfileName: 'hcloud',
      timeoutMs: 30_000,
      log: silentLog,
    });
  const garden = connect();
  const keys = new KeyRing([{ id: 'k1', bytes: key }]);
  const running = new Set<Reconciler>();

  const seal = async (connectionId: ConnectionId, token: string, ring = keys): Promise<void> => {
    const { keyId, bytes } = ring.seal(token, connectionId);
    await rows.pool.query('UPDATE connection SET sealed_token = $2, token_key_id = $3 WHERE id = $1', [
      connectionId,
      Buffer.from(bytes),
      keyId,
    ]);
  };
  let shared: Promise<TestTeam> | undefined;
  const connected = async (team: TestTeam) => {
    const connectionId = await rows.addConnection(team, `main-${randomUUID().slice(0, 8)}`);
    await seal(connectionId, PROJECT_TOKEN);
    return { team, connectionId };
  };
  return {
    ...rows,
    cloud,
    garden,
    keys,
    seal,
    /** A connection whose token the provider takes, of the team of this file. */
    async addConnectionOfTeam() {
      shared ??= rows.addTeam();
      return connected(await shared);
    },
    /** The same for a team of its own. It takes a second until the garden has its Project. */
    addTeamWithConnection: async () => connected(await rows.addTeam()),
    /** A reconciler as a process would run it. */
    async start({ settings = {}, intervals = {}, redisUrl, log = silentLog }: StartOptions = {}) {
      const backend: BackendOptions = { redisUrl, databaseUrl: rows.url };
      const metrics = createMetrics({ service: `test-${randomUUID()}` });
      const queue = connectQueue({ ...backend, log });
      const client = connect();
      const services = { pool: rows.pool, prisma: rows.prisma, queue, metrics, log };
      const workers = buildClusterWorkers(services, {
        settings: { ...clusterSettings, ...settings },
        garden: client,
        keys,
        verifyToken: (token) => verifyToken({ baseUrl: cloud.apiUrl, token }),
        readPrices: (token) => readPrices({ baseUrl: cloud.apiUrl, token }),
      });
      const { handlers, concurrency } = workers;
      const queues = {
        clusters: { handlers: handlers.clusters, concurrency },
        upkeep: {
          // Tests follow schedules at times of their own.
          handlers: { ...handlers.upkeep, 'follow-schedules': async () => undefined },
          concurrency: 6,
        },
      };
      const worker: StartedWorker = startWorker({
        ...backend,
        queues,
        log,
        metrics,
        closeMs: 1_000,
        lockMs: 2_000,
      });
      await worker.ready;
      for (const served of Object.values(queues)) schedule(queue, served.handlers, { ...shortIntervals, ...intervals });
      const following = workers.start();
      const reconciler: Reconciler = {
        workers,
        queue,
        metrics,
        wake: (clusterId) => queue.nudge('reconcile-cluster', { clusterId }, { jobId: clusterId }),
        async stop() {
          if (!running.delete(reconciler)) return;
          await Promise.all([worker.close(), following.close()]);
          await queue.close();
          await client.close();
        },
      };
      running.add(reconciler);
      return reconciler;
    },
    async close() {
      await Promise.all([...running].map((each) => each.stop()));
      await garden.close();
      await cloud.close();
      await rows.close();
    },
  };
}
export type Clusters = Awaited<ReturnType<typeof startClusters>>;
