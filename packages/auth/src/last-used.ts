import type { Pool } from '@corral/database';

export interface LastUsedRecorder {
  note(tokenId: string): void;
  /** Writes what is left and stops. */
  close(): Promise<void>;
}

const FLUSH_MS = 10_000;

/** Keeps when each token was last used, in one statement per interval whatever the traffic. A crash loses one interval. */
export function lastUsedRecorder(pool: Pool, onError: (error: Error) => void): LastUsedRecorder {
  let used = new Map<string, Date>();
  const flush = async (): Promise<void> => {
    if (used.size === 0) return;
    const batch = used;
    used = new Map();
    try {
      await pool.query(
        `UPDATE dns_token SET last_used_at = GREATEST(last_used_at, batch.at)
         FROM unnest($1::uuid[], $2::timestamptz[]) AS batch(id, at) WHERE dns_token.id = batch.id`,
        [[...batch.keys()], [...batch.values()]],
      );
    } catch (error) {
      for (const [id, at] of batch) if (!used.has(id)) used.set(id, at);
      onError(error as Error);
    }
  };
  const timer = setInterval(() => void flush(), FLUSH_MS).unref();
  return {
    note: (tokenId) => void used.set(tokenId, new Date()),
    close: async () => {
      clearInterval(timer);
      await flush();
    },
  };
}
