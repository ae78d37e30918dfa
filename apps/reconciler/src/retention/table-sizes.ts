import type { Pool } from '@corral/database';
import type { Metrics } from '@corral/service';

/** Our own tables, which bounds the labels: what else is in the database is somebody else's to watch. */
export const ownTables = [
  ...(['adopted_server', 'app_user', 'audit_entry', 'billing_event', 'cluster', 'connection', 'course_code'] as const),
  ...(['demo', 'dns_action', 'dns_action_poll', 'dns_audit_entry', 'dns_request_count', 'dns_rrset'] as const),
  ...(['dns_sync_run', 'dns_sync_seen', 'dns_token', 'dns_zone', 'garden_cleanup', 'idempotency_key'] as const),
  ...(['invitation', 'leadership', 'membership', 'node_pool', 'operation', 'price_list', 'service_process'] as const),
  ...([
    'session',
    'subscription',
    'team',
    'team_change_lock',
    'team_event',
    'upstream_budget',
    'user_identity',
  ] as const),
];

export interface TableSize {
  readonly table: string;
  /** As Postgres last estimated it: no row is counted for it. Null where it never did. */
  readonly rows: number | null;
  /** With its indexes and what is stored out of line. */
  readonly bytes: number;
}

const readSizes = {
  name: 'table-sizes',
  text: `SELECT relname AS table, nullif(reltuples, -1)::float8 AS rows, pg_total_relation_size(oid)::float8 AS bytes
         FROM pg_class
         WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname = ANY($1::text[])`,
};

export interface TableSizesOptions {
  /** Sizes are read no more often than this, however many scrape. */
  readonly everyMs: number;
  /** Milliseconds, of a clock that never goes back. */
  readonly now: () => number;
}

/**
 * The sizes of our tables, in one statement for all of them and at most once per interval. Reads that come while one is
 * under way share it.
 */
export function tableSizes(pool: Pick<Pool, 'query'>, { everyMs, now }: TableSizesOptions) {
  let last: { readonly at: number; readonly sizes: Promise<readonly TableSize[]> } | null = null;

  const read = async (): Promise<readonly TableSize[]> =>
    (await pool.query<TableSize>({ ...readSizes, values: [ownTables] })).rows;

  /** @throws what Postgres said, to all who wait for that answer; whoever asks next asks Postgres again */
  return (): Promise<readonly TableSize[]> => {
    if (last !== null && now() - last.at < everyMs) return last.sizes;
    const begun = { at: now(), sizes: read() };
    last = begun;
    begun.sizes.catch(() => {
      if (last === begun) last = null;
    });
    return begun.sizes;
  };
}

/** Every replica tells the same: sum over tables, not over processes. */
export function tableSizeMetrics(metrics: Metrics, read: () => Promise<readonly TableSize[]>): void {
  metrics.gauge({
    name: 'corral_table_rows',
    help: 'Rows of a table, as Postgres last estimated them',
    labelNames: ['table'],
    async collect() {
      this.reset();
      // Without the database there is no value: none is better than an old one.
      for (const { table, rows } of await read().catch(() => [])) {
        if (rows !== null) this.set({ table }, rows);
      }
    },
  });
  metrics.gauge({
    name: 'corral_table_bytes',
    help: 'Bytes of a table on disk, with its indexes and what is stored out of line',
    labelNames: ['table'],
    async collect() {
      this.reset();
      for (const { table, bytes } of await read().catch(() => [])) this.set({ table }, bytes);
    },
  });
}
