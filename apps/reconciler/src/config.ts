import { durationMs, logLevels, oneOf, portOrFree, secret, text, url } from '@corral/service';

/** The variables of the reconciler. */
export const configSpec = {
  DATABASE_URL: url({
    desc: 'The database of the installation.',
    protocols: ['postgres', 'postgresql'],
    example: 'postgresql://corral:password@db:5432/corral',
  }),
  REDIS_URL: url({
    desc: 'Carries the jobs; without it Postgres does.',
    protocols: ['redis', 'rediss'],
    default: undefined,
  }),
  DNS_ZONE_NAME: text({ desc: 'The zone in which teams have their names.', example: 'example.org' }),
  HCLOUD_API_URL: url({ desc: 'The upstream API, with its version.', default: 'https://api.hetzner.cloud/v1' }),
  HCLOUD_TOKEN: secret({ desc: 'Token of the upstream project that holds the zone.' }),
  UPSTREAM_TIMEOUT_MS: durationMs({ desc: 'Longest time of one upstream call.', min: 100, default: 10_000 }),
  UPSTREAM_WAIT_MS: durationMs({
    desc: 'How long a read may wait for the upstream’s budget or retry before it gives up.',
    default: 8_000,
  }),
  DNS_SYNC_INTERVAL: durationMs({
    desc: 'How often the mirror is compared with the whole zone. One run costs an upstream call per 100 record sets.',
    min: 1_000,
    default: 600_000,
  }),
  DNS_SETTLE_INTERVAL: durationMs({
    desc: 'How often writes of unknown outcome are looked for. Looking costs no upstream call.',
    min: 100,
    default: 5_000,
  }),
  DNS_SETTLE_GRACE: durationMs({
    desc: 'How long after an accepted write the upstream may not show it yet.',
    default: 60_000,
  }),
  JOB_LOCK_MS: durationMs({
    desc: 'After so long without a sign of life a reconciler counts as dead, and another one gets its jobs.',
    min: 1_000,
    default: 5_000,
  }),
  METRICS_PORT: portOrFree({ desc: 'Port of /metrics, /healthz and /readyz.', default: 9091 }),
  LOG_LEVEL: oneOf(logLevels, { desc: 'The least severe lines that are logged.', default: 'info' }),
  SHUTDOWN_GRACE_MS: durationMs({ desc: 'Longest time that an orderly end takes.', min: 1_000, default: 10_000 }),
};
