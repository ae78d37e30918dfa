import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { insertClusters, untilConverged } from '../clusters/steady.js';
import { atRate, bearer } from '../load/load.js';
import { say, table } from '../load/report.js';
import { CLUSTERS, type NeighboursRig, startNeighboursRig, type Tenant, ZONE } from '../neighbours/neighbours-rig.js';
import { callOf, type PoliteKind, politeKinds } from '../neighbours/polite-team.js';
import { repository, UNLIMITED } from '../rig.js';
import { type MeterOptions, meter, type PerPart, parts, type Used } from './meter.js';
import { readRedis } from './redis-info.js';

export interface SizingBenchOptions {
  /** The duration of each stage that waits or sends requests. */
  readonly seconds: number;
  readonly sets: number;
  readonly clusters: number;
}

/** Rates that leave every part idle most of the time: CPU time per request is then that of the request alone. */
const perSecond: Readonly<Record<PoliteKind, number>> = {
  'DNS reads': 100,
  'DNS writes': 20,
  'cluster reads': 50,
  'cluster writes': 2,
};
const limits = {
  LIMIT_PER_ADDRESS: UNLIMITED,
  LIMIT_PER_TOKEN: UNLIMITED,
  LIMIT_PER_TEAM: UNLIMITED,
  LIMIT_PER_PERSON: UNLIMITED,
};
const SETTLE_MS = 10_000;
const CREATED_AT_A_TIME = 16;
const KIB = 1024;
const MIB = KIB * KIB;

interface Stage {
  readonly name: string;
  readonly used: Used;
  readonly redisBytes: number;
}

/** Measures what one process of each service, Postgres and Redis need: idle, with content, and for each kind of request. */
export async function benchSizing({ seconds, sets, clusters }: SizingBenchOptions): Promise<void> {
  const rig = await startNeighboursRig(limits);
  try {
    const { redisUrl } = rig;
    if (redisUrl === null) throw new Error('This benchmark needs redis-server');
    const options = await meterOptions(rig, redisUrl);
    const stages: Stage[] = [];
    const stage = async (name: string, act: () => Promise<unknown>): Promise<Used> => {
      const used = await meter(options, async () => void (await act()));
      await settle(rig);
      stages.push({ name, used, redisBytes: (await readRedis(redisUrl)).usedBytes });
      return used;
    };
    await pause(SETTLE_MS);
    await stage('idle, empty', () => pause(seconds * 1_000));

    await createUpstream(rig, sets);
    const synced = await stage(`reads ${inThousands(sets)} record sets`, () => syncZone(rig, redisUrl));
    await stage('reads them again', () => syncZone(rig, redisUrl));
    await rig.startTenant('many', 1);
    const made = await stage(`makes ${inThousands(clusters)} clusters`, async () => {
      await insertClusters(rig.base, clusters);
      await untilConverged(rig.base);
    });
    const idle = await stage('idle, with both', () => pause(seconds * 1_000));

    const team = await rig.startTenant('busy', 2);
    await settle(rig);
    const loads: [PoliteKind, Used][] = [];
    for (const kind of politeKinds) {
      const act = () => send(rig, { kind, team, seconds });
      loads.push([kind, await stage(`${perSecond[kind]} ${kind} per second`, act)]);
    }
    reportStages(stages);
    reportRequests(loads, { idle, seconds });
    say(
      table(
        ['in Postgres, KiB per 1,000', 'files', 'log'],
        [
          ['record sets', ...storageOf(synced, sets)],
          ['clusters', ...storageOf(made, clusters)],
        ],
      ),
    );
  } finally {
    await rig.base.stop();
  }
}

async function meterOptions({ base, processes }: NeighboursRig, redisUrl: string): Promise<MeterOptions> {
  const { processId } = await readRedis(redisUrl);
  const mains = parts.map((part) => [part, part === 'Redis' ? processId : processes[part]?.[0]]);
  return {
    pool: base.pool,
    pids: Object.fromEntries(mains) as PerPart,
    postgresPort: Number(new URL(base.databaseUrl).port),
    redisPort: Number(new URL(redisUrl).port),
  };
}

/** Until nothing is left of the stage before: the queue is empty, and Postgres has cleaned up. */
async function settle({ base }: NeighboursRig): Promise<void> {
  await untilConverged(base);
  await base.pool.query('VACUUM ANALYZE');
  await base.pool.query('CHECKPOINT');
  await pause(SETTLE_MS / 5);
}

async function createUpstream({ cloud }: NeighboursRig, count: number): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) {
      const name = `s${next}.others`;
      next += 1;
      const answer = await fetch(`${cloud.url}/zones/${ZONE}/rrsets`, {
        method: 'POST',
        headers: { ...bearer(cloud.token), 'content-type': 'application/json' },
        body: JSON.stringify({ name, type: 'A', ttl: 300, records: [{ value: '192.0.2.1' }] }),
      });
      if (!answer.ok) throw new Error(`${name} was answered ${answer.status}: ${await answer.text()}`);
      await answer.body?.cancel();
    }
  };
  await Promise.all(Array.from({ length: CREATED_AT_A_TIME }, work));
}

async function syncZone({ base }: NeighboursRig, redisUrl: string): Promise<void> {
  const env = { ...process.env, DATABASE_URL: base.databaseUrl, REDIS_URL: redisUrl, DNS_ZONE_NAME: ZONE };
  await promisify(execFile)(process.execPath, ['apps/admin/dist/main.js', 'zone', 'sync'], { env, cwd: repository });
}

async function send(
  { base }: NeighboursRig,
  { kind, team, seconds }: { kind: PoliteKind; team: Tenant; seconds: number },
): Promise<void> {
  await atRate(perSecond[kind], seconds, async (index) => {
    // Each turn takes two indexes, and the first changes of clusters would repeat their declarations.
    const { method, url, headers, body } = callOf(kind, team, 2 * (index + CLUSTERS));
    const answer = await fetch(url, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${url} was answered ${answer.status}: ${text}`);
  });
  await untilConverged(base);
}

const inThousands = (count: number): string => count.toLocaleString('en');
const storageOf = ({ growthBytes, logBytes }: Used, count: number): string[] =>
  [growthBytes, logBytes].map((bytes) => (((bytes / KIB) * 1_000) / count).toFixed(0));

function reportStages(stages: readonly Stage[]): void {
  const rows = (cell: (used: Used, part: (typeof parts)[number]) => string) =>
    stages.map(({ name, used }) => [name, ...parts.map((part) => cell(used, part))]);
  say(
    table(
      ['highest memory, MiB', ...parts],
      rows(({ memoryMiB }, part) => String(memoryMiB[part])),
    ),
  );
  const share = ({ cpuSeconds, seconds }: Used, part: (typeof parts)[number]) =>
    ((100 * cpuSeconds[part]) / seconds).toFixed(1);
  say(table(['CPU, % of a core', ...parts], rows(share)));
  const services = parts.slice(0, 3);
  const open = ({ name, used: { toPostgres, toRedis } }: Stage) => [
    name,
    ...services.map((part) => `${toPostgres[part]} + ${toRedis[part]}`),
  ];
  say(table(['most connections, Postgres + Redis', ...services], stages.map(open)));
  const data = stages.map(({ name, used, redisBytes }) => [
    name,
    (used.growthBytes / MIB).toFixed(1),
    (used.logBytes / MIB).toFixed(1),
    (redisBytes / MIB).toFixed(1),
    used.seconds.toFixed(0),
  ]);
  say(table(['data, MiB', 'growth of Postgres', 'its log', 'all of Redis', 'in seconds'], data));
}

function reportRequests(
  loads: readonly (readonly [PoliteKind, Used])[],
  { idle, seconds }: { idle: Used; seconds: number },
): void {
  const rows = loads.map(([kind, used]) => {
    const requests = perSecond[kind] * seconds;
    const millisecondsOf = (part: (typeof parts)[number]): string => {
      const own = used.cpuSeconds[part] - (idle.cpuSeconds[part] / idle.seconds) * used.seconds;
      return ((1_000 * Math.max(0, own)) / requests).toFixed(2);
    };
    const bytes = [used.logBytes, used.growthBytes].map((each) => (each / KIB / requests).toFixed(1));
    return [kind, ...parts.map(millisecondsOf), ...bytes];
  });
  say(table(['each: CPU time in ms', ...parts, 'log, KiB', 'growth, KiB'], rows));
}
