import type { Pool } from '@corral/database';
import type { SessionTimes } from './session-store.js';
import { type UseRecorder, useRecorder } from './use-recorder.js';

/**
 * SQL: what was used, and when by the database's clock. The rows are taken in the order of their ids, as by everybody who
 * writes many of them: two who take the same rows in two orders wait for each other for ever.
 */
const batchOf = (table: 'dns_token' | 'session') => `
  batch AS (
    SELECT used.id, (now() - age_ms * interval '1 ms')::timestamptz(3) AS at
    FROM unnest($1::uuid[], $2::float8[]) AS used(id, age_ms)
  ), held AS MATERIALIZED (
    SELECT id FROM ${table} WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE
  )`;

/** Keeps when each DNS token was last used. */
export function lastUsedRecorder(pool: Pool, onError: (error: Error) => void): UseRecorder {
  const text = `WITH ${batchOf('dns_token')}
                UPDATE dns_token SET last_used_at = GREATEST(last_used_at, batch.at)
                FROM held JOIN batch USING (id) WHERE dns_token.id = held.id`;
  return useRecorder((ids, agesMs) => pool.query(text, [ids, agesMs]), onError);
}

/** Moves the idle end of sessions in use. Never past their absolute end, and never back. */
export function sessionUseRecorder(
  pool: Pool,
  { idleMs }: Pick<SessionTimes, 'idleMs'>,
  onError: (error: Error) => void,
): UseRecorder {
  const text = `WITH ${batchOf('session')}
                UPDATE session SET last_seen_at = GREATEST(last_seen_at, batch.at),
                  idle_expires_at = GREATEST(idle_expires_at,
                                             LEAST(expires_at, batch.at + $3::bigint * interval '1 ms'))
                FROM held JOIN batch USING (id) WHERE session.id = held.id`;
  return useRecorder((ids, agesMs) => pool.query(text, [ids, agesMs, idleMs]), onError);
}
