import { clusterLimits, retentionLimits } from '@corral/contracts';

/** What goes from one table, and when. SQL is about the rows of `table`, by its name. */
export interface RetentionRule {
  readonly name: string;
  readonly table: string;
  /** The columns of its primary key. */
  readonly key: readonly string[];
  /** SQL: since when nobody needs the row. Where the table may be large, what an index is on. */
  readonly since: string;
  /** So long after `since` the row goes. */
  readonly days: number;
  /** SQL: what else has to hold. It may speak of `$cutoff`, the moment `days` ago. */
  readonly when?: string;
  /** SQL: what becomes of the row; without it, it is deleted. Afterwards `when` must not hold any more. */
  readonly set?: string;
  /** Rows per statement: few where many others refer to a row or wait for it. */
  readonly limit: number;
}

const auditBodies = ['request', 'upstream', 'found'] as const;
const bytesMax = retentionLimits.auditBodyBytes;
/** What an index has this very condition for. */
const isTooLong = (body: string): string => `octet_length(${body}_body) > ${bytesMax}`;
const cutWhole = (body: string): string => {
  const whole = `convert_to(dns_audit_entry.${body}_body, 'UTF8')`;
  return `${body}_bytes = CASE WHEN ${isTooLong(body)} THEN octet_length(${body}_body) ELSE ${body}_bytes END,
          ${body}_sha256 = CASE WHEN ${isTooLong(body)} THEN sha256(${whole}) ELSE ${body}_sha256 END,
          ${body}_body = cut_text(${body}_body, ${bytesMax})`;
};

const none = (from: string): string => `NOT EXISTS (SELECT FROM ${from})`;

/**
 * All of them, in the order in which they are applied: what refers to a row goes before it.
 *
 * @param auditDays for how long the audit log is kept
 */
export const retentionRules = ({ auditDays }: { readonly auditDays: number }): readonly RetentionRule[] => [
  {
    ...{ name: 'idempotency_keys', table: 'idempotency_key', key: ['team_id', 'user_id', 'key'] },
    ...{ since: 'created_at', days: retentionLimits.idempotencyKeyHours / 24, limit: 1_000 },
  },
  {
    ...{ name: 'request_counts', table: 'dns_request_count', key: ['team_id', 'minute', 'process_id'] },
    ...{ since: 'minute', days: retentionLimits.requestCountMinutes / 1_440, limit: 1_000 },
  },
  {
    ...{ name: 'team_events', table: 'team_event', key: ['id'] },
    ...{ since: 'created_at', days: clusterLimits.teamEventsKeptHours / 24, limit: 1_000 },
  },
  {
    ...{ name: 'billing_events', table: 'billing_event', key: ['id'] },
    ...{ since: 'received_at', days: retentionLimits.billingEventDays, limit: 1_000 },
  },
  {
    ...{ name: 'sessions', table: 'session', key: ['id'] },
    // No index: it would make every note of a session's use dearer, and sessions end within days.
    since: 'least(revoked_at, idle_expires_at, expires_at)',
    ...{ days: retentionLimits.sessionDays, limit: 1_000 },
  },
  {
    ...{ name: 'invitations', table: 'invitation', key: ['id'] },
    since: 'least(accepted_at, revoked_at, expires_at)',
    ...{ days: retentionLimits.invitationDays, limit: 1_000 },
  },
  {
    ...{ name: 'sync_runs', table: 'dns_sync_run', key: ['id'] },
    ...{ since: 'finished_at', days: retentionLimits.syncRunDays, limit: 1_000 },
    // The last one that succeeded says how old the mirror is, and that a walk is not the first.
    when: `EXISTS (SELECT FROM dns_sync_run AS later
                   WHERE later.zone_name = dns_sync_run.zone_name AND later.state = 'succeeded'
                     AND later.started_at > dns_sync_run.started_at)`,
  },
  {
    ...{ name: 'operations', table: 'operation', key: ['id'] },
    ...{ since: 'finished_at', days: retentionLimits.operationDays, limit: 500 },
    when: `${none('cluster WHERE id = operation.target_id')}
           AND ${none('adopted_server WHERE id = operation.target_id')}
           AND ${none('connection WHERE id = operation.target_id')}
           AND ${none(`operation AS later WHERE later.target_id = operation.target_id
                         AND (later.finished_at IS NULL OR later.finished_at >= $cutoff)`)}`,
  },
  {
    ...{ name: 'audit_entries', table: 'audit_entry', key: ['id'] },
    ...{ since: 'created_at', days: auditDays, limit: 1_000 },
  },
  {
    ...{ name: 'audit_bodies', table: 'dns_audit_entry', key: ['id'] },
    // Not at once: a settlement needs the whole request, and an answer that never arrived is told again.
    ...{ since: 'completed_at', days: retentionLimits.auditBodyWholeSeconds / 86_400, limit: 100 },
    when: `state <> 'pending' AND (${auditBodies.map(isTooLong).join(' OR ')})`,
    set: auditBodies.map(cutWhole).join(', '),
  },
  {
    ...{ name: 'dns_actions', table: 'dns_action', key: ['id'] },
    ...{ since: 'started_at', days: auditDays, limit: 1_000 },
  },
  {
    ...{ name: 'dns_audit_entries', table: 'dns_audit_entry', key: ['id'] },
    ...{ since: 'created_at', days: auditDays, limit: 1_000 },
    // Nobody else knows of a write under way, nor of a set that is still to be read again.
    when: `state <> 'pending' AND recheck_at IS NULL
           AND ${none('dns_action WHERE audit_entry_id = dns_audit_entry.id')}`,
  },
  {
    ...{ name: 'demo_tokens', table: 'dns_token', key: ['id'] },
    ...{ since: 'revoked_at', days: auditDays, limit: 500 },
    when: `demo_id IS NOT NULL AND ${none('dns_audit_entry WHERE token_id = dns_token.id')}`,
  },
  {
    ...{ name: 'demos', table: 'demo', key: ['id'] },
    ...{ since: 'released_at', days: auditDays, limit: 500 },
    when: `${none('dns_token WHERE demo_id = demo.id')} AND ${none('dns_audit_entry WHERE demo_id = demo.id')}
           AND ${none('dns_action WHERE demo_id = demo.id')}`,
  },
];
