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
    desc: 'Redis, for the queue and to share request limits. Without it the queue is in Postgres and limits count per process.',
    protocols: ['redis', 'rediss'],
    example: 'redis://:password@redis:6379',
  }),
  DNS_ZONE_NAME: text({ desc: 'The one zone in which teams have their names.', example: 'example.org' }),
  LOG_LEVEL: oneOf(logLevels, { default: 'info', desc: 'Lines below this level are not written.' }),
};

/** What every service is told that calls the upstream. */
export const upstreamVariables = {
  HCLOUD_API_URL: url({ default: 'https://api.hetzner.cloud/v1', desc: 'Upstream API, with the version in its path.' }),
  HCLOUD_TOKEN: secret({ desc: 'Upstream token with read and write access to the project of the zone.' }),
  UPSTREAM_TIMEOUT_MS: durationMs({ default: 10_000, min: 100, desc: 'Longest duration of one upstream call.' }),
  UPSTREAM_WAIT_MS: durationMs({
    default: 8_000,
    desc: 'How long a request may wait for the upstream’s budget or retry before it gives up.',
  }),
  ACTION_TIMEOUT_MS: durationMs({ default: 60_000, desc: 'After so long a running action counts as failed.' }),
  DNS_SETTLE_GRACE_MS: durationMs({
    default: 60_000,
    desc: 'How long after an accepted write the upstream may not show it yet.',
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
    desc: 'Use the garden cluster that this process runs in, with the service account of its pod.',
  }),
  GARDEN_CLOUD_PROFILE: text({ default: 'hcloud', desc: 'CloudProfile whose versions and machine types are offered.' }),
  GARDEN_TIMEOUT_MS: durationMs({ default: 15_000, min: 100, desc: 'Longest duration of one call of the garden.' }),
};

/** What a service is told that others send requests to. */
export const drainVariables = {
  DRAIN_DELAY_MS: durationMs({
    default: 0,
    desc: 'After SIGTERM: how long requests are still served, not ready any more, until proxies know. 5 s in the images.',
  }),
  SHUTDOWN_GRACE_MS: durationMs({ default: 25_000, desc: 'How long requests in flight may take to end after that.' }),
};

const speaksTls = (config: Record<string, unknown>): boolean =>
  [config.TLS_CERT_FILE, config.TLS_KEY_FILE, config.TLS_PORT].some((value) => value !== undefined);

/** What a service is told that speaks TLS itself, with no proxy in front of it. */
export const tlsVariables = {
  TLS_CERT_FILE: text({
    default: undefined,
    requiredWhen: speaksTls,
    desc: 'Certificate with its chain, PEM. With it the API speaks TLS; it is read again when it changes.',
    example: '/etc/corral/tls/tls.crt',
  }),
  TLS_KEY_FILE: text({
    default: undefined,
    requiredWhen: speaksTls,
    desc: 'Private key of that certificate, PEM.',
    example: '/etc/corral/tls/tls.key',
  }),
  TLS_PORT: portOrFree({
    default: undefined,
    desc: 'Port for TLS beside plain HTTP on PORT. If not set, PORT speaks TLS and nothing is plain.',
  }),
};

/** What a service is told about clients that are slow, or too many. */
export const clientVariables = {
  HEADERS_TIMEOUT_MS: durationMs({ default: 10_000, min: 100, desc: 'The headers of a request arrive within this.' }),
  REQUEST_TIMEOUT_MS: durationMs({
    default: 15_000,
    min: 100,
    desc: 'A whole request arrives within this; its connection is closed if not.',
  }),
  CONNECTIONS_MAX: integer({ default: 4_096, min: 1, desc: 'Connections of clients that may be open at once.' }),
  CONNECTIONS_PER_ADDRESS: integer({
    default: 256,
    min: 1,
    desc: 'The same from one address, or one /64 of IPv6. Trusted proxies are not counted.',
  }),
  REQUESTS_IN_FLIGHT_MAX: integer({
    default: 32,
    min: 1,
    desc: 'Requests that are taken on at once, in a burst eight times as many. No more than DATABASE_CONNECTIONS are worked on; others have turns.',
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
