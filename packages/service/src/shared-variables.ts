import { durationMs, oneOf, secret, text, url } from './config-variables.js';
import { logLevels } from './log.js';

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
};
