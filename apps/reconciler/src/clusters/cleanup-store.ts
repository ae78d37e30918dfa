import { type Pool, rowClock } from '@corral/database';

/** Credentials on the garden that nobody wants any more. */
export interface DueCleanup {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  /** How often they were still there, or nobody could tell. */
  readonly failures: number;
}

export const cleanupStore = (pool: Pool) => ({
  /** Takes what is to be cleaned up, due longest first; it comes again after `retryMs` unless an outcome is recorded. */
  async claimDue(limit: number, retryMs: number): Promise<DueCleanup[]> {
    const { rows } = await pool.query<DueCleanup>(
      `UPDATE garden_cleanup SET due_at = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
       WHERE id IN (SELECT id FROM garden_cleanup WHERE due_at <= ${rowClock}
                    ORDER BY due_at, id LIMIT $1 FOR UPDATE SKIP LOCKED)
       RETURNING id, namespace, name, failures`,
      [limit, retryMs],
    );
    return rows;
  },

  /** They are gone, and so is the reason to look. */
  async recordGone({ id }: DueCleanup): Promise<void> {
    await pool.query('DELETE FROM garden_cleanup WHERE id = $1', [id]);
  },

  async recordFailure({ id }: DueCleanup, againMs: number): Promise<void> {
    await pool.query(
      `UPDATE garden_cleanup
       SET failures = failures + 1, due_at = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
       WHERE id = $1`,
      [id, againMs],
    );
  },
});
export type CleanupStore = ReturnType<typeof cleanupStore>;
