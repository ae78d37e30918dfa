import { type Buckets, type Clock, memoryBuckets, sharedStore } from '@corral/admission';
import {
  dnsTokenStore,
  dnsTokenVerifier,
  lastUsedRecorder,
  type NewDnsToken,
  requestCounter,
  type TeamRecord,
  teamStore,
} from '@corral/auth';
import { type DnsRoute, dnsErrorCodes, dnsErrorsOf, dnsLimits, dnsRoutes, isForwarded } from '@corral/contracts';
import { connectPool, connectPrisma, type Pool, type Prisma } from '@corral/database';
import { answeredRecorder, writeLedger, type ZoneOwners, zoneSyncStore } from '@corral/dns-data';
import { connectHcloud, type HcloudClient, upstreamWriteMetrics } from '@corral/hcloud';
import { clientErrorRenderer, serve } from '@corral/http-api';
import { type LocalCloud, startLocalCloud } from '@corral/local-cloud';
import { createHealth, createMetrics, type Log, silentLog } from '@corral/service';
import { createTestDatabase, patientPool, patientTransactions } from '@corral/testing';
import { type AppConfig, buildApp } from '../../src/build-app.js';
import { dnsErrors } from '../../src/http/error-shape.js';
import type { RateLimits } from '../../src/http/limits.js';
import { type NameServer, nameServers } from '../../src/name-servers.js';

export const ZONE = 'example.test';
export const DEMO_ZONE = 'demo.example.test';
export const UPSTREAM_TOKEN = 'upstream-token-of-the-tests-0123456789-0123456789-0123456789-01';

export interface TestTeam extends TeamRecord {
  readonly token: string;
  readonly tokenId: string;
}

export interface TestGateway {
  /** The base address, which ends in `/v1`. */
  readonly url: string;
  readonly zoneId: number;
  readonly demoZoneId: number;
  readonly cloud: LocalCloud;
  readonly pool: Pool;
  readonly prisma: Prisma;
  readonly databaseUrl: string;
  readonly acme: TestTeam;
  readonly globex: TestTeam;
  /** Sends one request. A string or Buffer body is sent as it is, anything else as JSON. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  createTeam(slug: string): Promise<TestTeam>;
  issueToken(team: TeamRecord, wanted?: Partial<NewDnsToken>): Promise<{ token: string; tokenId: string }>;
  /** The number of upstream calls so far. */
  upstreamCalls(): number;
  /** Mirrors the current zones of the upstream. */
  syncZone(): Promise<void>;
  /** Does what the first step of a shutdown does to held requests. */
  drain(): void;
  close(): Promise<void>;
}

export interface CallOptions {
  /** The default is acme’s token; null sends none. */
  readonly token?: string | null;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of many shapes
  readonly json: any;
}

export interface GatewayOptions {
  readonly config?: Partial<Omit<AppConfig, 'limits'>> & { readonly limits?: Partial<RateLimits> };
  readonly actionMs?: number;
  readonly buckets?: Buckets;
  readonly clock?: Clock;
  readonly recordsPerTeam?: number;
  readonly timeoutMs?: number;
  readonly waitMsMax?: number;
  readonly log?: Log;
  /** Name servers of the zone, besides that of the local cloud or instead of it. Default: actions end without any. */
  readonly nameServers?: (ofCloud: NameServer) => readonly NameServer[];
  /** Used instead of the local cloud. */
  readonly upstreamUrl?: string;
  /** Makes this gateway a replica: it shares the database, the local cloud and the teams of the other, which closes last. */
  readonly beside?: TestGateway;
}

/** Starts the gateway as `main.ts` wires it, over real sockets, with its own database and a local cloud. */
export async function startGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const { beside } = options;
  const database =
    beside === undefined ? await createTestDatabase() : { url: beside.databaseUrl, drop: async () => {} };
  const cloud =
    beside === undefined ? await startTestCloud(options.actionMs) : { ...beside.cloud, close: async () => {} };
  const log = options.log ?? silentLog;
  const metrics = createMetrics({ service: 'test' });
  const pool = connectPool({
    databaseUrl: database.url,
    applicationName: 'test',
    ...patientPool,
    onIdleError: () => undefined,
  });
  const prisma = connectPrisma(pool, patientTransactions);
  const upstream = connectHcloud({
    baseUrl: options.upstreamUrl ?? cloud.apiUrl,
    token: UPSTREAM_TOKEN,
    timeoutMs: options.timeoutMs ?? 30_000,
    waitMsMax: options.waitMsMax ?? 1_000,
    budgetStore: sharedStore(prisma),
    log,
    onWrite: upstreamWriteMetrics(metrics),
  });
  const direct = connectHcloud({ baseUrl: cloud.apiUrl, token: UPSTREAM_TOKEN, log });
  const mirrorZones = () =>
    Promise.all([
      mirrorZone(pool, prisma, direct, ZONE, 'teams'),
      mirrorZone(pool, prisma, direct, DEMO_ZONE, 'demos'),
    ]);
  const [zoneId, demoZoneId] = await mirrorZones();

  const verifier = dnsTokenVerifier({
    pool,
    databaseUrl: database.url,
    applicationName: 'test',
    onListenError: () => undefined,
  });
  const quota = {
    recordsPerTeam: options.recordsPerTeam ?? dnsLimits.recordsPerTeam,
    recordsPerDemo: dnsLimits.recordsPerDemo,
    recordsPerRrset: dnsLimits.recordsPerRrset,
  };
  const ledger = writeLedger(prisma, {
    quota,
    leaseMs: 20_000,
    replayMs: 60_000,
  });
  const answered = answeredRecorder(prisma, 60_000, () => undefined);
  const lastUsed = lastUsedRecorder(pool, () => undefined);
  const requests = requestCounter(pool, () => undefined);
  const health = createHealth({ checks: { database: () => pool.query('SELECT 1') }, log });
  const app = buildApp({
    config: {
      zoneName: ZONE,
      demos: { zoneName: DEMO_ZONE, perTeam: dnsLimits.demosPerTeam },
      quota,
      publicUrl: null,
      trustProxy: false,
      consoleOrigins: [],
      securityContact: undefined,
      requestsInFlightMax: 1_000,
      readConnections: 1_000,
      writeWaitMs: 60_000,
      readWaitMs: 60_000,
      settleAfterMs: 200,
      settleWithinMs: 30_000,
      settleGraceMs: 60_000,
      actionPollMs: 50,
      actionHoldMs: 100,
      actionRunningMsMax: 60_000,
      propagationMsMax: 90_000,
      ...options.config,
      limits: {
        perAddressPerMinute: 100_000,
        perTokenPerMinute: 100_000,
        perTeamPerMinute: 100_000,
        actionReadsPerTokenPerMinute: 100_000,
        ...options.config?.limits,
      },
    },
    pool,
    prisma,
    writePrisma: prisma,
    ledger,
    upstream,
    verifier,
    lastUsed,
    requests,
    answered,
    nameServers:
      options.nameServers === undefined
        ? null
        : nameServers(options.nameServers({ host: '127.0.0.1', port: cloud.dnsPort })),
    log,
    buckets: options.buckets ?? memoryBuckets(Date.now),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
    health,
    metrics,
  });
  const served = await serve({
    app,
    host: '127.0.0.1',
    port: 0,
    shutdownGraceMs: 0,
    log,
    metrics,
    health,
    onClientError: clientErrorRenderer(dnsErrors),
  });
  const url = `${served.url}/v1`;

  const teams = teamStore(prisma);
  const tokens = dnsTokenStore(prisma);
  const issueToken = async (team: TeamRecord, wanted: Partial<NewDnsToken> = {}) => {
    const { token, record } = await tokens.issueToken(team, { name: 'test', ...wanted });
    return { token, tokenId: record.id };
  };
  const createTeam = async (slug: string): Promise<TestTeam> => {
    const team = await teams.createTeam(slug);
    return { ...team, ...(await issueToken(team)) };
  };
  const acme = beside?.acme ?? (await createTeam('acme'));
  const globex = beside?.globex ?? (await createTeam('globex'));

  return {
    url,
    zoneId,
    demoZoneId,
    cloud,
    pool,
    prisma,
    databaseUrl: database.url,
    acme,
    globex,
    createTeam,
    issueToken,
    async call(method, path, { token = acme.token, body, headers = {} } = {}) {
      const below = path.replace(/^\/v1/, '');
      const answer = await call(`${url}${below}`, method, token, body, headers);
      if (options.config?.demos !== null || !below.startsWith('/demos')) assertDocumented(method, below, answer);
      return answer;
    },
    upstreamCalls: () => cloud.admin.calls().total,
    syncZone: async () => void (await mirrorZones()),
    drain: health.drain,
    async close() {
      await served.close();
      await answered.close();
      await lastUsed.close();
      await requests.close();
      await verifier.close();
      await upstream.close();
      await direct.close();
      await prisma.$disconnect();
      await pool.end();
      await cloud.close();
      await database.drop();
    },
  };
}

/** @throws Error for an error answer that the OpenAPI document does not list for its route */
function assertDocumented(method: string, path: string, { status, json }: Answer): void {
  const segments = path.split('?')[0] as string;
  // `/zones/actions` is not a zone.
  const route = (dnsRoutes as readonly DnsRoute[]).findLast(
    (each) =>
      each.method === method.toLowerCase() &&
      new RegExp(`^${each.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(segments),
  );
  if (route === undefined || status < 400) return;
  const code: string = json?.error?.code;
  const isOurs = dnsErrorsOf(route).some((each) => each === code && dnsErrorCodes[each].status === status);
  // The upstream may refuse with anything, and some tests make it send undocumented errors.
  if (!isOurs && !isForwarded(route)) throw new Error(`${route.operationId} does not document ${status} ${code}`);
}

const startTestCloud = (actionMs = 30): Promise<LocalCloud> =>
  startLocalCloud({
    tokens: [UPSTREAM_TOKEN],
    zones: [{ name: ZONE }, { name: DEMO_ZONE }],
    actionMs,
    requestsPerHour: 3_600_000,
  });

async function call(
  url: string,
  method: string,
  token: string | null,
  body: unknown,
  headers: Record<string, string>,
): Promise<Answer> {
  const raw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: (raw ? body : JSON.stringify(body)) as string }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== '';
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined };
}

/** A simple form of the zone sync of the reconciler. */
async function mirrorZone(
  pool: Pool,
  prisma: Prisma,
  upstream: HcloudClient,
  name: string,
  owners: ZoneOwners,
): Promise<number> {
  const store = zoneSyncStore(prisma);
  const zone = await upstream.readZone(name);
  if (zone.kind === 'absent') throw new Error('The local cloud has no such zone');
  await store.saveZone(zone, owners);
  const readAt = await store.readClock();
  const seen = new Set<string>();
  for (let page: number | null = 1; page !== null; ) {
    const listed = await upstream.listRrsets(zone.id, page);
    for (const { name, type, body } of listed.rrsets) {
      seen.add(`${name}/${type}`);
      await store.observe(
        { key: { zoneId: zone.id, name, type }, found: body, readAt },
        { graceMs: 0, purpose: 'sync' },
      );
    }
    page = listed.nextPage;
  }
  const mirrored = await pool.query<{ name: string; type: string }>(
    'SELECT name, type FROM dns_rrset WHERE zone_id = $1',
    [zone.id],
  );
  for (const { name, type } of mirrored.rows) {
    if (seen.has(`${name}/${type}`)) continue;
    await store.observe({ key: { zoneId: zone.id, name, type }, found: null, readAt }, { graceMs: 0, purpose: 'sync' });
  }
  return zone.id;
}
