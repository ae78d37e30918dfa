import { readFileSync } from 'node:fs';
import { describeNeeding } from '@corral/testing';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { complaintsOfPromtool, missingProgram } from '../../support/prometheus.js';
import { builtFile } from '../../support/system/program.js';

/*
 * A healthy installation as its series, and what changes in them in an outage. After an hour of health each outage lasts for an hour: it
 * has to fire its page, and no other one. Promtool plays a Prometheus that watches them all, each as an installation of its own.
 */

const file = builtFile('infra/monitoring/rules.yaml');
const HEALTHY_MINUTES = 60;
const OUTAGE_MINUTES = 60;

const requests = (labels: string): string => `corral_http_request_duration_seconds_count{${labels}}`;
const writes = (status: string) =>
  requests(`service="dns-gateway", route="/v1/zones/:zone/rrsets", method="POST", status="${status}"`);
const reads = (status: string) =>
  requests(`service="dns-gateway", route="/v1/zones/:zone/rrsets", method="GET", status="${status}"`);
const ofClusters = (status: string) =>
  requests(`service="cluster-api", route="/api/v1/teams/:team/clusters/", method="GET", status="${status}"`);
const up = (service: string) => `corral_build_info{service="${service}"}`;
const answers = (service: string, dependency: string) =>
  `corral_dependency_up{service="${service}", dependency="${dependency}"}`;

/** Each series as its first value and its growth per minute. */
const healthy: Readonly<Record<string, readonly [value: number, perMinute: number]>> = {
  [up('dns-gateway')]: [1, 0],
  [up('cluster-api')]: [1, 0],
  [up('reconciler')]: [1, 0],
  [answers('dns-gateway', 'database')]: [1, 0],
  [answers('cluster-api', 'database')]: [1, 0],
  [answers('reconciler', 'database')]: [1, 0],
  [answers('reconciler', 'queue')]: [1, 0],
  [writes('201')]: [0, 60],
  [writes('503')]: [0, 0],
  [reads('200')]: [0, 600],
  [reads('503')]: [0, 0],
  [ofClusters('200')]: [0, 60],
  [ofClusters('503')]: [0, 0],
  'corral_upstream_budget_left_requests{service="reconciler"}': [3_000, 0],
  'corral_upstream_budget_limit_requests{service="reconciler"}': [3_600, 0],
  corral_dns_sync_age_seconds: [120, 0],
  corral_dns_sync_interval_seconds: [600, 0],
  corral_dns_settle_backlog_seconds: [0, 0],
  corral_dns_write_pending_age_seconds: [0, 0],
  corral_reconcile_due_age_seconds: [0, 0],
  corral_server_due_age_seconds: [0, 0],
  corral_reconcile_places: [4, 0],
  corral_reconcile_watching: [1, 0],
  'corral_operations_ended_total{kind="cluster.create", outcome="succeeded"}': [100, 1],
  'corral_operations_ended_total{kind="cluster.create", outcome="failed_platform"}': [3, 0],
  'corral_operations_late_total{kind="cluster.create", outcome="succeeded"}': [2, 0],
  'corral_dns_writes_total{outcome="forbidden"}': [0, 0],
  'corral_requests_refused_total{service="dns-gateway"}': [0, 0],
  'corral_database_waiting{service="dns-gateway", pool="reads"}': [0, 0],
  'corral_dns_drift_total{kind="changed"}': [0, 0],
  'corral_mails_total{outcome="failed"}': [0, 0],
  corral_event_teams_held: [0, 0],
  corral_hold_age_seconds: [0, 0],
  corral_backup_age_seconds: [3_600, 0],
};
// Gateways report the budget, too.
const ofReconciler = Object.keys(healthy).filter(
  (series) =>
    !series.includes('_budget_') &&
    /reconcil|_dns_sync|_dns_settle|_pending|_server_|_operations_|_hold_|_backup_|_mails/.test(series),
);
const ofPostgres = ofReconciler.filter((series) => /_age_|_backlog_|_operations_/.test(series));

/** What a series does in the outage: a value and its growth per minute, or null if it is gone. */
type Changes = Readonly<Record<string, readonly [value: number, perMinute: number] | null>>;

const gone = (series: readonly string[]): Changes => Object.fromEntries(series.map((name) => [name, null]));

type Outage = readonly [name: string, alert: string, severity: string, changes: Changes];

const outages: readonly Outage[] = [
  [
    'all gateways are dead',
    'CorralServiceDown',
    'page',
    gone(Object.keys(healthy).filter((series) => series.includes('"dns-gateway"'))),
  ],
  [
    'the cluster API is dead',
    'CorralServiceDown',
    'page',
    gone(Object.keys(healthy).filter((series) => series.includes('"cluster-api"'))),
  ],
  ['all reconcilers are dead', 'CorralServiceDown', 'page', gone(ofReconciler)],
  [
    'Postgres is away',
    'CorralPostgresAway',
    'page',
    {
      ...gone(ofPostgres),
      [answers('dns-gateway', 'database')]: [0, 0],
      [answers('cluster-api', 'database')]: [0, 0],
      [answers('reconciler', 'database')]: [0, 0],
      [answers('reconciler', 'queue')]: [0, 0],
      [writes('503')]: [0, 60],
      [reads('503')]: [0, 600],
      [ofClusters('503')]: [0, 60],
    },
  ],
  [
    'Redis is away',
    'CorralRedisAway',
    'page',
    { [answers('reconciler', 'queue')]: [0, 0], corral_reconcile_due_age_seconds: [0, 60] },
  ],
  ['writes fail', 'CorralDnsWritesFailing', 'page', { [writes('503')]: [0, 6] }],
  ['reads fail', 'CorralDnsReadsFailing', 'page', { [reads('503')]: [0, 60] }],
  ['the cluster API fails', 'CorralClusterApiFailing', 'page', { [ofClusters('503')]: [0, 6] }],
  [
    'the budget is used up',
    'CorralUpstreamBudgetExhausted',
    'page',
    { 'corral_upstream_budget_left_requests{service="reconciler"}': [3, 0] },
  ],
  ['the zone is not synced', 'CorralDnsSyncStale', 'page', { corral_dns_sync_age_seconds: [600, 60] }],
  ['writes stay unknown', 'CorralDnsWritesUnsettled', 'page', { corral_dns_write_pending_age_seconds: [0, 60] }],
  ['clusters stay due', 'CorralWorkOverdue', 'page', { corral_reconcile_due_age_seconds: [0, 60] }],
  ['the garden is away', 'CorralGardenUnreachable', 'page', { corral_reconcile_watching: [0, 0] }],
  [
    'operations fail',
    'CorralOperationsMissed',
    'page',
    { 'corral_operations_ended_total{kind="cluster.create", outcome="failed_platform"}': [3, 1] },
  ],
  ['a report is missing', 'CorralReportsMissing', 'page', { corral_dns_sync_age_seconds: null }],
  [
    'requests are refused',
    'CorralRequestsRefused',
    'ticket',
    { 'corral_requests_refused_total{service="dns-gateway"}': [0, 10] },
  ],
  [
    'the pool is too small',
    'CorralPoolWaits',
    'ticket',
    { 'corral_database_waiting{service="dns-gateway", pool="reads"}': [30, 0] },
  ],
  ['record sets drift', 'CorralDrift', 'ticket', { 'corral_dns_drift_total{kind="changed"}': [0, 1] }],
  ['live changes are held', 'CorralEventsHeld', 'ticket', { corral_event_teams_held: [2, 0] }],
  ['mails fail', 'CorralMailsFailing', 'ticket', { 'corral_mails_total{outcome="failed"}': [0, 1] }],
  ['a hold stays open', 'CorralHoldOpen', 'ticket', { corral_hold_age_seconds: [3_600, 60] }],
  ['backups stop', 'CorralBackupOld', 'ticket', { corral_backup_age_seconds: [100_000, 60] }],
];
const isPage = ([, , severity]: Outage): boolean => severity === 'page';

/** Writes a series in promtool's notation. A counter goes on from where it was. */
function valuesOf(series: string, changes: Changes): string {
  const [value, perMinute] = healthy[series] as readonly [number, number];
  const before = `${value}+${perMinute}x${HEALTHY_MINUTES}`;
  const change = changes[series];
  if (change === undefined) return `${value}+${perMinute}x${HEALTHY_MINUTES + OUTAGE_MINUTES}`;
  if (change === null) return `${before} stale`;
  const isCounter = /_(total|count)\b/.test(series);
  const start = isCounter ? value + perMinute * HEALTHY_MINUTES : change[0];
  return `${before} ${start}+${isCounter ? change[1] || perMinute : change[1]}x${OUTAGE_MINUTES}`;
}

/** The series of an installation, by the label that scrapes add. */
function ofInstallation(name: string, changes: Changes): { series: string; values: string }[] {
  const label = `installation="${name}"`;
  return Object.keys(healthy).map((series) => ({
    series: series.endsWith('}') ? series.replace('}', `, ${label}}`) : `${series}{${label}}`,
    values: valuesOf(series, changes),
  }));
}

/** The alerts of a severity that have fired at some time in an outage, and those that should have. */
const fired = (severity: string, installation: string, expected: readonly Outage[]) => ({
  expr: `count by (installation, alertname) (max_over_time(
    ALERTS{alertstate="firing", severity=~"${severity}", installation=~"${installation}"}[${OUTAGE_MINUTES}m]))`,
  eval_time: `${HEALTHY_MINUTES + OUTAGE_MINUTES}m`,
  exp_samples: expected.map(([name, alertname]) => ({
    labels: `{installation="${name}", alertname="${alertname}"}`,
    value: 1,
  })),
});

describeNeeding(describe, missingProgram('promtool'), 'promtool', () => {
  it('sees the alert of each outage and nothing else that is as urgent, and none in a healthy installation', () => {
    // A page may have tickets beside it: what it costs the error budget.
    const [paging, others] = [outages.filter(isPage), outages.filter((each) => !isPage(each))];
    const test = {
      interval: '1m',
      input_series: [['healthy', '', '', {}] as const, ...outages].flatMap(([name, , , changes]) =>
        ofInstallation(name, changes),
      ),
      promql_expr_test: [
        fired('page', '.*', paging),
        fired('ticket', ['healthy', ...others.map(([name]) => name)].join('|'), others),
      ],
    };
    expect(complaintsOfPromtool('test', { rule_files: [file], evaluation_interval: '2m', tests: [test] })).toBe('');
  });
});

it('every page has an outage here that fires it', () => {
  const { groups } = parse(readFileSync(file, 'utf8')) as {
    groups: { rules: { alert?: string; labels?: { severity: string } }[] }[];
  };
  const paging = groups
    .flatMap(({ rules }) => rules)
    .flatMap(({ alert, labels }) => (alert !== undefined && labels?.severity === 'page' ? [alert] : []));
  const induced = new Set(outages.map(([, alert]) => alert));

  // This alert fires when there are no series at all: rules.test.yaml has the case.
  expect(paging.filter((alert) => !induced.has(alert))).toEqual(['CorralNothingScraped']);
});
