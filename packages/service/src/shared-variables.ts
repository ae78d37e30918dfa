import { guardedHosts } from './call-guard.js';
import type { Config } from './config.js';
import { durationMs, flag, oneOf, secret, share, text, url } from './config-variables.js';
import { corralVersion } from './corral-version.js';
import { logLevels } from './log.js';

/** Variables of every service of an installation, declared once so that they mean the same everywhere. */
export const installationVariables = {
  DATABASE_URL: url({
    desc: 'Postgres of the installation.',
    protocols: ['postgres', 'postgresql'],
    example: 'postgresql://corral:password@db:5432/corral',
  }),
  DATABASE_PASSWORD: secret({
    default: undefined,
    minLength: 1,
    desc: 'Password for DATABASE_URL, instead of one in the URL. Any character is possible, unescaped.',
  }),
  REDIS_URL: url({
    default: undefined,
    desc: 'Redis, for the queue and for shared request limits. Without it, the queue is in Postgres and each process counts its limits alone.',
    protocols: ['redis', 'rediss'],
    example: 'redis://:password@redis:6379',
  }),
  REDIS_PASSWORD: secret({
    default: undefined,
    minLength: 1,
    desc: 'Password for REDIS_URL, instead of one in the URL. Any character is possible, unescaped.',
  }),
  DNS_ZONE_NAME: text({ desc: 'DNS zone that holds the names of all teams.', example: 'example.org' }),
  LOG_LEVEL: oneOf(logLevels, { default: 'info', desc: 'Lowest log level that is written.' }),
};

/** Variables of services that serve the web console or link to it. */
export const consoleVariables = {
  CONSOLE_ENABLED: flag({
    default: true,
    desc: 'Whether the cluster API serves the web console at /console/. Set it to the same value for the cluster API and the reconciler.',
  }),
};

/** Variables of services that call the upstream. */
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

/** Variables of services that call the garden cluster. */
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

/** Variables of services that know webhooks. */
export const webhookVariables = {
  WEBHOOK_HOSTS: guardedHosts({
    desc: 'Comma-separated hosts of webhooks that may have private addresses. `*.` stands for any subdomain. `localhost` allows this machine, also without TLS, for development. Other webhooks must have public addresses.',
  }),
};

export const webhookGuardOptions = ({ WEBHOOK_HOSTS }: Config<typeof webhookVariables>) => ({
  privateHosts: WEBHOOK_HOSTS,
  allowLoopback: WEBHOOK_HOSTS.includes('localhost'),
});

/** Variables of services that make traces, with the names and values of OpenTelemetry. */
export const tracingVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: url({
    default: undefined,
    desc: 'Base address of a receiver of traces (OTLP by HTTP). Without it, there are no traces. See docs/traces.md.',
    example: 'http://otel-collector:4318',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: secret({
    default: undefined,
    minLength: 1,
    desc: 'Headers for the receiver of traces: `name=value`, separated by commas, with values escaped as in URLs.',
  }),
  OTEL_TRACES_SAMPLER: oneOf(
    [
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ],
    {
      default: 'parentbased_always_on',
      desc: 'Which traces are recorded. With `parentbased_…`, a client that sends a `traceparent` decides for its own.',
    },
  ),
  OTEL_TRACES_SAMPLER_ARG: share({
    default: 1,
    desc: 'Share of the traces that samplers by ratio record, from 0 to 1.',
  }),
};

/** The options of `startTracing`. */
export const tracingOptionsOf = (config: Config<typeof tracingVariables>) => ({
  version: corralVersion,
  endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
  sampler: config.OTEL_TRACES_SAMPLER,
  ratio: config.OTEL_TRACES_SAMPLER_ARG,
});
