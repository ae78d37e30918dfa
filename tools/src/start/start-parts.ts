import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startPostgres } from '@corral/testing';
import type { DevCertificate } from './dev-certificate.js';
import type { DevSecrets } from './dev-secrets.js';
import type { Ports, StateFolder } from './state-folder.js';
import { type ProgramSpec, type Supervised, supervise } from './supervise.js';

/** What the parts of a run share. */
export interface Run {
  readonly folder: StateFolder;
  readonly ports: Ports;
  readonly secrets: DevSecrets;
  /** The path of the checkout. */
  readonly repository: string;
  readonly say: (line: string) => void;
  /** The clean-up at the end of the run, last first. */
  readonly started: { stop(): Promise<unknown> }[];
}

export const LOOPBACK = '127.0.0.1';

const POSTGRES_RESTART_MS = 500;

/** Starts Postgres, and restarts it at the same address whenever it ends by itself, like the services. */
export async function startEmbeddedPostgres({ folder, say, started }: Run): Promise<string> {
  const dataDir = folder.path('postgres');
  const stopping = new AbortController();
  let running = await startPostgres({ dataDir });
  const { port, url } = running;

  const startAgain = async (): Promise<void> => {
    for (let reported = ''; !stopping.signal.aborted; ) {
      try {
        running = await startPostgres({ dataDir, port });
        return;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        if (reason !== reported) say(`Postgres cannot be restarted yet: ${reason}`);
        reported = reason;
        await pause(POSTGRES_RESTART_MS, null, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  };
  const runs = (async () => {
    for (;;) {
      await running.exited;
      if (stopping.signal.aborted) return;
      say(`Postgres exited unexpectedly. Restarting it; its last log is ${join(dataDir, 'log.before')}`);
      await startAgain();
    }
  })();
  started.push({
    async stop() {
      stopping.abort();
      await running.stop();
      await runs;
      // It may have been starting when the run was asked to end.
      await running.stop();
    },
  });
  return url;
}

export interface LocalCloudUrls {
  readonly hcloudUrl: string;
  readonly gardenUrl: string;
  readonly gardenKubeconfig: string;
  readonly serviceKubeconfigs: ServiceKubeconfigs;
  readonly adminUrl: string;
}

export async function startLocalCloud(run: Run, zoneNames: readonly string[]): Promise<LocalCloudUrls> {
  const { folder, ports, secrets } = run;
  const adminUrl = `http://${LOOPBACK}:${ports.cloudAdmin}`;
  const dataDir = folder.path('local-cloud');
  await runProgram(run, 'tools/local-cloud/programs/main.js', `${adminUrl}/admin/calls`, {
    LOCAL_CLOUD_API_PORT: String(ports.cloudApi),
    LOCAL_CLOUD_DNS_PORT: String(ports.cloudDns),
    LOCAL_CLOUD_ADMIN_PORT: String(ports.cloudAdmin),
    LOCAL_CLOUD_SMTP_PORT: String(ports.cloudSmtp),
    LOCAL_CLOUD_GARDEN_PORT: String(ports.cloudGarden),
    LOCAL_CLOUD_SHOOT_PORT: String(ports.cloudShoots),
    LOCAL_CLOUD_TOKENS: secrets.hcloudToken,
    LOCAL_CLOUD_PROJECT_TOKENS: Object.values(secrets.projectTokens).join(','),
    LOCAL_CLOUD_ZONES: zoneNames.join(','),
    LOCAL_CLOUD_DATA_DIR: dataDir,
  });
  return {
    hcloudUrl: `http://${LOOPBACK}:${ports.cloudApi}/v1`,
    gardenUrl: `https://${LOOPBACK}:${ports.cloudGarden}`,
    gardenKubeconfig: join(dataDir, 'garden.kubeconfig'),
    serviceKubeconfigs: {
      clusterApi: join(dataDir, 'garden-cluster-api.kubeconfig'),
      reconciler: join(dataDir, 'garden-reconciler.kubeconfig'),
    },
    adminUrl,
  };
}

/** The capabilities of the garden of the local cloud. */
const localGardenFeatures = 'control-plane-ha,adopted-nodes';

/** Paths of kubeconfigs: each service has its own account on the garden. */
export interface ServiceKubeconfigs {
  readonly clusterApi: string;
  readonly reconciler: string;
}

export interface ServiceSettings {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
  readonly zoneName: string;
  /** Null if there are no demos. */
  readonly demoZone: string | null;
  readonly hcloudUrl: string;
  readonly hcloudToken: string;
  readonly serviceKubeconfigs: ServiceKubeconfigs;
  /** Null if the garden is not that of the local cloud. */
  readonly gardenUrl: string | null;
  /** Whether the environment names a mail server. */
  readonly ownMail: boolean;
  /** Null if nothing of the local cloud is used, so that there is no mail server to try. */
  readonly adminUrl: string | null;
  readonly certificate: DevCertificate;
}

/** Starts all at the same time, as the gateway, for example, is only ready once the reconciler has read the zone. */
export async function startServices(run: Run, settings: ServiceSettings): Promise<void> {
  const { ports, secrets } = run;
  const { databaseUrl, redisUrl, hcloudUrl, serviceKubeconfigs, certificate } = settings;
  const installation = {
    DATABASE_URL: databaseUrl,
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    HCLOUD_API_URL: hcloudUrl,
  };
  const zone = { DNS_ZONE_NAME: settings.zoneName, HCLOUD_TOKEN: settings.hcloudToken };
  const demos = settings.demoZone === null ? {} : { DEMOS_ENABLED: 'true', DEMO_ZONE_NAME: settings.demoZone };
  const garden = (service: keyof ServiceKubeconfigs) => ({
    SECRET_KEYS: secrets.secretKeys,
    WEBHOOK_HOSTS: 'localhost',
    GARDEN_KUBECONFIG: serviceKubeconfigs[service],
    ...(settings.gardenUrl === null ? {} : { GARDEN_FEATURES: localGardenFeatures }),
  });
  const address = (port: number) => `http://${LOOPBACK}:${port}`;
  const mail =
    settings.adminUrl === null || settings.ownMail
      ? {}
      : {
          SMTP_URL: `smtp://${LOOPBACK}:${ports.cloudSmtp}`,
          MAIL_FROM: 'Corral <corral@localhost>',
        };
  await Promise.all([
    runProgram(run, 'apps/reconciler/dist/main.js', `${address(ports.reconcilerMetrics)}/readyz`, {
      ...installation,
      ...zone,
      ...demos,
      ...garden('reconciler'),
      ...mail,
      DNS_API_URL: `${address(ports.dnsGateway)}/v1`,
      CLUSTER_API_URL: address(ports.clusterApi),
      HOST: LOOPBACK,
      METRICS_PORT: String(ports.reconcilerMetrics),
    }),
    runProgram(run, 'apps/dns-gateway/dist/main.js', `${address(ports.dnsGateway)}/readyz`, {
      ...installation,
      ...zone,
      ...demos,
      HOST: LOOPBACK,
      PORT: String(ports.dnsGateway),
      METRICS_PORT: String(ports.gatewayMetrics),
      PUBLIC_URL: `${address(ports.dnsGateway)}/v1`,
      CONSOLE_ORIGINS: address(ports.clusterApi),
      TLS_PORT: String(ports.dnsGatewayTls),
      TLS_CERT_FILE: certificate.certFile,
      TLS_KEY_FILE: certificate.keyFile,
    }),
    runProgram(run, 'apps/cluster-api/dist/main.js', `${address(ports.clusterApi)}/readyz`, {
      ...installation,
      ...garden('clusterApi'),
      HOST: LOOPBACK,
      PORT: String(ports.clusterApi),
      METRICS_PORT: String(ports.clusterApiMetrics),
      PUBLIC_URL: address(ports.clusterApi),
      DNS_API_URL: `${address(ports.dnsGateway)}/v1`,
      DNS_ZONE_NAME: settings.zoneName,
      DEV_SIGN_IN: 'true',
    }),
  ]);
}

/** @param program its path: `apps/reconciler/dist/main.js` is the program `reconciler` */
async function runProgram(run: Run, program: string, readyUrl: string, env: Record<string, string>): Promise<void> {
  const name = basename(dirname(dirname(program)));
  const spec: ProgramSpec = {
    name,
    file: join(run.repository, program),
    env,
    readyUrl,
    logFile: run.folder.path('logs', `${name}.log`),
  };
  const supervised: Supervised = supervise(spec, run.say);
  run.started.push(supervised);
  await supervised.ready;
}
