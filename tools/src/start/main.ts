import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { applyMigrations } from '@corral/database';
import { type Config, readConfig, startOrExit } from '@corral/service';
import { startPostgres } from '@corral/testing';
import { announcement } from './announce.js';
import { startConfig } from './config.js';
import { type DevTeam, ensureDevTeams } from './dev-teams.js';
import { choosePorts, type Ports, type StateFolder, stateFolder } from './state-folder.js';
import { type ProgramSpec, supervise } from './supervise.js';

const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const LOOPBACK = '127.0.0.1';
const say = (line: string) => console.log(line);

/** What ends when we end, in the order in which it was started. */
const started: { stop(): Promise<unknown> }[] = [];
let ending: Promise<void> | undefined;

function end(): Promise<void> {
  ending ??= (async () => {
    for (const part of started.reverse()) await part.stop();
  })();
  return ending;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (ending !== undefined) process.exit(130);
    say('\nEnding everything …');
    void end().then(() => process.exit(0));
  });
}

await startOrExit('npm start', async () => {
  try {
    await start(readConfig(startConfig, process.env));
  } catch (error) {
    await end();
    throw error;
  }
});

interface Upstream {
  readonly hcloudUrl: string;
  readonly hcloudToken: string;
  readonly adminUrl: string | null;
}

/** What `dev.json` in the state folder tells tools and tests. */
interface DevFile {
  readonly dnsUrl: string;
  readonly zoneName: string;
  readonly demoZoneName: string;
  readonly dnsServerPort: number | null;
  readonly upstream: Upstream;
  readonly teams: readonly DevTeam[];
}

async function start(config: Config<typeof startConfig>): Promise<void> {
  const folder = stateFolder(config.CORRAL_STATE_DIR ?? join(repository, '.corral'));
  const lastRun = folder.read<DevFile>('dev.json');
  const zoneName = config.DNS_ZONE_NAME;
  const demoZoneName = `demo.${zoneName}`;
  const ports = await choosePorts(folder, {
    ...given('dnsGateway', config.DNS_GATEWAY_PORT),
    ...given('cloudApi', config.LOCAL_CLOUD_API_PORT),
    ...given('cloudDns', config.LOCAL_CLOUD_DNS_PORT),
    ...given('cloudAdmin', config.LOCAL_CLOUD_ADMIN_PORT),
  });
  const databaseUrl = config.DATABASE_URL ?? (await startEmbeddedPostgres(folder));
  await applyMigrations({ databaseUrl, migrationsDir: join(repository, 'prisma', 'migrations') });

  const upstream: Upstream =
    config.HCLOUD_API_URL === undefined
      ? await startLocalCloud(folder, ports, [zoneName, demoZoneName], lastRun)
      : { hcloudUrl: config.HCLOUD_API_URL, hcloudToken: config.HCLOUD_TOKEN ?? '', adminUrl: null };
  const shared = {
    DATABASE_URL: databaseUrl,
    ...given('REDIS_URL', config.REDIS_URL),
    DNS_ZONE_NAME: zoneName,
    HCLOUD_API_URL: upstream.hcloudUrl,
    HCLOUD_TOKEN: upstream.hcloudToken,
  };
  folder.write('admin.json', {
    DATABASE_URL: databaseUrl,
    DNS_ZONE_NAME: zoneName,
    ...given('REDIS_URL', config.REDIS_URL),
  });
  const [teams] = await Promise.all([
    ensureDevTeams(databaseUrl, lastRun?.teams ?? []),
    startServices(folder, ports, shared),
  ]);

  const dnsUrl = `http://${LOOPBACK}:${ports.dnsGateway}/v1`;
  const dnsServerPort = upstream.adminUrl === null ? null : ports.cloudDns;
  const devFile: DevFile = { dnsUrl, zoneName, demoZoneName, dnsServerPort, upstream, teams };
  folder.write('dev.json', devFile);
  say(
    announcement({
      ...{ dnsUrl, zoneName, teams },
      localCloud: upstream.adminUrl === null ? null : { dnsPort: ports.cloudDns, adminUrl: upstream.adminUrl },
      docsUrl: `http://${LOOPBACK}:${ports.dnsGateway}/docs/`,
      logs: folder.path('logs'),
      stateDir: config.CORRAL_STATE_DIR ?? null,
    }),
  );
}

async function startEmbeddedPostgres(folder: StateFolder): Promise<string> {
  const postgres = await startPostgres({ dataDir: folder.path('postgres') });
  started.push(postgres);
  void postgres.exited.then(async () => {
    if (ending !== undefined) return;
    say(`Postgres ended unexpectedly; its log is ${folder.path('postgres', 'log')}. Run npm start again.`);
    await end();
    process.exit(1);
  });
  return postgres.url;
}

async function startLocalCloud(
  folder: StateFolder,
  ports: Ports,
  zoneNames: readonly string[],
  lastRun: DevFile | null,
): Promise<Upstream> {
  // A run against another upstream left that one's token, which is none of the local cloud's business.
  const lastToken = lastRun?.upstream.adminUrl == null ? null : lastRun.upstream.hcloudToken;
  const hcloudToken = lastToken ?? randomBytes(32).toString('hex');
  const adminUrl = `http://${LOOPBACK}:${ports.cloudAdmin}`;
  await run({
    ...program(folder, 'local-cloud'),
    env: {
      LOCAL_CLOUD_API_PORT: String(ports.cloudApi),
      LOCAL_CLOUD_DNS_PORT: String(ports.cloudDns),
      LOCAL_CLOUD_ADMIN_PORT: String(ports.cloudAdmin),
      LOCAL_CLOUD_TOKENS: hcloudToken,
      LOCAL_CLOUD_ZONES: zoneNames.join(','),
      LOCAL_CLOUD_DATA_DIR: folder.path('local-cloud'),
    },
    readyUrl: `${adminUrl}/admin/calls`,
  });
  return { hcloudUrl: `http://${LOOPBACK}:${ports.cloudApi}/v1`, hcloudToken, adminUrl };
}

/** The gateway is ready only once the reconciler has read the zone: both start at the same time. */
async function startServices(folder: StateFolder, ports: Ports, shared: Record<string, string>): Promise<void> {
  await Promise.all([
    run({
      ...program(folder, 'reconciler'),
      env: { ...shared, METRICS_PORT: String(ports.reconcilerMetrics) },
      readyUrl: `http://${LOOPBACK}:${ports.reconcilerMetrics}/readyz`,
    }),
    run({
      ...program(folder, 'dns-gateway'),
      env: {
        ...shared,
        HOST: LOOPBACK,
        PORT: String(ports.dnsGateway),
        METRICS_PORT: String(ports.gatewayMetrics),
        PUBLIC_URL: `http://${LOOPBACK}:${ports.dnsGateway}/v1`,
      },
      readyUrl: `http://${LOOPBACK}:${ports.dnsGateway}/readyz`,
    }),
  ]);
}

async function run(spec: ProgramSpec): Promise<void> {
  const supervised = supervise(spec, say);
  started.push(supervised);
  await supervised.ready;
}

function program(folder: StateFolder, name: string): Pick<ProgramSpec, 'name' | 'file' | 'logFile'> {
  return {
    name,
    file: join(repository, 'apps', name, 'dist', 'main.js'),
    logFile: folder.path('logs', `${name}.log`),
  };
}

/** An option that is not given is left out. */
function given<K extends string, V>(key: K, value: V | undefined): { [k in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [k in K]?: V };
}
