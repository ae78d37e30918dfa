import type { ConnectionPhase } from '@corral/contracts';
import type { Pool } from '@corral/database';

/** A connection whose token is to be shown to the provider. */
export interface DueVerification {
  readonly connectionId: string;
  readonly tokenVersion: number;
  readonly keyId: string;
  readonly sealed: Buffer;
  /** In a row, without a usable answer. */
  readonly failures: number;
}

export interface Verification {
  /** Null: it is not known, and stays as it was. */
  readonly phase: Exclude<ConnectionPhase, 'Unverified'> | null;
  readonly message: string;
  readonly againMs: number;
}

export const verificationStore = (pool: Pool) => ({
  /** Takes connections that are to be verified; they come again after `retryMs` unless a verification is recorded. */
  async claimDue(limit: number, retryMs: number): Promise<DueVerification[]> {
    const { rows } = await pool.query<ConnectionRow>(
      `UPDATE connection SET verify_at = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
       WHERE id IN (SELECT id FROM connection WHERE verify_at <= clock_timestamp()
                    ORDER BY verify_at, id LIMIT $1 FOR UPDATE SKIP LOCKED)
       RETURNING id, token_version, token_key_id, sealed_token, verify_failures`,
      [limit, retryMs],
    );
    return rows.map((row) => ({
      ...{ connectionId: row.id, tokenVersion: row.token_version, failures: row.verify_failures },
      ...{ keyId: row.token_key_id, sealed: row.sealed_token },
    }));
  },

  /**
   * Records what the provider said of a token. Of one that was replaced meanwhile nothing is recorded.
   *
   * @returns whether the connection stands differently now
   */
  async record(due: DueVerification, { phase, message, againMs }: Verification): Promise<boolean> {
    const { rows } = await pool.query<{ has_changed: boolean }>(
      `UPDATE connection
       SET phase = coalesce($3::connection_phase, phase), message = $4,
           verified_at = CASE WHEN $3 = 'Ready' THEN clock_timestamp() ELSE verified_at END,
           verify_failures = CASE WHEN $3 IS NULL THEN verify_failures + 1 ELSE 0 END,
           verify_at = clock_timestamp() + make_interval(secs => $5::float8 / 1000),
           updated_at = CASE WHEN has_changed OR message <> $4 THEN clock_timestamp() ELSE updated_at END
       FROM (SELECT id AS verified_id, phase <> coalesce($3::connection_phase, phase) AS has_changed
             FROM connection WHERE id = $1 AND token_version = $2 FOR UPDATE) before
       WHERE id = verified_id
       RETURNING has_changed`,
      [due.connectionId, due.tokenVersion, phase, message, againMs],
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
