import { durationMs, installationVariables, portOrFree, upstreamVariables } from '@corral/service';

/** The variables of the reconciler. */
export const reconcilerConfig = {
  ...installationVariables,
  ...upstreamVariables,
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
  DNS_SETTLE_GRACE_MS: durationMs({
    desc: 'How long after an accepted write the upstream may not show it yet.',
    default: 60_000,
  }),
  JOB_LOCK_MS: durationMs({
    desc: 'After so long without a sign of life a reconciler counts as dead, and another one gets its jobs.',
    min: 1_000,
    default: 5_000,
  }),
  METRICS_PORT: portOrFree({ desc: 'Port of /metrics, /healthz and /readyz.', default: 9091 }),
  SHUTDOWN_GRACE_MS: durationMs({ desc: 'Longest time that an orderly end takes.', min: 1_000, default: 10_000 }),
};
