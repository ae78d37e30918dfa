import { clusterLimits, dnsLimits } from '@corral/contracts';
import { gardenFeaturesVariable } from '@corral/garden';
import { clientVariables, contactVariables, drainVariables, tlsVariables } from '@corral/http-api';
import { secretKeys } from '@corral/secrets';
import {
  type Config,
  type ConfigProblem,
  consoleVariables,
  durationMs,
  flag,
  gardenVariables,
  guardedHosts,
  installationVariables,
  integer,
  portOrFree,
  readConfig,
  refuseValue,
  text,
  tracingVariables,
  trustProxy,
  upstreamVariables,
  url,
  variable,
  webhookVariables,
} from '@corral/service';
import { type AppConfig, changeDefaults, deviceLimits, eventDefaults, operationWaitLimits } from './app-config.js';
import { isLoopbackUrl, loopbackHosts, oidcVariables, problemsOfOidc } from './people/oidc-config.js';

const SECRET_CHARACTERS_MIN = 16;

const billingSecrets = {
  default: [],
  desc: 'Comma-separated signing secrets of the billing webhook. Set two while you rotate them. Without a secret the webhook is off.',
};

/** The console, which mails and answers link to, and the billing system. */
const teamVariables = {
  ...consoleVariables,
  CONSOLE_URL: url({
    default: undefined,
    desc: 'URL of the web console, used for links in responses. Default: PUBLIC_URL with /console if CONSOLE_ENABLED.',
    example: 'https://console.example.org',
  }),
  BILLING_WEBHOOK_SECRETS: variable<readonly string[]>(
    billingSecrets,
    { type: 'secrets', expected: `secrets of at least ${SECRET_CHARACTERS_MIN} characters`, hidden: true },
    (input) => {
      const secrets = input.split(',').map((secret) => secret.trim());
      if (secrets.some(({ length }) => length < SECRET_CHARACTERS_MIN)) refuseValue('has a secret that is too short');
      return secrets;
    },
  ),
  SUBSCRIPTION_REQUIRED: flag({
    default: false,
    desc: 'Require an active subscription to start a cluster. Running clusters are not affected.',
  }),
};

/** Every variable of the cluster API. */
export const clusterApiConfig = {
  DATABASE_URL: installationVariables.DATABASE_URL,
  DATABASE_PASSWORD: installationVariables.DATABASE_PASSWORD,
  REDIS_URL: installationVariables.REDIS_URL,
  REDIS_PASSWORD: installationVariables.REDIS_PASSWORD,
  LOG_LEVEL: installationVariables.LOG_LEVEL,
  ...tracingVariables,
  HCLOUD_API_URL: upstreamVariables.HCLOUD_API_URL,
  SECRET_KEYS: secretKeys({
    desc: 'Keys that encrypt the provider tokens of connections, the secrets of webhooks and pending sign-ins.',
  }),

  PORT: portOrFree({ default: 8081, desc: 'Port of the API.' }),
  HOST: text({ default: '::', desc: 'Address to listen on.' }),
  ...tlsVariables,
  ...clientVariables,
  ...contactVariables,
  METRICS_PORT: portOrFree({ default: 9092, desc: 'Port of /metrics, /healthz and /readyz.' }),
  PUBLIC_URL: url({
    default: undefined,
    desc: 'Public URL of the API, for clients and browsers. Default: http://localhost with the port.',
    example: 'https://clusters.example.org',
  }),
  TRUST_PROXY: trustProxy({
    default: false,
    desc: 'Proxies that are trusted to state the client’s address.',
    example: '10.0.0.0/8',
  }),
  DATABASE_CONNECTIONS: integer({
    default: 10,
    min: 2,
    desc: 'Maximum number of Postgres connections, not counting those of the queue. Half of them, rounded down, serve changes; the rest serve reads.',
  }),
  ...drainVariables,

  SESSION_IDLE_MS: durationMs({
    default: 43_200_000,
    min: 60_000,
    desc: 'Time without a request after which a session expires.',
  }),
  SESSION_MAX_MS: durationMs({
    default: 604_800_000,
    min: 60_000,
    desc: 'Maximum lifetime of a session after the sign-in.',
  }),
  ...oidcVariables,
  DEV_SIGN_IN: flag({
    default: false,
    desc: 'Development sign-in: an e-mail address is enough to sign in as any user. Works only on a loopback address and outside production.',
  }),
  NODE_ENV: text({ default: undefined, desc: '`production` forbids DEV_SIGN_IN.' }),

  TRUSTED_ISSUER_HOSTS: guardedHosts({
    desc: 'Comma-separated hosts of trusted issuers and of their keys that may have private addresses, such as those of Kubernetes clusters. `*.` stands for any subdomain. Other issuers must have public ones.',
  }),

  ...webhookVariables,

  LIMIT_PER_ADDRESS: integer({
    default: clusterLimits.requestsPerAddressPerMinute,
    min: 1,
    desc: 'Requests per address and minute, counted before the session is looked up.',
  }),
  LIMIT_PER_PERSON: integer({
    default: clusterLimits.requestsPerPersonPerMinute,
    min: 1,
    desc: 'Requests per person, or per service account, and minute.',
  }),
  LIMIT_SIGN_IN: integer({
    default: clusterLimits.signInRequestsPerAddressPerMinute,
    min: 2,
    desc: 'Sign-in requests per address and minute; one sign-in takes two. Refused token requests have a limit of the same size.',
  }),
  EVENT_HEARTBEAT_MS: durationMs({
    default: eventDefaults.heartbeatMs,
    min: 100,
    max: 60_000,
    desc:
      'Interval at which an open event stream sends a heartbeat; after each fourth one it checks that its session is still valid. ' +
      'The console takes a stream that is silent for 9 s as lost.',
  }),
  EVENT_STREAMS_PER_PERSON: integer({
    default: eventDefaults.limits.perPerson,
    min: 1,
    desc: 'Maximum number of open event streams per person and replica.',
  }),
  EVENT_STREAMS_PER_TEAM: integer({
    default: eventDefaults.limits.perTeam,
    min: 1,
    desc: 'Maximum number of open event streams per team and replica. At most a quarter of EVENT_STREAMS_MAX takes effect.',
  }),
  EVENT_STREAMS_MAX: integer({
    default: eventDefaults.limits.perProcess,
    min: 4,
    desc: 'Maximum number of open event streams per replica. With 1,000, a replica takes up to 200 MB of memory.',
  }),
  CLUSTERS_PER_TEAM: integer({
    default: clusterLimits.clustersPerTeam,
    desc: 'Maximum number of clusters per team. Default for teams without their own quota.',
  }),
  POOLS_PER_CLUSTER: integer({
    default: clusterLimits.poolsPerCluster,
    desc: 'Maximum number of node pools per cluster. Default for teams without their own quota.',
  }),
  NODES_PER_CLUSTER: integer({
    default: clusterLimits.nodesPerCluster,
    desc: 'Maximum number of nodes per cluster, over all its pools. Default for teams without their own quota.',
  }),

  ...teamVariables,
  ADOPTED_SERVERS_PER_TEAM: integer({
    default: clusterLimits.adoptedServersPerTeam,
    desc: 'Maximum number of adopted servers per team. Default for teams without their own quota.',
  }),

  DNS_RECORDS_PER_TEAM: integer({
    default: dnsLimits.recordsPerTeam,
    min: 1,
    desc: 'Maximum number of DNS records per team, shown with the usage. Set it to the value of the DNS gateways.',
  }),
  DNS_LIMIT_PER_TEAM: integer({
    default: dnsLimits.requestsPerTeamPerMinute,
    min: 1,
    desc: 'Requests to the DNS API per team and minute, shown with the usage. Set it to LIMIT_PER_TEAM of the DNS gateways.',
  }),
  DNS_API_URL: url({
    default: undefined,
    desc: 'Public URL of the DNS API (PUBLIC_URL of the DNS gateway). Without it, signed-in users get no DNS token for their session.',
    example: 'https://dns.example.org/v1',
  }),
  DNS_ZONE_NAME: {
    ...installationVariables.DNS_ZONE_NAME,
    default: undefined,
    requiredWhen: (config: Record<string, unknown>) => config.DNS_API_URL !== undefined,
  },

  ...gardenVariables,
  GARDEN_KUBECONFIG: {
    ...gardenVariables.GARDEN_KUBECONFIG,
    requiredWhen: (config: Record<string, unknown>) => config.GARDEN_IN_CLUSTER !== true,
  },
  GARDEN_FEATURES: gardenFeaturesVariable,
};

/**
 * Reads the variables and checks their combinations.
 *
 * @throws ConfigError that lists every wrong variable
 */
export function readClusterApiConfig(env: NodeJS.ProcessEnv): Config<typeof clusterApiConfig> {
  return readConfig(clusterApiConfig, env, (config) => [
    ...(config.DEV_SIGN_IN ? dangersOfDevSignIn(config) : []),
    ...problemsOfOidc(config),
  ]);
}

/** A sign-in without proof must be reachable only from the developer's machine. */
function dangersOfDevSignIn({ NODE_ENV, PUBLIC_URL, HOST }: Config<typeof clusterApiConfig>): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const say = (variable: string, problem: string, expected: string) => problems.push({ variable, problem, expected });
  if (NODE_ENV === 'production') {
    say('DEV_SIGN_IN', 'must not be on while NODE_ENV is production, because it needs no password', 'false');
  }
  if (PUBLIC_URL !== undefined && !isLoopbackUrl(PUBLIC_URL)) {
    say(
      'PUBLIC_URL',
      'is not an http address of this machine while DEV_SIGN_IN is on',
      'a URL such as http://localhost',
    );
  }
  if (!loopbackHosts.has(HOST)) {
    say('HOST', 'is reachable from other machines while DEV_SIGN_IN is on', '127.0.0.1, ::1 or localhost');
  }
  return problems;
}

/**
 * The settings of the app.
 *
 * @param readConnections size of the pool for reads
 * @param publicUrl see `AppConfig`
 */
export function appConfigOf(
  config: Config<typeof clusterApiConfig>,
  readConnections: number,
  publicUrl: () => string,
): AppConfig {
  const { CONSOLE_URL, CONSOLE_ENABLED, DNS_API_URL, DNS_ZONE_NAME } = config;
  return {
    publicUrl,
    trustProxy: config.TRUST_PROXY,
    limits: {
      perAddressPerMinute: config.LIMIT_PER_ADDRESS,
      perPersonPerMinute: config.LIMIT_PER_PERSON,
      signInRequestsPerAddressPerMinute: config.LIMIT_SIGN_IN,
      devices: deviceLimits,
    },
    requestsInFlightMax: config.REQUESTS_IN_FLIGHT_MAX,
    readConnections,
    changes: changeDefaults,
    operationWaits: operationWaitLimits,
    events: {
      ...eventDefaults,
      heartbeatMs: config.EVENT_HEARTBEAT_MS,
      limits: {
        perPerson: config.EVENT_STREAMS_PER_PERSON,
        perTeam: config.EVENT_STREAMS_PER_TEAM,
        perProcess: config.EVENT_STREAMS_MAX,
      },
    },
    secureCookies: !config.DEV_SIGN_IN,
    devSignIn: config.DEV_SIGN_IN,
    securityContact: config.SECURITY_CONTACT,
    consoleEnabled: CONSOLE_ENABLED,
    consoleUrl: () => CONSOLE_URL?.replace(/\/+$/, '') ?? (CONSOLE_ENABLED ? `${publicUrl()}/console` : null),
    billingSecrets: config.BILLING_WEBHOOK_SECRETS,
    quotas: {
      clustersPerTeam: config.CLUSTERS_PER_TEAM,
      poolsPerCluster: config.POOLS_PER_CLUSTER,
      nodesPerCluster: config.NODES_PER_CLUSTER,
    },
    adoptedServersPerTeam: config.ADOPTED_SERVERS_PER_TEAM,
    subscriptionRequired: config.SUBSCRIPTION_REQUIRED,
    gardenFeatures: new Set(config.GARDEN_FEATURES),
    dnsRecordsPerTeam: config.DNS_RECORDS_PER_TEAM,
    dnsRequestsPerTeamPerMinute: config.DNS_LIMIT_PER_TEAM,
    dnsApi:
      DNS_API_URL === undefined || DNS_ZONE_NAME === undefined
        ? null
        : { endpoint: DNS_API_URL.replace(/\/+$/, ''), zone: DNS_ZONE_NAME },
  };
}
