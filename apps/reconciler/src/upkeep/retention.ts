import { type Pool, retentionRules, sweepRetention } from '@corral/database';
import type { Metrics } from '@corral/service';
import { withSignal } from '../loop/work.js';
import type { Services } from '../services.js';
import { countOperations, openOperationMetrics, operationEndMetrics } from './operations.js';
import { operatorMetrics } from './operator-metrics.js';

export interface RetentionOptions {
  readonly settings: {
    /** Retention of the audit log in days. */
    readonly auditDays: number;
  };
}

/** The least time between two reads of the sizes of tables, in milliseconds. */
const SIZES_INTERVAL_MS = 60_000;

/** Wires the sweep over rows past their retention, and the count of operations that end. */
export function buildRetentionWorkers(services: Services, { settings }: RetentionOptions) {
  const { pool, prisma, metrics, log } = services;
  const swept = metrics.counter({
    name: 'corral_retention_rows_total',
    help: 'Rows removed or shortened after their retention, by rule',
    labelNames: ['rule'],
  });
  openOperationMetrics(metrics, prisma);
  operationEndMetrics(metrics, prisma);
  operatorMetrics(metrics, prisma);
  tableSizeMetrics(metrics, tableSizes(pool));
  const sweep = sweepRetention({
    pool,
    rules: retentionRules(settings),
    log,
    onSwept: (rule, rows) => swept.inc({ rule }, rows),
  });
  return { handlers: { 'sweep-retention': withSignal(sweep), 'count-operations': withSignal(countOperations(pool)) } };
}

/** Corral's own tables. The list bounds the metric labels. */
export const ownTables = [
  'adopted_server',
  'app_user',
  'audit_entry',
  'billing_event',
  'cluster',
  'connection',
  'course_code',
  'demo',
  'device_sign_in',
  'dns_action',
  'dns_action_poll',
  'dns_audit_entry',
  'dns_request_count',
  'dns_rrset',
  'dns_sync_run',
  'dns_sync_seen',
  'dns_token',
  'dns_zone',
  'garden_cleanup',
  'hold_finding',
  'hosted_name',
  'idempotency_key',
  'installation_hold',
  'invitation',
  'leadership',
  'membership',
  'node_pool',
  'notification',
  'operation',
  'operation_total',
  'operator_act',
  'price_list',
  'service_account',
  'service_account_token',
  'service_process',
  'session',
  'sign_in_code',
  'subscription',
  'team',
  'team_address',
  'team_change_lock',
  'team_event',
  'trusted_issuer',
  'upstream_budget',
  'usage_hour',
  'user_identity',
  'webhook',
] as const;

interface TableSize {
  readonly table: string;
  /** Postgres's latest estimate, which needs no count. Null when there is none. */
  readonly rows: number | null;
  /** Including indexes and out-of-line storage. */
  readonly bytes: number;
}

const readSizes = {
  text: `SELECT relname AS table, nullif(reltuples, -1)::float8 AS rows, pg_total_relation_size(oid)::float8 AS bytes
         FROM pg_class
         WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname = ANY($1::text[])`,
};

/**
 * Sizes of our tables, read in one statement and at most once per interval. Concurrent reads share one result.
 */
export function tableSizes(pool: Pool) {
  let last: { readonly at: number; readonly sizes: Promise<readonly TableSize[]> } | null = null;

  const read = async (): Promise<readonly TableSize[]> =>
    (await pool.query<TableSize>({ ...readSizes, values: [ownTables] })).rows;

  /** @throws the error of Postgres, to all concurrent callers. The next call reads again */
  return (): Promise<readonly TableSize[]> => {
    if (last !== null && performance.now() - last.at < SIZES_INTERVAL_MS) return last.sizes;
    const begun = { at: performance.now(), sizes: read() };
    last = begun;
    begun.sizes.catch(() => {
      if (last === begun) last = null;
    });
    return begun.sizes;
  };
}

/** Every replica reports the same values: sum over tables, not over processes. */
export function tableSizeMetrics(metrics: Metrics, read: () => Promise<readonly TableSize[]>): void {
  metrics.gauge({
    name: 'corral_table_rows',
    help: 'Estimated number of rows in a table',
    labelNames: ['table'],
    async collect() {
      this.reset();
      // Without the database there is no value. A missing value is better than a stale one.
      for (const { table, rows } of await read().catch(() => [])) {
        if (rows !== null) this.set({ table }, rows);
      }
    },
  });
  metrics.gauge({
    name: 'corral_table_bytes',
    help: 'Size of a table on disk in bytes, with indexes and out-of-line storage',
    labelNames: ['table'],
    async collect() {
      this.reset();
      for (const { table, bytes } of await read().catch(() => [])) this.set({ table }, bytes);
    },
  });
}
