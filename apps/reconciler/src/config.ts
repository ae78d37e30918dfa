import { retentionLimits } from '@corral/contracts';
import { gardenFeaturesVariable } from '@corral/garden';
import { secretKeys } from '@corral/secrets';
import {
  durationMs,
  gardenVariables,
  installationVariables,
  integer,
  portOrFree,
  text,
  upstreamVariables,
} from '@corral/service';
import { mailVariables } from './mail/mail-variables.js';

/** The variables of the reconciler. Clusters are worked on when a garden is given. */
export const reconcilerConfig = {
  ...installationVariables,
  ...upstreamVariables,
  ...gardenVariables,
  GARDEN_FEATURES: gardenFeaturesVariable,
  GARDEN_NETWORKING_TYPE: text({ default: 'calico', desc: 'Networking extension of new clusters.' }),
  GARDEN_RELIST_INTERVAL_MS: durationMs({
    desc: 'How often all Shoots are listed, which finds what the watch did not tell. One run costs a call per 500.',
    min: 1_000,
    default: 600_000,
  }),
  NODE_COUNT_INTERVAL_MS: durationMs({
    desc: 'How often nodes of clusters without news are counted. Each count is a call of the cluster’s own API server.',
    min: 1_000,
    default: 300_000,
  }),
  SECRET_KEYS: secretKeys({
    desc: 'Keys that open the provider tokens of connections; needed with a garden.',
    default: undefined,
    requiredWhen: ({ GARDEN_KUBECONFIG, GARDEN_IN_CLUSTER }) =>
      GARDEN_KUBECONFIG !== undefined || GARDEN_IN_CLUSTER === true,
  }),
  RECONCILE_CONCURRENCY: integer({
    desc: 'Clusters that one process works on at the same time, while the garden is well.',
    min: 1,
    max: 256,
    default: 16,
  }),
  RECONCILE_LEASE_MS: durationMs({
    desc: 'After so long without a sign of life of its process a cluster is taken up by another one.',
    min: 1_000,
    default: 15_000,
  }),
  RECONCILE_SWEEP_INTERVAL_MS: durationMs({
    desc: 'How often clusters are looked for that are due and whose wake-up was lost. Looking costs no call of the garden.',
    min: 100,
    default: 5_000,
  }),
  CONNECTION_VERIFY_INTERVAL_MS: durationMs({
    desc: 'How often connections are looked for whose token is to be shown to the provider, or whose prices are to be read.',
    min: 100,
    default: 5_000,
  }),
  DNS_SYNC_INTERVAL_MS: durationMs({
    desc: 'How often the mirror is compared with the whole zone. One run costs an upstream call per 100 record sets.',
    min: 1_000,
    default: 600_000,
  }),
  DNS_SETTLE_INTERVAL_MS: durationMs({
    desc: 'How often writes of unknown outcome are looked for. Looking costs no upstream call.',
    min: 100,
    default: 5_000,
  }),
  DNS_ACTION_INTERVAL_MS: durationMs({
    desc: 'Shortest time between two upstream calls for actions that no client asks for, 50 of them in one call.',
    min: 100,
    default: 10_000,
  }),
  DEMO_ZONE_NAME: text({
    desc: 'The zone of the demos: its mirror is kept true as well.',
    default: undefined,
    example: 'demo.example.org',
  }),
  DEMO_INTERVAL_MS: durationMs({
    desc: 'How often demos are looked for whose time is over, and what is left of them. Looking costs no upstream call.',
    min: 100,
    default: 5_000,
  }),
  JOB_LOCK_MS: durationMs({
    desc: 'After so long without a sign of life a reconciler counts as dead, and another one gets its jobs.',
    min: 1_000,
    default: 5_000,
  }),
  SERVER_CONCURRENCY: integer({
    desc: 'Adopted servers that one process works on at the same time.',
    min: 1,
    max: 256,
    default: 8,
  }),
  SERVER_IMAGE: text({
    desc: 'Name of the provider’s system image that adopted servers are rebuilt with.',
    default: 'ubuntu-24.04',
  }),
  SERVER_REBUILD_GRACE_MS: durationMs({
    desc: 'How long after it was sent a request for a rebuild may still arrive: it is not repeated before. At least twice UPSTREAM_TIMEOUT_MS.',
    min: 1_000,
    default: 60_000,
  }),
  SERVER_ADOPTION_MAX_MS: durationMs({
    desc: 'After so long an adoption that has not ended fails.',
    min: 1_000,
    default: 3_600_000,
  }),
  SERVER_JOIN_MS: durationMs({
    desc: 'After so long a server that has not become a Ready node of its cluster fails.',
    min: 1_000,
    default: 1_800_000,
  }),
  SERVER_COMMAND_MS: durationMs({
    desc: 'After so long a server fails whose join command nobody has run: since its adoption, since a node pool draws on it, and since the last command was issued.',
    min: 1_000,
    default: 604_800_000,
  }),
  SERVER_DRAIN_MS: durationMs({
    desc: 'For so long a server that leaves its cluster is drained before its node is deleted with what is left on it.',
    min: 0,
    default: 600_000,
  }),
  AUDIT_RETENTION_DAYS: integer({
    desc: 'For how many days the audit log is kept, with the actions and ended demos that it tells of.',
    min: retentionLimits.auditDaysMin,
    max: retentionLimits.auditDaysMax,
    default: retentionLimits.auditDays,
  }),
  ...mailVariables,
  HOST: text({ default: '::', desc: 'Address to listen on.' }),
  METRICS_PORT: portOrFree({ desc: 'Port of /metrics, /healthz and /readyz.', default: 9091 }),
  SHUTDOWN_GRACE_MS: durationMs({ desc: 'Longest time that an orderly end takes.', min: 1_000, default: 10_000 }),
};
