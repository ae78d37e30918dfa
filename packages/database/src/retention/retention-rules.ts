import { clusterLimits, retentionLimits } from '@corral/contracts';

/** What is deleted from a table, and when. SQL refers to rows of `table` by its name. */
export interface RetentionRule {
  readonly name: string;
  readonly table: string;
  /** Primary key columns. Default: `id`. */
  readonly key?: readonly string[];
  /** SQL: when the row was last needed. Should be indexed in large tables. */
  readonly since: string;
  /** Retention after `since`, in days. */
  readonly days: number;
  /** SQL: an additional condition. May use `$cutoff`, the time `days` ago. */
  readonly when?: string;
  /** SQL assignments instead of a deletion. Afterwards `when` must be false. */
  readonly set?: string;
  /** Rows per statement. Small where many rows refer to a row or wait for it. Default: 1,000. */
  readonly limit?: number;
}

const auditBodies = ['request', 'upstream', 'found', 'before', 'after'] as const;
const bytesMax = retentionLimits.auditBodyBytes;
/** Matches the condition of an index exactly. */
const isTooLong = (body: string): string => `octet_length(${body}_body) > ${bytesMax}`;
const cutWhole = (body: string): string => {
  const whole = `convert_to(dns_audit_entry.${body}_body, 'UTF8')`;
  return `${body}_bytes = CASE WHEN ${isTooLong(body)} THEN octet_length(${body}_body) ELSE ${body}_bytes END,
          ${body}_sha256 = CASE WHEN ${isTooLong(body)} THEN sha256(${whole}) ELSE ${body}_sha256 END,
          ${body}_body = cut_text(${body}_body, ${bytesMax})`;
};

const none = (from: string): string => `NOT EXISTS (SELECT FROM ${from})`;

/**
 * All rules in the order of application: rows that refer to others are deleted first.
 *
 * @param auditDays retention of the audit log in days
 */
export const retentionRules = ({ auditDays }: { readonly auditDays: number }): readonly RetentionRule[] => [
  {
    name: 'idempotency_keys',
    table: 'idempotency_key',
    key: ['team_id', 'user_id', 'key'],
    since: 'created_at',
    days: retentionLimits.idempotencyKeyHours / 24,
  },
  {
    name: 'request_counts',
    table: 'dns_request_count',
    key: ['team_id', 'minute', 'process_id'],
    since: 'minute',
    days: retentionLimits.requestCountMinutes / 1_440,
  },
  {
    name: 'usage_hours',
    table: 'usage_hour',
    key: ['team_id', 'hour'],
    since: 'hour',
    days: retentionLimits.usageDays,
  },
  { name: 'team_events', table: 'team_event', since: 'created_at', days: clusterLimits.teamEventsKeptHours / 24 },
  { name: 'billing_events', table: 'billing_event', since: 'received_at', days: retentionLimits.billingEventDays },
  {
    name: 'sessions',
    table: 'session',
    // No index: it would slow down each update of a session's use, and sessions end within days.
    since: 'least(revoked_at, idle_expires_at, expires_at)',
    days: retentionLimits.sessionDays,
  },
  { name: 'device_sign_ins', table: 'device_sign_in', since: 'expires_at', days: retentionLimits.deviceSignInDays },
  {
    name: 'invitations',
    table: 'invitation',
    since: 'least(accepted_at, revoked_at, expires_at)',
    days: retentionLimits.invitationDays,
  },
  { name: 'notifications', table: 'notification', since: 'created_at', days: retentionLimits.notificationDays },
  {
    name: 'sync_runs',
    table: 'dns_sync_run',
    since: 'finished_at',
    days: retentionLimits.syncRunDays,
    // The last successful run determines the age of the mirror, and that the first import is done.
    when: `EXISTS (SELECT FROM dns_sync_run AS later
                   WHERE later.zone_name = dns_sync_run.zone_name AND later.state = 'succeeded'
                     AND later.started_at > dns_sync_run.started_at)`,
  },
  {
    name: 'operations',
    table: 'operation',
    since: 'finished_at',
    days: retentionLimits.operationDays,
    limit: 500,
    // Passes read the newest of each kind.
    when: `(${none('cluster WHERE id = operation.target_id')}
            AND ${none('adopted_server WHERE id = operation.target_id')}
            AND ${none('connection WHERE id = operation.target_id')}
            AND ${none(`operation AS later WHERE later.target_id = operation.target_id
                          AND (later.finished_at IS NULL OR later.finished_at >= $cutoff)`)}
            OR ${retentionLimits.operationsOfKindKept} = (
                 SELECT count(*) FROM (
                   SELECT FROM operation AS later
                   WHERE later.target_id = operation.target_id AND later.kind = operation.kind
                     AND (later.created_at, later.id) > (operation.created_at, operation.id)
                   LIMIT ${retentionLimits.operationsOfKindKept}) AS newer))`,
  },
  { name: 'audit_entries', table: 'audit_entry', since: 'created_at', days: auditDays },
  { name: 'addresses', table: 'team_address', since: 'gone_at', days: auditDays },
  { name: 'operator_acts', table: 'operator_act', since: 'created_at', days: auditDays },
  {
    name: 'audit_bodies',
    table: 'dns_audit_entry',
    // Delayed: a settlement needs the whole request, and a lost response may be replayed.
    since: 'completed_at',
    days: retentionLimits.auditBodyWholeSeconds / 86_400,
    limit: 100,
    when: `state <> 'pending' AND (${auditBodies.map(isTooLong).join(' OR ')})`,
    set: auditBodies.map(cutWhole).join(', '),
  },
  { name: 'dns_actions', table: 'dns_action', since: 'started_at', days: auditDays },
  {
    name: 'dns_audit_entries',
    table: 'dns_audit_entry',
    since: 'created_at',
    days: auditDays,
    // Pending writes and pending rechecks are recorded only here.
    when: `state <> 'pending' AND recheck_at IS NULL
           AND ${none('dns_action WHERE audit_entry_id = dns_audit_entry.id')}`,
  },
  {
    name: 'demo_tokens',
    table: 'dns_token',
    since: 'revoked_at',
    days: auditDays,
    limit: 500,
    when: `demo_id IS NOT NULL AND ${none('dns_audit_entry WHERE token_id = dns_token.id')}`,
  },
  {
    name: 'session_tokens',
    table: 'dns_token',
    since: 'expires_at',
    days: retentionLimits.sessionTokenDays,
    limit: 500,
    when: `session_id IS NOT NULL AND ${none('dns_audit_entry WHERE token_id = dns_token.id')}`,
  },
  {
    name: 'demos',
    table: 'demo',
    since: 'released_at',
    days: auditDays,
    limit: 500,
    when: `${none('dns_token WHERE demo_id = demo.id')} AND ${none('dns_audit_entry WHERE demo_id = demo.id')}
           AND ${none('dns_action WHERE demo_id = demo.id')}`,
  },
];

const CUTOFF = `(now() - $1::float8 * interval '1 day')`;

/** SQL: how many rows a rule matches now. `$1` is the rule's days. */
export const retentionCount = ({ table, since, when = 'true' }: RetentionRule): string =>
  `SELECT count(*)::float8 AS rows FROM ${table} WHERE ${since} < ${CUTOFF} AND ${when.replaceAll('$cutoff', CUTOFF)}`;

/**
 * The statement of one step. `$1` is the rule's days, `$2` the maximum number of rows. Locked rows are skipped, so concurrent
 * sweeps share the work and do not wait for each other.
 */
export function retentionStatement({ table, key = ['id'], since, when = 'true', set }: RetentionRule): string {
  const condition = when.replaceAll('$cutoff', CUTOFF);
  const same = key.map((column) => `${table}.${column} = due.${column}`).join(' AND ');
  // Materialized, because a plan that evaluates it twice would apply the limit to each evaluation.
  return `
    WITH due AS MATERIALIZED (
      SELECT ${key.join(', ')} FROM ${table}
      WHERE ${since} < ${CUTOFF} AND ${condition}
      LIMIT $2 FOR UPDATE OF ${table} SKIP LOCKED
    )
    ${set === undefined ? `DELETE FROM ${table} USING due` : `UPDATE ${table} SET ${set} FROM due`} WHERE ${same}`;
}
