import { clusterLimits, dnsLimits } from '@corral/contracts';
import { gardenFeaturesVariable } from '@corral/garden';
import { secretKeys } from '@corral/secrets';
import {
  type Config,
  ConfigError,
  type ConfigProblem,
  clientVariables,
  drainVariables,
  durationMs,
  flag,
  gardenVariables,
  installationVariables,
  integer,
  portOrFree,
  readConfig,
  text,
  tlsVariables,
  trustProxy,
  upstreamVariables,
  url,
} from '@corral/service';
import { eventDefaults } from './build-event-handlers.js';
import { isLoopbackUrl, loopbackHosts } from './loopback.js';
import { oidcVariables, problemsOfOidc } from './oidc/oidc-config.js';
import { teamVariables } from './team-variables.js';

/** Every variable of the cluster API. */
export const clusterApiConfig = {
  DATABASE_URL: installationVariables.DATABASE_URL,
  REDIS_URL: installationVariables.REDIS_URL,
  LOG_LEVEL: installationVariables.LOG_LEVEL,
  HCLOUD_API_URL: upstreamVariables.HCLOUD_API_URL,
  SECRET_KEYS: secretKeys({ desc: 'Keys that seal the provider tokens of connections, and sign-ins under way.' }),

  PORT: portOrFree({ default: 8081, desc: 'Port of the API.' }),
  HOST: text({ default: '::', desc: 'Address to listen on.' }),
  ...tlsVariables,
  ...clientVariables,
  METRICS_PORT: portOrFree({ default: 9092, desc: 'Port of /metrics, /healthz and /readyz.' }),
  PUBLIC_URL: url({
    default: undefined,
    desc: 'Where clients and browsers reach the API; http://localhost and the port if not set.',
    example: 'https://clusters.example.org',
  }),
  TRUST_PROXY: trustProxy({
    default: false,
    desc: 'Which proxies may state the client’s address.',
    example: '10.0.0.0/8',
  }),
  DATABASE_CONNECTIONS: integer({
    default: 10,
    min: 2,
    desc: 'Connections to Postgres at most, the queue’s aside: half of them, rounded down, for changes, the rest for reads.',
  }),
  ...drainVariables,

  SESSION_IDLE_MS: durationMs({
    default: 43_200_000,
    min: 60_000,
    desc: 'A session ends after so long without a request.',
  }),
  SESSION_MAX_MS: durationMs({
    default: 604_800_000,
    min: 60_000,
    desc: 'A session ends so long after the sign-in, whatever its use.',
  }),
  ...oidcVariables,
  DEV_SIGN_IN: flag({
    default: false,
    desc: 'Lets anybody sign in as anybody, by e-mail address alone. Only on a loopback address and outside production.',
  }),
  NODE_ENV: text({ default: undefined, desc: '`production` rules DEV_SIGN_IN out.' }),

  LIMIT_PER_ADDRESS: integer({
    default: clusterLimits.requestsPerAddressPerMinute,
    min: 1,
    desc: 'Requests per address and minute, counted before the session is looked up.',
  }),
  LIMIT_PER_SESSION: integer({
    default: clusterLimits.requestsPerSessionPerMinute,
    min: 1,
    desc: 'Requests per session and minute.',
  }),
  LIMIT_SIGN_IN: integer({
    default: clusterLimits.signInRequestsPerAddressPerMinute,
    min: 2,
    desc: 'Requests per address and minute that begin or finish a sign-in; a sign-in is two.',
  }),
  EVENT_HEARTBEAT_MS: durationMs({
    default: eventDefaults.heartbeatMs,
    min: 100,
    max: 60_000,
    desc: 'How often an open stream of live changes shows that it lives, and whether its session does is looked up.',
  }),
  EVENT_STREAMS_PER_SESSION: integer({
    default: eventDefaults.limits.perSession,
    min: 1,
    desc: 'Streams of live changes that a session may have open at one replica.',
  }),
  EVENT_STREAMS_PER_TEAM: integer({
    default: eventDefaults.limits.perTeam,
    min: 1,
    desc: 'The same for all sessions of a team; never more than a quarter of EVENT_STREAMS_MAX.',
  }),
  EVENT_STREAMS_MAX: integer({
    default: eventDefaults.limits.perProcess,
    min: 4,
    desc: 'Streams of live changes that one replica has open. 1,000 take up to 300 MB.',
  }),
  CLUSTERS_PER_TEAM: integer({
    default: clusterLimits.clustersPerTeam,
    desc: 'Clusters of a team that has no quota of its own.',
  }),
  POOLS_PER_CLUSTER: integer({ default: clusterLimits.poolsPerCluster, desc: 'Node pools of a cluster, likewise.' }),
  NODES_PER_CLUSTER: integer({
    default: clusterLimits.nodesPerCluster,
    desc: 'Nodes that the pools of a cluster may grow to, likewise.',
  }),

  ...teamVariables,
  ADOPTED_SERVERS_PER_TEAM: integer({
    default: clusterLimits.adoptedServersPerTeam,
    desc: 'Adopted servers, likewise.',
  }),

  DNS_RECORDS_PER_TEAM: integer({
    default: dnsLimits.recordsPerTeam,
    min: 1,
    desc: 'Records a team may have, as the gateways are configured; shown with the usage.',
  }),

  ...gardenVariables,
  GARDEN_KUBECONFIG: {
    ...gardenVariables.GARDEN_KUBECONFIG,
    requiredWhen: (config: Record<string, unknown>) => config.GARDEN_IN_CLUSTER !== true,
  },
  GARDEN_FEATURES: gardenFeaturesVariable,
};

/**
 * Reads the variables and checks what they say together.
 *
 * @throws ConfigError that lists every wrong variable
 */
export function readClusterApiConfig(env: NodeJS.ProcessEnv): Config<typeof clusterApiConfig> {
  const config = readConfig(clusterApiConfig, env);
  const problems = [...(config.DEV_SIGN_IN ? dangersOfDevSignIn(config) : []), ...problemsOfOidc(config)];
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** A sign-in without proof must be out of reach for everybody but the developer. */
function dangersOfDevSignIn({ NODE_ENV, PUBLIC_URL, HOST }: Config<typeof clusterApiConfig>): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const say = (variable: string, problem: string, expected: string) => problems.push({ variable, problem, expected });
  if (NODE_ENV === 'production') {
    say('DEV_SIGN_IN', 'lets anybody sign in as anybody and NODE_ENV is production', 'it to be false there');
  }
  if (PUBLIC_URL !== undefined && !isLoopbackUrl(PUBLIC_URL)) {
    say('PUBLIC_URL', 'is no http address of this machine while DEV_SIGN_IN is on', 'http://localhost or the like');
  }
  if (!loopbackHosts.has(HOST)) {
    say('HOST', 'is reached from other machines while DEV_SIGN_IN is on', '127.0.0.1, ::1 or localhost');
  }
  return problems;
}
