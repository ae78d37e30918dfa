import { randomBytes, randomUUID } from 'node:crypto';
import { retentionLimits } from '@corral/contracts';
import type { Pool } from '@corral/database';
import { type RetentionRule, retentionRules, sweepRetention } from '@corral/database';
import { silentLog } from '@corral/service';

export const ZONE_ID = 7001;

/** The actual rules with two rows per step, so that there are several steps. */
export const smallSteps = (): RetentionRule[] =>
  retentionRules({ auditDays: retentionLimits.auditDays }).map((rule) => ({ ...rule, limit: 2 }));

export const sweep = (
  pool: Pool,
  { signal = new AbortController().signal, rules = smallSteps() as readonly RetentionRule[] } = {},
) => sweepRetention({ pool, rules, onSwept: () => undefined, log: silentLog })(signal);

/** Inserts rows in the past, by a Postgres interval such as `49 hours`. */
export function oldRows(pool: Pool) {
  const insert = async <T = string>(text: string, values: unknown[]): Promise<T> =>
    (await pool.query(`${text} RETURNING id`, values)).rows[0]?.id;
  return {
    team: (slug = `t${randomUUID().slice(0, 8)}`) => insert('INSERT INTO team (slug) VALUES ($1)', [slug]),
    user: () => insert('INSERT INTO app_user (email) VALUES ($1)', [`${randomUUID()}@acme.test`]),
    zone: () =>
      pool.query(`INSERT INTO dns_zone (id, name, body, synced_at) VALUES ($1, 'example.test', '{}', now())`, [
        ZONE_ID,
      ]),
    token: (teamId: string) =>
      insert(`INSERT INTO dns_token (team_id, name, hash, scopes) VALUES ($1, 'ci', $2, '{dns}')`, [
        teamId,
        randomBytes(32),
      ]),
    entry: (teamId: string, tokenId: string, age: string, more: { state?: string; recheckAt?: string | null } = {}) =>
      insert<number>(
        `INSERT INTO dns_audit_entry (team_id, actor, token_id, zone_id, name, type, operation, state, recheck_at,
                                      lease_until, created_at, completed_at)
         VALUES ($1, 'token', $2, $3, $4, 'A', 'create', $5, $6::timestamptz, now(), now() - $7::interval, now())`,
        [teamId, tokenId, ZONE_ID, randomUUID(), more.state ?? 'completed', more.recheckAt ?? null, age],
      ),
    action: (entryId: number, teamId: string, age: string) =>
      pool.query(
        `INSERT INTO dns_action (id, team_id, audit_entry_id, status, body, started_at)
         VALUES ($1::bigint, $2, $1::bigint, 'success', '{}', now() - $3::interval)`,
        [entryId, teamId, age],
      ),
    /** One that ended at this age, or has been open for ten years. */
    operation: (teamId: string, targetId: string, age: string | null) =>
      insert(
        `INSERT INTO operation (team_id, kind, target_kind, target_id, target_name, generation, state, progress, desired_hash,
                                created_at, finished_at)
         VALUES ($1, 'cluster.update', 'Cluster', $2, 'web', 1,
                 (CASE WHEN $3::interval IS NULL THEN 'running' ELSE 'succeeded' END)::operation_state,
                 CASE WHEN $3::interval IS NULL THEN 0 ELSE 100 END, '',
                 now() - COALESCE($3::interval, '10 years'), now() - $3::interval)`,
        [teamId, targetId, age],
      ),
    /** A demo that ended at this age, with a token and one audit entry. */
    async demo(teamId: string, age: string) {
      const id = await insert(
        `INSERT INTO demo (zone_id, label, name, team_id, ttl_seconds, created_at, expires_at, ended_at, clear_at,
                           released_at)
         SELECT $1, $2, 'Shop', $3, 300, at, at, at, at, at FROM (SELECT now() - $4::interval AS at) AS ended`,
        [ZONE_ID, `d${randomUUID().slice(0, 8)}`, teamId, age],
      );
      const tokenId = await insert(
        `INSERT INTO dns_token (demo_id, name, hash, scopes, revoked_at) VALUES ($1, 'd', $2, '{dns}', now() - $3::interval)`,
        [id, randomBytes(32), age],
      );
      const entryId = await insert<number>(
        `INSERT INTO dns_audit_entry (team_id, demo_id, actor, token_id, zone_id, name, type, operation, state, created_at)
         VALUES ($1, $2, 'token', $3, $4, 'shop', 'DEMO', 'create', 'completed', now() - $5::interval)`,
        [teamId, id, tokenId, ZONE_ID, age],
      );
      return { id, tokenId, entryId };
    },
  };
}
