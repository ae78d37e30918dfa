import { type Pool, rowClock } from '@corral/database';

/** A cluster whose nodes are to be counted. */
export interface DueCount {
  readonly teamId: string;
  readonly id: string;
  /** Null when there is no API server that could be asked. */
  readonly shoot: { readonly namespace: string; readonly name: string } | null;
  /** Of all its pools. */
  readonly poolNames: readonly string[];
  /** Until when it is nobody else's. */
  readonly claimedUntil: Date;
}

/** By the name of the pool. */
export type NodeCounts = Readonly<Record<string, { readonly ready: number; readonly total: number }>>;

export const countStore = (pool: Pool) => ({
  /** Takes clusters that are due; they come again after `retryMs` unless a count is recorded. */
  async claimDue(limit: number, retryMs: number): Promise<DueCount[]> {
    const { rows } = await pool.query<DueRow>(
      `WITH claimed AS (
         UPDATE cluster SET nodes_due_at = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
         WHERE id IN (SELECT id FROM cluster WHERE nodes_due_at <= ${rowClock}
                      ORDER BY nodes_due_at, id LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED)
         RETURNING id, team_id, shoot_name, nodes_due_at,
                   observed->>'apiServer' IS NOT NULL AND phase <> 'Hibernated'
                     AND deletion_requested_at IS NULL AS is_up
       )
       SELECT claimed.*, team.project_namespace,
              ARRAY(SELECT name FROM node_pool WHERE cluster_id = claimed.id ORDER BY position) AS pool_names
       FROM claimed JOIN team ON team.id = claimed.team_id`,
      [limit, retryMs],
    );
    return rows.map((row) => ({
      ...{ teamId: row.team_id, id: row.id, poolNames: row.pool_names, claimedUntil: row.nodes_due_at },
      shoot:
        row.is_up && row.project_namespace !== null ? { namespace: row.project_namespace, name: row.shoot_name } : null,
    }));
  },

  /**
   * Keeps what was counted. Only other numbers than before change the entity tag. News that came meanwhile make the cluster
   * due all the same.
   *
   * @param count null: nobody could tell
   * @param againMs until the next count; null: not before there are news
   */
  async record(
    { teamId, id, claimedUntil }: DueCount,
    { counts, againMs }: { readonly counts: NodeCounts | null; readonly againMs: number | null },
  ): Promise<void> {
    await pool.query(
      `UPDATE cluster
       SET node_counts = $3::jsonb, revision = revision + differs::int,
           updated_at = CASE WHEN differs THEN clock_timestamp() ELSE updated_at END,
           nodes_due_at = CASE WHEN nodes_due_at IS DISTINCT FROM $4 THEN nodes_due_at
                               ELSE clock_timestamp() + make_interval(secs => $5::float8 / 1000) END
       FROM (SELECT id AS counted_id, node_counts IS DISTINCT FROM $3::jsonb AS differs
             FROM cluster WHERE team_id = $1 AND id = $2 FOR NO KEY UPDATE) before
       WHERE id = counted_id`,
      [teamId, id, counts && JSON.stringify(counts), claimedUntil, againMs],
    );
  },
});
export type CountStore = ReturnType<typeof countStore>;

interface DueRow {
  team_id: string;
  id: string;
  shoot_name: string;
  nodes_due_at: Date;
  is_up: boolean;
  project_namespace: string | null;
  pool_names: string[];
}
