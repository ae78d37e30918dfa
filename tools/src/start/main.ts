import { spawn } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { applyMigrations } from '@corral/database';
import { type Config, readConfig, startOrExit } from '@corral/service';
import { announcement } from './announce.js';
import { startConfig } from './config.js';
import { devCertificate } from './dev-certificate.js';
import { DEV_COURSE_CODE, type DevFile } from './dev-file.js';
import { devSecrets } from './dev-secrets.js';
import { ensureDevServers } from './dev-servers.js';
import { devSignIns } from './dev-sign-ins.js';
import { ensureDevTeams } from './dev-teams.js';
import {
  LOOPBACK,
  type Run,
  type ServiceKubeconfigs,
  startEmbeddedPostgres,
  startLocalCloud,
  startServices,
} from './start-parts.js';
import { choosePorts, stateFolder } from './state-folder.js';

const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const say = (line: string) => console.log(line);

/** Values that the local garden accepts. */
const defaults = { region: 'hel1', kubernetesVersion: '1.34', machineType: 'cpx31' };

/** What runs, in the order in which it was started. */
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
    say('\nStopping all services …');
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

async function start(config: Config<typeof startConfig>): Promise<void> {
  const folder = stateFolder(config.CORRAL_STATE_DIR ?? join(repository, '.corral'));
  const lastRun = folder.read<Partial<DevFile>>('dev.json');
  const zoneName = config.DNS_ZONE_NAME;
  const demoZoneName = config.DEMO_ZONE_NAME ?? `demo.${zoneName}`;
  const secrets = devSecrets(folder);
  const ports = await choosePorts(folder, {
    ...given('dnsGateway', config.DNS_GATEWAY_PORT),
    ...given('dnsGatewayTls', config.DNS_GATEWAY_TLS_PORT),
    ...given('clusterApi', config.CLUSTER_API_PORT),
    ...given('cloudApi', config.LOCAL_CLOUD_API_PORT),
    ...given('cloudDns', config.LOCAL_CLOUD_DNS_PORT),
    ...given('cloudAdmin', config.LOCAL_CLOUD_ADMIN_PORT),
    ...given('cloudSmtp', config.LOCAL_CLOUD_SMTP_PORT),
    ...given('cloudGarden', config.LOCAL_CLOUD_GARDEN_PORT),
  });
  const run: Run = { folder, ports, secrets, repository, say, started };
  const ownDns = config.HCLOUD_API_URL !== undefined;
  // An operator's own upstream has a demo zone only if DEMO_ZONE_NAME names one.
  const demoZone = ownDns && config.DEMO_ZONE_NAME === undefined ? null : demoZoneName;
  const ownGarden = config.GARDEN_KUBECONFIG !== undefined;
  const ownKubeconfig = config.GARDEN_KUBECONFIG === undefined ? undefined : resolve(config.GARDEN_KUBECONFIG);
  const startDatabase = async (): Promise<string> => {
    const databaseUrl = config.DATABASE_URL ?? (await startEmbeddedPostgres(run));
    await applyMigrations({ databaseUrl, migrationsDir: join(repository, 'prisma', 'migrations') });
    return databaseUrl;
  };
  const [databaseUrl, localCloud, certificate] = await Promise.all([
    startDatabase(),
    ownDns && ownGarden ? null : startLocalCloud(run, [zoneName, demoZoneName]),
    devCertificate(folder),
  ]);
  const upstream = {
    hcloudUrl: config.HCLOUD_API_URL ?? (localCloud?.hcloudUrl as string),
    hcloudToken: ownDns ? (config.HCLOUD_TOKEN ?? '') : secrets.hcloudToken,
    gardenUrl: ownGarden ? null : (localCloud?.gardenUrl ?? null),
    gardenKubeconfig: ownKubeconfig ?? (localCloud?.gardenKubeconfig as string),
    adminUrl: localCloud?.adminUrl ?? null,
  };
  folder.write('admin.json', {
    DATABASE_URL: databaseUrl,
    DNS_ZONE_NAME: zoneName,
    ...given('REDIS_URL', config.REDIS_URL),
  });
  const [rows] = await Promise.all([
    ensureDevTeams({ databaseUrl, lastRun: lastRun?.teams ?? [] }),
    startServices(run, {
      databaseUrl,
      redisUrl: config.REDIS_URL,
      ownMail: config.SMTP_URL !== undefined,
      zoneName,
      demoZone,
      certificate,
      ...upstream,
      serviceKubeconfigs:
        ownKubeconfig === undefined
          ? (localCloud?.serviceKubeconfigs as ServiceKubeconfigs)
          : { clusterApi: ownKubeconfig, reconciler: ownKubeconfig },
    }),
  ]);

  const baseUrl = `http://${LOOPBACK}:${ports.clusterApi}`;
  const projectTokens = ownDns ? {} : secrets.projectTokens;
  const signedIn = await devSignIns({ baseUrl, teams: rows, lastRun: lastRun?.teams ?? [], projectTokens });
  const teams = await Promise.all(
    signedIn.map(async (team) => {
      const token = projectTokens[team.slug];
      const { hcloudUrl, adminUrl } = upstream;
      const hasNone = token === undefined || adminUrl === null;
      return { ...team, servers: hasNone ? [] : await ensureDevServers({ hcloudUrl, adminUrl, token }) };
    }),
  );
  const devFile: DevFile = {
    dnsUrl: `http://${LOOPBACK}:${ports.dnsGateway}/v1`,
    dnsTlsUrl: `https://${LOOPBACK}:${ports.dnsGatewayTls}/v1`,
    caFile: certificate.caFile,
    dnsServerPort: ownDns ? null : ports.cloudDns,
    zoneName,
    demoZoneName,
    baseUrl,
    consoleUrl: `${baseUrl}/console/`,
    upstream,
    teams,
    defaults,
  };
  folder.write('dev.json', devFile);
  say(
    announcement({
      ...devFile,
      courseCode: demoZone === null ? null : DEV_COURSE_CODE,
      logs: folder.path('logs'),
      stateDir: config.CORRAL_STATE_DIR ?? null,
    }),
  );
  sayWhatIsNotWell({ DATABASE_URL: databaseUrl, DNS_ZONE_NAME: zoneName, ...given('REDIS_URL', config.REDIS_URL) });
}

/** Nothing, if all is well. */
function sayWhatIsNotWell(env: Readonly<Record<string, string>>): void {
  const command = [join(repository, 'apps', 'admin', 'dist', 'main.js'), 'doctor', '--quiet'];
  const doctor = spawn(process.execPath, command, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  started.push({ stop: async () => doctor.kill() });
}

/** Leaves out options that are not given. */
function given<K extends string, V>(key: K, value: V | undefined): { [k in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [k in K]?: V };
}
