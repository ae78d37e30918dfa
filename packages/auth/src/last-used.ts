import type { Pool } from '@corral/database';
import type { SessionTimes } from './session-store.js';
import { type UseRecorder, useRecorder } from './use-recorder.js';

/** Keeps when each DNS token was last used. */
export function lastUsedRecorder(pool: Pool, onError: (error: Error) => void): UseRecorder {
  const text = `UPDATE dns_token SET last_used_at = GREATEST(last_used_at, batch.at)
                FROM unnest($1::uuid[], $2::timestamptz[]) AS batch(id, at) WHERE dns_token.id = batch.id`;
  return useRecorder((ids, times) => pool.query(text, [ids, times]), onError);
}

/** Moves the idle end of sessions in use. Never past their absolute end, and never back. */
export function sessionUseRecorder(
  pool: Pool,
  { idleMs }: Pick<SessionTimes, 'idleMs'>,
  onError: (error: Error) => void,
): UseRecorder {
  const text = `UPDATE session SET last_seen_at = GREATEST(last_seen_at, batch.at),
                  idle_expires_at = GREATEST(idle_expires_at,
                                             LEAST(expires_at, batch.at + $3::bigint * interval '1 ms'))
                FROM unnest($1::uuid[], $2::timestamptz[]) AS batch(id, at) WHERE session.id = batch.id`;
  return useRecorder((ids, times) => pool.query(text, [ids, times, idleMs]), onError);
}
