import type { Pool } from '@corral/database';
import type { SessionTimes } from './sessions/store.js';

/**
 * SQL for what was used and when, by the database's clock. Rows are locked in order of id, to avoid deadlocks with
 * other batches.
 */
const batchOf = (table: TokenTable | 'session') => `
  batch AS (
    SELECT used.id, (now() - age_ms * interval '1 ms')::timestamptz(3) AS at
    FROM unnest($1::uuid[], $2::float8[]) AS used(id, age_ms)
  ), held AS MATERIALIZED (
    SELECT id FROM ${table} WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE
  )`;

type TokenTable = 'dns_token' | 'service_account_token';

/** Records when each DNS token was last used. */
export const lastUsedRecorder = (pool: Pool, onError: (error: Error) => void): UseRecorder =>
  tokenUseRecorder('dns_token', pool, onError);

/** Records when each token of a service account was last used. */
export const accountTokenUseRecorder = (pool: Pool, onError: (error: Error) => void): UseRecorder =>
  tokenUseRecorder('service_account_token', pool, onError);

function tokenUseRecorder(table: TokenTable, pool: Pool, onError: (error: Error) => void): UseRecorder {
  const text = `WITH ${batchOf(table)}
                UPDATE ${table} SET last_used_at = GREATEST(last_used_at, batch.at)
                FROM held JOIN batch USING (id) WHERE ${table}.id = held.id`;
  return useRecorder((ids, agesMs) => pool.query(text, [ids, agesMs]), onError);
}

/** Extends the idle expiry of sessions in use, never beyond their absolute expiry and never backwards. */
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

export interface UseRecorder {
  note(id: string): void;
  /** Writes the rest and stops. */
  close(): Promise<void>;
}

const FLUSH_MS = 10_000;

/**
 * Records when things were last used, in one statement per interval whatever the traffic. A crash loses one interval.
 *
 * @param write takes the ids in order, and how many ms ago each was last used, because process clocks differ but
 *   elapsed time does not. Retried with the next interval when it fails
 */
function useRecorder(
  write: (ids: string[], agesMs: number[]) => Promise<unknown>,
  onError: (error: Error) => void,
): UseRecorder {
  let used = new Map<string, number>();
  const flush = async (): Promise<void> => {
    if (used.size === 0) return;
    const batch = used;
    used = new Map();
    try {
      const ids = [...batch.keys()].sort();
      const now = performance.now();
      await write(
        ids,
        ids.map((id) => now - (batch.get(id) as number)),
      );
    } catch (error) {
      for (const [id, at] of batch) if (!used.has(id)) used.set(id, at);
      onError(error as Error);
    }
  };
  const timer = setInterval(() => void flush(), FLUSH_MS).unref();
  return {
    note: (id) => void used.set(id, performance.now()),
    close: async () => {
      clearInterval(timer);
      await flush();
    },
  };
}
