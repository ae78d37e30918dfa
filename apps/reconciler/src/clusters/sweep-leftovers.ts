import type { Pool } from '@corral/database';
import type { Log } from '@corral/service';

/** Statements that delete up to `$1` rows each. Small ones, so that nobody waits long for a row or a connection. */
const leftovers = {
  // A request that is sent again after so long is a new one.
  idempotencyKeys: `DELETE FROM idempotency_key WHERE (team_id, user_id, key) IN (
      SELECT team_id, user_id, key FROM idempotency_key WHERE created_at < now() - interval '48 hours'
      LIMIT $1 FOR UPDATE SKIP LOCKED)`,
  // Kept for a while after their end, for questions about who was signed in.
  sessions: `DELETE FROM session WHERE id IN (
      SELECT id FROM session WHERE least(revoked_at, idle_expires_at, expires_at) < now() - interval '30 days'
      LIMIT $1 FOR UPDATE SKIP LOCKED)`,
  // Nobody sends an event for so long; and if so, what it states is older than what is known.
  billingEvents: `DELETE FROM billing_event WHERE id IN (
      SELECT id FROM billing_event WHERE received_at < now() - interval '90 days'
      LIMIT $1 FOR UPDATE SKIP LOCKED)`,
} as const;

const BATCH = 1_000;

export type Swept = Record<keyof typeof leftovers, number>;

/**
 * Deletes rows that nobody will ask for any more: idempotency keys after 48 hours, sessions 30 days after their end,
 * whether they were revoked, left idle, or ran out; ids of billing events after 90.
 *
 * @returns how many of each were deleted
 */
export const sweepLeftovers =
  ({ pool, log, batch = BATCH }: { readonly pool: Pool; readonly log: Log; readonly batch?: number }) =>
  async (signal: AbortSignal): Promise<Swept> => {
    const swept: Swept = { idempotencyKeys: 0, sessions: 0, billingEvents: 0 };
    for (const kind of Object.keys(leftovers) as (keyof Swept)[]) {
      for (let deleted = batch; deleted === batch && !signal.aborted; ) {
        deleted = (await pool.query(leftovers[kind], [batch])).rowCount ?? 0;
        swept[kind] += deleted;
      }
    }
    if (Object.values(swept).some((count) => count > 0)) log.info('leftovers swept', swept);
    return swept;
  };
