import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { TeamId } from '@corral/contracts';
import { connectPool, type Pool } from '@corral/database';
import { type NewWrite, parseStoredWrite, type RrsetOperation, writeLedger, zoneSyncStore } from '@corral/dns-data';
import { connectHcloud, type HcloudClient } from '@corral/hcloud';
import { type LocalCloud, type LocalCloudOptions, startLocalCloud } from '@corral/local-cloud';
import type { Queue } from '@corral/queue';
import { createMetrics, type Metrics, silentLog } from '@corral/service';
import { createTestDatabase, patientPool } from '@corral/testing';
import { buildDnsWorkers, type DnsSettings, type DnsWorkers } from '../../src/dns/workers.js';

export const ZONE = 'example.test';
export const DEMO_ZONE = 'demo.example.test';
export const UPSTREAM_TOKEN = 'x'.repeat(64);

export interface Reconciling {
  readonly databaseUrl: string;
  readonly pool: Pool;
  readonly cloud: LocalCloud;
  readonly hcloud: HcloudClient;
  readonly zoneId: number;
  readonly demoZoneId: number;
  readonly workers: DnsWorkers;
  /** Requested jobs, in place of a queue. */
  readonly nudges: { name: string; payload: unknown; options: unknown }[];
  /** Milliseconds between two jobs of a name, after `schedule`. */
  readonly intervals: Map<string, number>;
  /** A second reconciler with separate metrics. */
  another(settings?: Partial<DnsSettings>, upstream?: Partial<HcloudClient>): DnsWorkers;
  metric(name: string, labels?: Record<string, string>): Promise<number | undefined>;
  stop(): Promise<void>;
}

export const settings: DnsSettings = {
  zoneName: ZONE,
  demoZoneName: null,
  syncIntervalMs: 600_000,
  settleIntervalMs: 5_000,
  actionIntervalMs: 10_000,
  actionRunningMsMax: 60_000,
  demoIntervalMs: 5_000,
  graceMs: 60_000,
  upstreamMsMax: 1_000,
};

/** A reconciler with a separate database and upstream, whose loops the test runs itself. */
export async function startReconciling(
  cloudOptions: Partial<LocalCloudOptions> = {},
  changed: Partial<DnsSettings> = {},
  { waitMsMax = 30_000 }: { waitMsMax?: number } = {},
): Promise<Reconciling> {
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
  const hcloud = connectHcloud({
    baseUrl: cloud.apiUrl,
    token: UPSTREAM_TOKEN,
    timeoutMs: 30_000,
    waitMsMax,
    log: silentLog,
  });
  const nudges: Reconciling['nudges'] = [];
  const intervals = new Map<string, number>();
  const queue = {
    nudge: async (name: string, payload: unknown, options: unknown) => void nudges.push({ name, payload, options }),
    schedule: (name: string, _payload: unknown, everyMs: number) => void intervals.set(name, everyMs),
  } as unknown as Queue;
  const buildWith = (metrics: Metrics, differing: Partial<DnsSettings>, upstream: Partial<HcloudClient> = {}) =>
    buildDnsWorkers({
      settings: { ...settings, ...differing },
      pool,
      queue,
      metrics,
      log: silentLog,
      hcloud: { ...hcloud, ...upstream },
    });
  const metrics = createMetrics({ service: 'test' });
  const idOf = (name: string) => cloud.admin.zones().find((zone) => zone.name === name)?.id as number;
  const [zoneId, demoZoneId] = [idOf(ZONE), idOf(DEMO_ZONE)];
  return {
    databaseUrl: database.url,
    pool,
    cloud,
    hcloud,
    zoneId,
    demoZoneId,
    nudges,
    intervals,
    workers: buildWith(metrics, changed),
    another: (more, upstream) => buildWith(createMetrics({ service: 'test' }), { ...changed, ...more }, upstream),
    async metric(name, labels = {}) {
      const values = (await metrics.registry.getSingleMetric(name)?.get())?.values ?? [];
      const wanted = Object.entries(labels);
      return values.find((value) =>
        wanted.every(([label, text]) => (value.labels as Record<string, unknown>)[label] === text),
      )?.value;
    },
    async stop() {
      hcloud.close();
      await cloud.close();
      await pool.end();
      await database.drop();
    },
  };
}

/** Mirrors the zone without any set, like after the import of an empty zone. */
export async function mirrorZone({ pool, hcloud }: Reconciling): Promise<void> {
  const zone = await hcloud.readZone(ZONE);
  if (zone.kind === 'found') await zoneSyncStore(pool).saveZone(zone);
}

export interface TestTeam {
  readonly id: TeamId;
  readonly slug: string;
  readonly tokenId: string;
}

export async function addTeam({ pool }: Reconciling, slug: string): Promise<TestTeam> {
  const team = await pool.query<{ id: string }>('INSERT INTO team (slug) VALUES ($1) RETURNING id', [slug]);
  const id = team.rows[0]?.id as TeamId;
  const token = await pool.query<{ id: string }>(
    `INSERT INTO dns_token (team_id, name, hash, scopes, within_types) VALUES ($1, 'test', $2, '{dns}', '{}') RETURNING id`,
    [id, randomBytes(32)],
  );
  return { id, slug, tokenId: token.rows[0]?.id as string };
}

export interface TestWrite {
  readonly name: string;
  readonly type?: string;
  readonly operation: RrsetOperation;
  readonly body: object | null;
}

/** A write whose holder died or gave up: pending, with an expired lease. */
export async function addLostWrite(
  { pool, zoneId }: Reconciling,
  team: TestTeam,
  { name, type = 'A', operation, body }: TestWrite,
): Promise<{ entryId: number; write: NewWrite }> {
  const full = operation === 'create' ? { name, type, ...body } : body;
  const requestBody = full === null ? null : JSON.stringify(full);
  const parsed = parseStoredWrite(operation, requestBody);
  if (parsed === null) throw new Error('The test wants to send a body that no write has.');
  const write: NewWrite = {
    owner: { kind: 'team', id: team.id, teamId: team.id },
    tokenId: team.tokenId,
    key: { zoneId, name, type },
    write: parsed,
    requestBody,
    requestId: null,
    requestHash: createHash('sha256').update(randomUUID()).digest(),
  };
  const begun = await ledgerOf(pool).begin(write, () => true);
  if (begun.kind !== 'begun') throw new Error(`The write did not begin: ${begun.kind}.`);
  return { entryId: begun.lease.entryId, write };
}

/** A ledger whose leases have already expired when they are granted. */
export const ledgerOf = (pool: Pool, leaseMs = -1_000) =>
  writeLedger(pool, {
    quota: { recordsPerTeam: 200, recordsPerDemo: 20, recordsPerRrset: 50 },
    leaseMs,
    replayMs: 60_000,
  });

export interface EntryRow {
  id: number;
  state: string;
  actor: string;
  operation: string;
  name: string;
  team_id: string | null;
  found_applied: boolean | null;
  found_body: string | null;
  reserved_records: number;
  lease_until: Date | null;
  lease_fence: number;
  recheck_at: Date | null;
}

export async function readEntries({ pool }: Pick<Reconciling, 'pool'>, where = 'true'): Promise<EntryRow[]> {
  const { rows } = await pool.query<EntryRow>(`SELECT * FROM dns_audit_entry WHERE ${where} ORDER BY id`);
  return rows;
}

export async function getEntry(at: Pick<Reconciling, 'pool'>, entryId: number): Promise<EntryRow> {
  const [entry] = await readEntries(at, `id = ${entryId}`);
  if (entry === undefined) throw new Error(`There is no entry ${entryId}.`);
  return entry;
}

/** The mirrored values of a set, or null when it is absent. */
export async function mirroredValues({ pool }: Pick<Reconciling, 'pool'>, name: string, type = 'A') {
  const { rows } = await pool.query<{ body: string }>('SELECT body FROM dns_rrset WHERE name = $1 AND type = $2', [
    name,
    type,
  ]);
  const body = rows[0]?.body;
  if (body === undefined) return null;
  return (JSON.parse(body) as { records: { value: string }[] }).records.map((record) => record.value);
}

export const records = (...values: string[]) => values.map((value) => ({ value }));

export const running = (): AbortSignal => new AbortController().signal;
