import type { Pool } from '@corral/database';
import type { Lease } from './model.js';

/** What came of asking for a turn with a cluster. */
export type LeaseAnswer =
  | { readonly kind: 'taken'; readonly lease: Lease }
  /** Another pass has it. What made the cluster due meanwhile is served by that one or after it. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'not due'; readonly inMs: number }
  /** Gone, a draft, or waiting for nothing but news. */
  | { readonly kind: 'idle' };

/** How a pass gives its turn back. */
export interface TurnEnd {
  /** Until the next look, unless somebody makes the cluster due before; null when only news makes one worth while. */
  readonly lookAgainMs: number | null;
}

/** `again`: somebody made the cluster due during the pass, so it is due now. */
export type Released = { readonly kind: 'released'; readonly again: boolean } | { readonly kind: 'overtaken' };

/** A cluster that the sweep found, with where the sweep goes on after it. */
export interface DueCluster {
  readonly clusterId: string;
  readonly dueAt: Date;
}

/**
 * A cluster becomes one that is worked on with the first pool that the garden can have: without workers a Shoot could
 * never get any (see "workerless" in Gardener's documentation).
 */
const isStarted = `(started_at IS NOT NULL OR EXISTS (
  SELECT 1 FROM node_pool WHERE cluster_id = cluster.id AND maximum > 0))`;

const isFree = '(lease_until IS NULL OR lease_until <= clock_timestamp())';

/** Milliseconds from now, by the database's clock: those of the workers may disagree. */
const inMs = (parameter: string): string => `clock_timestamp() + make_interval(secs => ${parameter}::float8 / 1000)`;

/**
 * While a turn lasts, `due_at` equals `lease_until`. Whoever makes the cluster due writes another time, and that is how
 * the end of the turn knows.
 */
const untouched = 'due_at IS NOT DISTINCT FROM lease_until';

export const leaseStore = (pool: Pool) => ({
  /** Takes the turn of a cluster that is due. If the process dies, the cluster is due again when the lease ends. */
  async takeLease(clusterId: string, leaseMs: number): Promise<LeaseAnswer> {
    const { rows } = await pool.query<{ team_id: string; lease_fence: number }>(
      `UPDATE cluster
       SET lease_fence = lease_fence + 1, lease_until = turn.ends_at, due_at = turn.ends_at,
           started_at = coalesce(started_at, clock_timestamp())
       FROM (SELECT ${inMs('$2')} AS ends_at) turn
       WHERE id = $1 AND due_at <= clock_timestamp() AND ${isFree} AND ${isStarted}
       RETURNING team_id, lease_fence`,
      [clusterId, leaseMs],
    );
    const [taken] = rows;
    if (taken === undefined) return whyNot(pool, clusterId);
    return { kind: 'taken', lease: { teamId: taken.team_id, clusterId, fence: taken.lease_fence } };
  },

  /** @returns false when a later turn was given out: the pass must stop */
  async renewLease({ teamId, clusterId, fence }: Lease, leaseMs: number): Promise<boolean> {
    const { rowCount } = await pool.query(
      `UPDATE cluster
       SET lease_until = turn.ends_at, due_at = CASE WHEN ${untouched} THEN turn.ends_at ELSE due_at END
       FROM (SELECT ${inMs('$4')} AS ends_at) turn
       WHERE team_id = $1 AND id = $2 AND lease_fence = $3 AND lease_until IS NOT NULL`,
      [teamId, clusterId, fence, leaseMs],
    );
    return rowCount === 1;
  },

  /** Gives the turn back without a word about the cluster, as when it is the garden that is away. */
  async release({ teamId, clusterId, fence }: Lease, { lookAgainMs }: TurnEnd): Promise<Released> {
    const { rows } = await pool.query<{ again: boolean }>(
      `UPDATE cluster SET due_at = CASE WHEN turn.again THEN due_at ELSE ${inMs('$4')} END, lease_until = NULL
       FROM (SELECT id, NOT (${untouched}) AS again FROM cluster WHERE id = $2 FOR UPDATE) turn
       WHERE cluster.id = turn.id AND team_id = $1 AND lease_fence = $3 AND lease_until IS NOT NULL
       RETURNING again`,
      [teamId, clusterId, fence, lookAgainMs],
    );
    return rows[0] === undefined ? { kind: 'overtaken' } : { kind: 'released', again: rows[0].again };
  },

  /** Clusters that have been due for `forMs` and that nobody works on, those due longest first. */
  async findDue({ limit, forMs }: { limit: number; forMs: number }, after: DueCluster | null): Promise<DueCluster[]> {
    const { rows } = await pool.query<{ id: string; due_at: Date }>(
      `SELECT id, due_at FROM cluster
       WHERE due_at <= ${inMs('-$4')} AND ${isFree} AND ${isStarted}
         AND ($2::timestamptz IS NULL OR (due_at, id) > ($2, $3::uuid))
       ORDER BY due_at, id LIMIT $1`,
      [limit, after?.dueAt ?? null, after?.clusterId ?? null, forMs],
    );
    return rows.map(({ id, due_at }) => ({ clusterId: id, dueAt: due_at }));
  },

  /** For how long the cluster that has been due longest has been waiting; 0 when none is due. */
  async readDueAgeSeconds(): Promise<number> {
    const { rows } = await pool.query<{ seconds: number | null }>(
      `SELECT extract(epoch FROM clock_timestamp() - min(due_at))::float8 AS seconds
       FROM cluster WHERE due_at <= clock_timestamp() AND ${isFree} AND ${isStarted}`,
    );
    return rows[0]?.seconds ?? 0;
  },
});
export type LeaseStore = ReturnType<typeof leaseStore>;

async function whyNot(pool: Pool, clusterId: string): Promise<LeaseAnswer> {
  const { rows } = await pool.query<{ is_free: boolean; due_in_ms: number | null; is_started: boolean }>(
    `SELECT ${isFree} AS is_free, ${isStarted} AS is_started,
            ceil(extract(epoch FROM due_at - clock_timestamp()) * 1000)::float8 AS due_in_ms
     FROM cluster WHERE id = $1`,
    [clusterId],
  );
  const [row] = rows;
  if (row === undefined || !row.is_started) return { kind: 'idle' };
  if (!row.is_free) return { kind: 'busy' };
  return row.due_in_ms === null ? { kind: 'idle' } : { kind: 'not due', inMs: Math.max(1, row.due_in_ms) };
}
