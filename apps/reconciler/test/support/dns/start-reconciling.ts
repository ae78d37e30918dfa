import { connectPool, connectPrisma } from '@corral/database';
import { zoneSyncStore } from '@corral/dns-data';
import { connectHcloud, type HcloudClient } from '@corral/hcloud';
import { type LocalCloudOptions, startLocalCloud } from '@corral/local-cloud';
import type { Queue } from '@corral/queue';
import { createMetrics, type Metrics, silentLog } from '@corral/service';
import { createTestDatabase, patientPool, patientTransactions } from '@corral/testing';
import { buildDnsWorkers, type DnsSettings } from '../../../src/dns/workers.js';
import { dnsRows } from './dns-rows.js';

export const ZONE = 'example.test';
export const DEMO_ZONE = 'demo.example.test';
export const UPSTREAM_TOKEN = 'x'.repeat(64);

export const settings: DnsSettings = {
  zoneName: ZONE,
  demoZoneName: null,
  actionIntervalMs: 10_000,
  actionRunningMsMax: 60_000,
  graceMs: 60_000,
  upstreamMsMax: 1_000,
};

/** A reconciler with a separate database and upstream, whose loops the test runs itself. */
export async function startReconciling(
  cloudOptions: Partial<LocalCloudOptions> = {},
  changed: Partial<DnsSettings> = {},
  { waitMsMax = 30_000 }: { waitMsMax?: number } = {},
) {
  const database = await createTestDatabase();
  const cloud = await startLocalCloud({
    tokens: [UPSTREAM_TOKEN],
    zones: [{ name: ZONE }, { name: DEMO_ZONE }],
    actionMs: 0,
    requestsPerHour: 1_000_000,
    ...cloudOptions,
  });
  const pool = connectPool({
    databaseUrl: database.url,
    applicationName: 'reconciler test',
    ...patientPool,
    onIdleError: () => undefined,
  });
  const prisma = connectPrisma(pool, patientTransactions);
  const hcloud = connectHcloud({
    baseUrl: cloud.apiUrl,
    token: UPSTREAM_TOKEN,
    timeoutMs: 30_000,
    waitMsMax,
    log: silentLog,
  });
  /** Requested jobs, in place of a queue. */
  const nudges: { name: string; payload: unknown; options: unknown }[] = [];
  const queue = {
    nudge: async (name: string, payload: unknown, options: unknown) => void nudges.push({ name, payload, options }),
  } as unknown as Queue;
  const buildWith = (metrics: Metrics, differing: Partial<DnsSettings>, upstream: Partial<HcloudClient> = {}) =>
    buildDnsWorkers(
      { pool, prisma, queue, metrics, log: silentLog },
      { settings: { ...settings, ...differing }, hcloud: { ...hcloud, ...upstream } },
    );
  const metrics = createMetrics({ service: 'test' });
  const idOf = (name: string) => cloud.admin.zones().find((zone) => zone.name === name)?.id as number;
  const [zoneId, demoZoneId] = [idOf(ZONE), idOf(DEMO_ZONE)];
  return {
    ...dnsRows(pool, prisma, zoneId),
    databaseUrl: database.url,
    pool,
    prisma,
    cloud,
    hcloud,
    zoneId,
    demoZoneId,
    nudges,
    workers: buildWith(metrics, changed),
    /** A second reconciler with separate metrics. */
    another: (more: Partial<DnsSettings> = {}, upstream?: Partial<HcloudClient>) =>
      buildWith(createMetrics({ service: 'test' }), { ...changed, ...more }, upstream),
    async metric(name: string, labels: Record<string, string> = {}) {
      const values = (await metrics.registry.getSingleMetric(name)?.get())?.values ?? [];
      const wanted = Object.entries(labels);
      return values.find((value) =>
        wanted.every(([label, text]) => (value.labels as Record<string, unknown>)[label] === text),
      )?.value;
    },
    /** Mirrors the zone without any set, as after the import of an empty zone. */
    async mirrorZone() {
      const zone = await hcloud.readZone(ZONE);
      if (zone.kind === 'found') await zoneSyncStore(prisma).saveZone(zone);
    },
    /** Removes faults, and every set in the upstream zone. */
    clearUpstream() {
      cloud.admin.clearFaults();
      const { rrsets = [] } = cloud.admin.zones().find(({ name }) => name === ZONE) ?? {};
      for (const { name, type } of rrsets) if (name !== '@') cloud.admin.deleteRrset(ZONE, name, type);
    },
    async stop() {
      hcloud.close();
      await cloud.close();
      await prisma.$disconnect();
      await pool.end();
      await database.drop();
    },
  };
}

export type Reconciling = Awaited<ReturnType<typeof startReconciling>>;

export const running = (): AbortSignal => new AbortController().signal;
