import { type Pool, rowClock } from '@corral/database';

/** A task that one process of the installation does at a time, by a row that names the process and until when. */
export const leadershipStore = (pool: Pool) => ({
  /** Takes the task when nobody has it, and keeps it for those who do. @returns whether it is ours for `leaseMs` */
  async hold(name: string, holder: string, leaseMs: number): Promise<boolean> {
    const { rowCount } = await pool.query(
      `INSERT INTO leadership (name, holder, until)
       VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3::float8 / 1000))
       ON CONFLICT (name) DO UPDATE
       SET holder = excluded.holder, until = excluded.until,
           fence = leadership.fence + CASE WHEN leadership.holder = excluded.holder THEN 0 ELSE 1 END
       WHERE leadership.holder = excluded.holder OR leadership.until <= ${rowClock}`,
      [name, holder, leaseMs],
    );
    return rowCount === 1;
  },

  /** Leaves the task to whoever asks next. */
  async giveUp(name: string, holder: string): Promise<void> {
    await pool.query('UPDATE leadership SET until = clock_timestamp() WHERE name = $1 AND holder = $2', [name, holder]);
  },
});
export type LeadershipStore = ReturnType<typeof leadershipStore>;
