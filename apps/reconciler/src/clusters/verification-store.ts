import { type ConnectionStanding, connectionMessages } from '@corral/contracts';
import { type Pool, rowClock } from '@corral/database';
import type { SealedToken } from '../loop/provider-token.js';

/** A connection whose token is to be shown to the provider. */
export interface DueVerification extends SealedToken {
  readonly tokenVersion: number;
  /** In a row, without a usable answer. */
  readonly failures: number;
}

export interface Verification {
  /** Null: nothing was learnt, and the connection stands as it did. */
  readonly standing: ConnectionStanding | null;
  /** Said in place of what the standing says; null for nothing. */
  readonly remark: string | null;
  readonly againMs: number;
}

export const verificationStore = (pool: Pool) => ({
  /** Takes connections that are to be verified; they come again after `retryMs` unless a verification is recorded. */
  async claimDue(limit: number, retryMs: number): Promise<DueVerification[]> {
    const { rows } = await pool.query<ConnectionRow>(
      `UPDATE connection SET verify_at = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
       WHERE id IN (SELECT id FROM connection WHERE verify_at <= ${rowClock}
                    ORDER BY verify_at, id LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED)
       RETURNING id, token_version, token_key_id, sealed_token, verify_failures`,
      [limit, retryMs],
    );
    return rows.map((row) => ({
      ...{ connectionId: row.id, tokenVersion: row.token_version, failures: row.verify_failures },
      ...{ keyId: row.token_key_id, sealed: row.sealed_token },
    }));
  },

  /**
   * Records what the provider said of a token. Of one that was replaced meanwhile nothing is recorded. The prices of a
   * connection that became ready are due.
   *
   * @returns whether the connection stands differently now
   */
  async record(due: DueVerification, { standing, remark, againMs }: Verification): Promise<boolean> {
    const message = remark ?? standing?.message ?? null;
    const { rows } = await pool.query<{ has_changed: boolean }>(
      `WITH recorded AS (
         UPDATE connection
         SET phase = coalesce($3::connection_phase, phase), message = said, project = coalesce($7::jsonb, project),
             verified_at = CASE WHEN $3 = 'Ready' THEN clock_timestamp() ELSE verified_at END,
             verify_failures = CASE WHEN $3 IS NULL THEN verify_failures + 1 ELSE 0 END,
             verify_at = clock_timestamp() + make_interval(secs => $5::float8 / 1000),
             updated_at = CASE WHEN has_changed OR message <> said THEN clock_timestamp() ELSE updated_at END
         FROM (SELECT id AS verified_id,
                      coalesce($4, CASE phase WHEN 'Unverified' THEN $6 ELSE message END) AS said,
                      phase <> coalesce($3::connection_phase, phase)
                        OR ($7::jsonb IS NOT NULL AND coalesce(project->>'readOnly', 'false')
                            <> coalesce($7::jsonb->>'readOnly', 'false')) AS has_changed
               FROM connection WHERE id = $1 AND token_version = $2 FOR NO KEY UPDATE) before
         WHERE id = verified_id
         RETURNING has_changed
       ), priced AS (
         UPDATE price_list SET due_at = clock_timestamp()
         WHERE connection_id = $1 AND $3 = 'Ready' AND (SELECT has_changed FROM recorded)
       )
       SELECT has_changed FROM recorded`,
      [
        ...[due.connectionId, due.tokenVersion, standing?.phase ?? null, message, againMs],
        ...[connectionMessages.Unverified, standing && JSON.stringify(standing.project)],
      ],
    );
    return rows[0]?.has_changed ?? false;
  },
});
export type VerificationStore = ReturnType<typeof verificationStore>;

interface ConnectionRow {
  id: string;
  token_version: number;
  token_key_id: string;
  sealed_token: Buffer;
  verify_failures: number;
}
