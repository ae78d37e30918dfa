import {
  type ClusterErrorCode,
  type ConnectionStanding,
  connectionMessages,
  type OperationWaiting,
} from '@corral/contracts';
import { type Pool, rowClock } from '@corral/database';
import { type OperationVerdict, operationValues } from '../loop/operation-verdict.js';
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
  /** What becomes of the operation of whoever asked for it. */
  readonly operation: OperationVerdict<ClusterErrorCode>;
  /** Why that does not get on; null when nothing is in its way. */
  readonly waiting: Omit<OperationWaiting, 'since'> | null;
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
   * Records what the provider said of a token. Of one that was replaced meanwhile nothing is recorded. An
   * operation that somebody waits for ends with what was said, and who asked meanwhile is answered by the next one. The prices of a
   * connection that became ready are due.
   *
   * @returns whether the connection stands differently now
   */
  async record(due: DueVerification, verification: Verification): Promise<boolean> {
    const { standing, remark, againMs, operation, waiting } = verification;
    const message = remark ?? standing?.message ?? null;
    const { rows } = await pool.query<{ has_changed: boolean }>(
      `WITH recorded AS (
         UPDATE connection
         SET phase = coalesce($3::connection_phase, phase), message = said, project = coalesce($7::jsonb, project),
             verified_at = CASE WHEN $3 = 'Ready' THEN clock_timestamp() ELSE verified_at END,
             verify_failures = CASE WHEN $3 IS NULL THEN verify_failures + 1 ELSE 0 END,
             verify_at = CASE WHEN asked_at <= clock_timestamp() THEN asked_at
                              ELSE clock_timestamp() + make_interval(secs => $5::float8 / 1000) END,
             updated_at = CASE WHEN has_changed OR message <> said THEN clock_timestamp() ELSE updated_at END
         FROM (SELECT id AS verified_id, verify_at AS asked_at,
                      coalesce($4, CASE phase WHEN 'Unverified' THEN $6 ELSE message END) AS said,
                      phase <> coalesce($3::connection_phase, phase)
                        OR ($7::jsonb IS NOT NULL AND coalesce(project->>'readOnly', 'false')
                            <> coalesce($7::jsonb->>'readOnly', 'false')) AS has_changed
               FROM connection WHERE id = $1 AND token_version = $2 FOR NO KEY UPDATE) before
         WHERE id = verified_id
         RETURNING has_changed
       ), operated AS (
         UPDATE operation
         SET state = $8::operation_state, progress = greatest(progress, $9), error = $10::jsonb,
             waiting = CASE WHEN waiting->>'reason' = $12::jsonb->>'reason' THEN waiting
                            ELSE $12::jsonb || jsonb_build_object('since', to_char(
                              clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) END,
             updated_at = clock_timestamp(), finished_at = CASE WHEN $11 THEN clock_timestamp() END
         FROM recorded
         WHERE target_kind = 'Connection' AND target_id = $1 AND state IN ('queued', 'running')
       ), priced AS (
         UPDATE price_list SET due_at = clock_timestamp()
         WHERE connection_id = $1 AND $3 = 'Ready' AND (SELECT has_changed FROM recorded)
       )
       SELECT has_changed FROM recorded`,
      [
        ...[due.connectionId, due.tokenVersion, standing?.phase ?? null, message, againMs],
        ...[connectionMessages.Unverified, standing && JSON.stringify(standing.project)],
        ...operationValues(operation),
        waiting && JSON.stringify(waiting),
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
