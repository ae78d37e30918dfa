import type { Config } from './config.js';
import { durationMs, flag, integer, oneOf, portOrFree, secret, text, url } from './config-variables.js';
import { logLevels } from './log.js';
import type { ServeOptions } from './serve.js';
import type { TlsOptions } from './tls-server.js';

/** What every service of an installation is told: declared once, so that it means the same everywhere. */
export const installationVariables = {
  DATABASE_URL: url({
    desc: 'Postgres of the installation.',
    protocols: ['postgres', 'postgresql'],
    example: 'postgresql://corral:password@db:5432/corral',
  }),
  REDIS_URL: url({
    default: undefined,
    desc: 'Redis, for the queue and for shared request limits. Without it, the queue is in Postgres and each process counts its limits alone.',
    protocols: ['redis', 'rediss'],
    example: 'redis://:password@redis:6379',
  }),
  DNS_ZONE_NAME: text({ desc: 'DNS zone that holds the names of all teams.', example: 'example.org' }),
  LOG_LEVEL: oneOf(logLevels, { default: 'info', desc: 'Lowest log level that is written.' }),
};

/** What every service is told that calls the upstream. */
export const upstreamVariables = {
  HCLOUD_API_URL: url({
    default: 'https://api.hetzner.cloud/v1',
    desc: 'Base URL of the upstream API, including the version.',
  }),
  HCLOUD_TOKEN: secret({ desc: 'API token of the upstream project that holds the zone, with read and write access.' }),
  UPSTREAM_TIMEOUT_MS: durationMs({ default: 10_000, min: 100, desc: 'Timeout of one upstream call.' }),
  UPSTREAM_WAIT_MS: durationMs({
    default: 8_000,
    desc: 'Maximum time that a request waits for the upstream’s request budget or for a retry.',
  }),
  ACTION_TIMEOUT_MS: durationMs({ default: 60_000, desc: 'Time after which a running action counts as failed.' }),
  DNS_SETTLE_GRACE_MS: durationMs({
    default: 60_000,
    desc: 'Maximum time until the upstream shows a write that it has accepted.',
  }),
};

/** What every service is told that calls the garden cluster. */
export const gardenVariables = {
  GARDEN_KUBECONFIG: text({
    default: undefined,
    desc: 'Path of the kubeconfig of the garden cluster.',
    example: '/etc/corral/garden.kubeconfig',
  }),
  GARDEN_IN_CLUSTER: flag({
    default: false,
    desc: 'Use the cluster that this process runs in as the garden, with the service account of its pod.',
  }),
  GARDEN_CLOUD_PROFILE: text({
    default: 'hcloud',
    desc: 'CloudProfile that defines the available versions and machine types.',
  }),
  GARDEN_TIMEOUT_MS: durationMs({ default: 15_000, min: 100, desc: 'Timeout of one call to the garden.' }),
};

/** What a service is told that others send requests to. */
export const drainVariables = {
  DRAIN_DELAY_MS: durationMs({
    default: 0,
    desc: 'After SIGTERM, time during which the process reports not ready but still serves requests, so that proxies can react. The images set 5 s.',
  }),
  SHUTDOWN_GRACE_MS: durationMs({
    default: 25_000,
    desc: 'Maximum time for requests in flight to finish after the drain delay.',
  }),
};

const speaksTls = (config: Record<string, unknown>): boolean =>
  [config.TLS_CERT_FILE, config.TLS_KEY_FILE, config.TLS_PORT].some((value) => value !== undefined);

/** What a service is told that speaks TLS itself, with no proxy in front of it. */
export const tlsVariables = {
  TLS_CERT_FILE: text({
    default: undefined,
    requiredWhen: speaksTls,
    desc: 'TLS certificate with its chain (PEM file). Enables TLS. The file is reloaded when it changes.',
    example: '/etc/corral/tls/tls.crt',
  }),
  TLS_KEY_FILE: text({
    default: undefined,
    requiredWhen: speaksTls,
    desc: 'Private key of the TLS certificate (PEM file).',
    example: '/etc/corral/tls/tls.key',
  }),
  TLS_PORT: portOrFree({
    default: undefined,
    desc: 'Separate port for TLS, while PORT serves plain HTTP. If not set, PORT serves TLS and plain HTTP is off.',
  }),
};

/** What a service is told about clients that are slow, or too many. */
export const clientVariables = {
  HEADERS_TIMEOUT_MS: durationMs({
    default: 10_000,
    min: 100,
    desc: 'Maximum time to receive the headers of a request.',
  }),
  REQUEST_TIMEOUT_MS: durationMs({
    default: 15_000,
    min: 100,
    desc: 'Maximum time to receive a whole request. After that its connection is closed.',
  }),
  CONNECTIONS_MAX: integer({ default: 4_096, min: 1, desc: 'Maximum number of open client connections.' }),
  CONNECTIONS_PER_ADDRESS: integer({
    default: 256,
    min: 1,
    desc: 'Maximum number of open connections from one IPv4 address or IPv6 /64. Trusted proxies are exempt.',
  }),
  REQUESTS_IN_FLIGHT_MAX: integer({
    default: 32,
    min: 1,
    desc: 'Maximum number of accepted requests at a time; eight times as many in a burst. At most DATABASE_CONNECTIONS of them are processed at once, the others wait for their turn.',
  }),
};

/** @returns what `serve` takes as `timeouts` and `connections` */
export function clientBounds(
  config: Config<typeof clientVariables>,
): Required<Pick<ServeOptions, 'timeouts' | 'connections'>> {
  return {
    timeouts: { headersMs: config.HEADERS_TIMEOUT_MS, requestMs: config.REQUEST_TIMEOUT_MS },
    connections: { max: config.CONNECTIONS_MAX, perAddressMax: config.CONNECTIONS_PER_ADDRESS },
  };
}

/** @returns what `serve` takes as `tls`: undefined without a certificate */
export function tlsOptions(config: Config<typeof tlsVariables>): TlsOptions | undefined {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, TLS_PORT: port } = config;
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile, port };
}
