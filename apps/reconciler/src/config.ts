import { dnsLimits, retentionLimits } from '@corral/contracts';
import { gardenFeaturesVariable } from '@corral/garden';
import type { Intervals } from '@corral/queue';
import { secretKeys } from '@corral/secrets';
import {
  type Config,
  durationMs,
  gardenVariables,
  installationVariables,
  integer,
  portOrFree,
  text,
  tracingVariables,
  upstreamVariables,
  url,
  webhookVariables,
} from '@corral/service';
import { mailVariables } from './mail/connect-mail-server.js';

/** Environment variables of the reconciler. It reconciles clusters when a garden is configured. */
export const reconcilerConfig = {
  ...installationVariables,
  ...tracingVariables,
  ...upstreamVariables,
  ...gardenVariables,
  GARDEN_FEATURES: gardenFeaturesVariable,
  GARDEN_NETWORKING_TYPE: text({ default: 'calico', desc: 'Networking extension of new clusters.' }),
  GARDEN_RELIST_INTERVAL_MS: durationMs({
    desc: 'Interval at which all Shoots are listed, to find changes that the watch missed. Each run makes one call per 500 Shoots.',
    min: 1_000,
    default: 600_000,
  }),
  NODE_COUNT_INTERVAL_MS: durationMs({
    desc: 'Interval at which the nodes of an unchanged cluster are counted while not all are ready. Each count is one call to the cluster’s API server.',
    min: 1_000,
    default: 300_000,
  }),
  DNS_API_URL: url({
    desc: 'Public URL of the DNS API (PUBLIC_URL of the DNS gateway), for names on clusters. Set it to the value of the cluster API.',
    default: undefined,
    example: 'https://dns.example.org/v1',
  }),
  ACME_URL: url({
    desc: 'Directory of the ACME server that issues certificates for names on clusters.',
    default: 'https://acme-v02.api.letsencrypt.org/directory',
  }),
  SECRET_KEYS: secretKeys({
    desc: 'Keys that decrypt the provider tokens of connections and the secrets of webhooks. Required with a garden.',
    default: undefined,
    requiredWhen: ({ GARDEN_KUBECONFIG, GARDEN_IN_CLUSTER }) =>
      GARDEN_KUBECONFIG !== undefined || GARDEN_IN_CLUSTER === true,
  }),
  RECONCILE_CONCURRENCY: integer({
    desc: 'Maximum number of clusters that one process reconciles at the same time, while the garden is healthy.',
    min: 1,
    max: 256,
    default: 16,
  }),
  RECONCILE_LEASE_MS: durationMs({
    desc: 'Time without a heartbeat after which another process takes over a cluster.',
    min: 1_000,
    default: 15_000,
  }),
  RECONCILE_SWEEP_INTERVAL_MS: durationMs({
    desc: 'Interval at which the database is searched for due clusters whose job was lost. Makes no call to the garden.',
    min: 100,
    default: 10_000,
  }),
  CONNECTION_VERIFY_INTERVAL_MS: durationMs({
    desc: 'Interval at which the database is searched for connections whose token must be verified.',
    min: 100,
    default: 10_000,
  }),
  DNS_SYNC_INTERVAL_MS: durationMs({
    desc: 'Interval at which the mirror is compared with the whole zone. Each run makes one upstream call per 100 record sets.',
    min: 1_000,
    default: 600_000,
  }),
  DNS_SETTLE_INTERVAL_MS: durationMs({
    desc: 'Interval at which the database is searched for writes with an unknown outcome. Makes no upstream call.',
    min: 100,
    default: 5_000,
  }),
  DNS_ACTION_INTERVAL_MS: durationMs({
    desc: 'Minimum time between two upstream calls that poll actions without a waiting client. One call covers 50 actions.',
    min: 100,
    default: 10_000,
  }),
  DNS_RECORDS_PER_TEAM: integer({
    desc: 'Maximum number of DNS records per team, recorded with the usage. Set it to the value of the DNS gateways.',
    min: 1,
    default: dnsLimits.recordsPerTeam,
  }),
  DEMO_ZONE_NAME: text({
    desc: 'Zone of the demos. Its mirror is kept in sync as well.',
    default: undefined,
    example: 'demo.example.org',
  }),
  DEMO_INTERVAL_MS: durationMs({
    desc: 'Interval at which the database is searched for expired demos and their remaining records. Makes no upstream call.',
    min: 100,
    default: 10_000,
  }),
  JOB_LOCK_MS: durationMs({
    desc: 'Time without a heartbeat after which a reconciler counts as dead and another one takes over its jobs.',
    min: 1_000,
    default: 5_000,
  }),
  SERVER_CONCURRENCY: integer({
    desc: 'Maximum number of adopted servers that one process works on at the same time.',
    min: 1,
    max: 256,
    default: 8,
  }),
  SERVER_IMAGE: text({
    desc: 'Name of the provider’s system image for rebuilding adopted servers.',
    default: 'ubuntu-24.04',
  }),
  SERVER_REBUILD_GRACE_MS: durationMs({
    desc: 'Minimum time before a rebuild request is repeated, because the first one may still arrive. At least twice UPSTREAM_TIMEOUT_MS.',
    min: 1_000,
    default: 60_000,
  }),
  SERVER_ADOPTION_MAX_MS: durationMs({
    desc: 'Time after which an unfinished adoption fails.',
    min: 1_000,
    default: 3_600_000,
  }),
  SERVER_JOIN_MS: durationMs({
    desc: 'Time after which a server fails if it is not a Ready node of its cluster.',
    min: 1_000,
    default: 1_800_000,
  }),
  SERVER_COMMAND_MS: durationMs({
    desc: 'Time after which a server fails if its join command was not run. It counts from the adoption, the assignment to a node pool or the last issued command, whichever is latest.',
    min: 1_000,
    default: 604_800_000,
  }),
  SERVER_DRAIN_MS: durationMs({
    desc: 'Maximum drain time before a leaving server’s node is deleted with its remaining pods.',
    min: 0,
    default: 600_000,
  }),
  AUDIT_RETENTION_DAYS: integer({
    desc: 'Retention of the audit log in days, together with the actions and ended demos in it.',
    min: retentionLimits.auditDaysMin,
    max: retentionLimits.auditDaysMax,
    default: retentionLimits.auditDays,
  }),
  ...webhookVariables,
  ...mailVariables,
  HOST: text({ default: '::', desc: 'Address to listen on.' }),
  METRICS_PORT: portOrFree({ desc: 'Port of /metrics, /healthz and /readyz.', default: 9091 }),
  SHUTDOWN_GRACE_MS: durationMs({ desc: 'Maximum time for a graceful shutdown.', min: 1_000, default: 10_000 }),
};

/** Milliseconds between two checks whether actions may be polled. A check costs no upstream call. */
const LOOK_UP_CHECK_MS = 4_000;

export const intervalsOf = (config: Config<typeof reconcilerConfig>): Intervals => ({
  sweep: config.RECONCILE_SWEEP_INTERVAL_MS,
  verify: config.CONNECTION_VERIFY_INTERVAL_MS,
  sync: config.DNS_SYNC_INTERVAL_MS,
  settle: config.DNS_SETTLE_INTERVAL_MS,
  lookUp: Math.min(LOOK_UP_CHECK_MS, config.DNS_ACTION_INTERVAL_MS),
  demos: config.DEMO_INTERVAL_MS,
  mails: config.MAIL_INTERVAL_MS,
});
