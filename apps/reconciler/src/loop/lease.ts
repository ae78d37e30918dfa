import { asTeamId, type ClusterId, type ServerId, type TeamId } from '@corral/contracts';
import { type Pool, rowClock } from '@corral/database';
import type { Log } from '@corral/service';
import { causedByGarden, waitsForGarden } from '../clusters/judge/waiting.js';

/** Names a row that passes work on. */
export type LeasedId = ClusterId | ServerId;

/** The right to run one pass over a row. Writes take effect only while no later lease was granted. */
export interface PassLease<Id extends LeasedId = LeasedId> {
  readonly teamId: TeamId;
  readonly id: Id;
  readonly fence: number;
}

/** The result of taking the lease of a row. */
export type LeaseAnswer<Id extends LeasedId = LeasedId> =
  | { readonly kind: 'taken'; readonly lease: PassLease<Id> }
  /** Another pass has it. Work that became due in the meantime is done by that pass or the one after it. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'not due'; readonly inMs: number }
  /** The row is gone, not ready for work, or waits for an event only. */
  | { readonly kind: 'idle' };

/** The row of a lease that is still valid. */
export const ourRow = ({ teamId, id, fence: leaseFence }: PassLease) => {
  return { teamId, id, leaseFence, leaseUntil: { not: null } };
};
/** The same in SQL. `$1`, `$2` and `$3` are `leaseValues`. */
export const ours = 'team_id = $1 AND id = $2 AND lease_fence = $3 AND lease_until IS NOT NULL';
export const leaseValues = ({ teamId, id, fence }: PassLease): [string, string, number] => [teamId, id, fence];

/** What operations and audit entries call it. */
export const targetOf = ({ teamId, id }: PassLease) => ({ teamId, targetId: id });

/** How a pass releases its lease. */
interface PassDelay {
  /** Milliseconds until the next pass unless the row becomes due earlier. Null when no pass is needed before the next event. */
  readonly nextPassMs: number | null;
}

/** `again`: the row became due during the pass, so it is due now. */
export type Released = { readonly kind: 'released'; readonly again: boolean } | { readonly kind: 'overtaken' };

/** A row that the sweep found, with the position after which the sweep continues. */
export interface Due<Id extends LeasedId = LeasedId> {
  readonly id: Id;
  readonly dueAt: Date;
}

/** What passes work on: rows with `due_at`, `lease_until` and `lease_fence`. The texts are SQL of ours. */
interface LeasedTable<Id extends LeasedId> {
  readonly table: Id extends ClusterId ? 'cluster' : 'adopted_server';
  /** SQL condition for the rows that get passes at all. */
  readonly isWorkedOn: string;
  /** SQL condition for the rows whose last pass failed because the garden was not there. Its return wakes them. */
  readonly waitsForGarden: string;
  /** SQL condition for the rows whose last pass failed because of the garden: more workers would not help them. Never null. */
  readonly isHeldUp: string;
  /** SQL assignments when a lease is taken. Empty, or starting with a comma. */
  readonly onTaken: string;
  /** SQL condition for a leased row of which something was reported since the lease was taken. Never null. */
  readonly isReported: string;
}

interface TakenRow {
  readonly team_id: string;
  readonly lease_fence: number;
}

/** SQL condition for a row without a pass. */
const isFree = `(lease_until IS NULL OR lease_until <= ${rowClock})`;

/** Time relative to the database's clock, because the clocks of workers may differ. */
const inMs = (parameter: string): string => `clock_timestamp() + make_interval(secs => ${parameter}::float8 / 1000)`;

/**
 * During a lease, `due_at` equals `lease_until`. Making the row due writes a different time, which is detected when the lease
 * is released.
 */
const untouched = 'due_at IS NOT DISTINCT FROM lease_until';

export const leaseStore = <Id extends LeasedId>(
  pool: Pool,
  { table, isWorkedOn, waitsForGarden, isHeldUp, onTaken, isReported }: LeasedTable<Id>,
) => {
  const whyNot = async (id: Id): Promise<LeaseAnswer<Id>> => {
    const { rows } = await pool.query<{ is_free: boolean; due_in_ms: number | null; is_worked_on: boolean }>({
      name: `why-no-lease-of-${table}`,
      text: `SELECT ${isFree} AS is_free, ${isWorkedOn} AS is_worked_on,
              ceil(extract(epoch FROM due_at - clock_timestamp()) * 1000)::float8 AS due_in_ms
       FROM ${table} WHERE id = $1`,
      values: [id],
    });
    const [row] = rows;
    if (row === undefined || !row.is_worked_on) return { kind: 'idle' };
    if (!row.is_free) return { kind: 'busy' };
    return row.due_in_ms === null ? { kind: 'idle' } : { kind: 'not due', inMs: Math.max(1, row.due_in_ms) };
  };

  return {
    /** Takes the lease of a row that is due. If the process dies, the row is due again when the lease ends. */
    async takeLease(id: Id, leaseMs: number): Promise<LeaseAnswer<Id>> {
      const { rows } = await pool.query<TakenRow>({
        name: `take-lease-of-${table}`,
        text: `UPDATE ${table}
         SET lease_fence = lease_fence + 1, lease_until = leased.ends_at, due_at = leased.ends_at ${onTaken}
         FROM (SELECT ${inMs('$2')} AS ends_at) leased
         WHERE id = $1 AND due_at <= ${rowClock} AND ${isFree} AND ${isWorkedOn}
         RETURNING team_id, lease_fence`,
        values: [id, leaseMs],
      });
      const [taken] = rows;
      if (taken === undefined) return whyNot(id);
      return { kind: 'taken', lease: { teamId: asTeamId(taken.team_id), id, fence: taken.lease_fence } };
    },

    /** @returns false when a later lease was granted: the pass must stop */
    async renewLease(lease: PassLease<Id>, leaseMs: number): Promise<boolean> {
      const { rowCount } = await pool.query(
        `UPDATE ${table}
         SET lease_until = leased.ends_at, due_at = CASE WHEN ${untouched} THEN leased.ends_at ELSE due_at END
         FROM (SELECT ${inMs('$4')} AS ends_at) leased
         WHERE ${ours}`,
        [...leaseValues(lease), leaseMs],
      );
      return rowCount === 1;
    },

    /** Frees the lease without a verdict, for example when the process shuts down. */
    async release({ teamId, id, fence }: PassLease<Id>, { nextPassMs }: PassDelay): Promise<Released> {
      const { rows } = await pool.query<{ again: boolean }>({
        name: `release-${table}`,
        text: `UPDATE ${table}
         SET due_at = CASE WHEN is_due THEN due_at WHEN is_reported THEN clock_timestamp() ELSE ${inMs('$4')} END,
             lease_until = NULL
         FROM (SELECT id, NOT (${untouched}) AS is_due, ${isReported} AS is_reported
               FROM ${table} WHERE id = $2 FOR UPDATE) leased
         WHERE ${table}.id = leased.id AND team_id = $1 AND lease_fence = $3 AND lease_until IS NOT NULL
         RETURNING is_due OR is_reported AS again`,
        values: [teamId, id, fence, nextPassMs],
      });
      return rows[0] === undefined ? { kind: 'overtaken' } : { kind: 'released', again: rows[0].again };
    },

    /** Rows that have been due for `forMs` and have no lease, those due longest first. */
    async findDue({ limit, forMs }: { limit: number; forMs: number }, after: Due<Id> | null): Promise<Due<Id>[]> {
      const { rows } = await pool.query<{ id: Id; due_at: Date }>(
        `SELECT id, due_at FROM ${table}
         WHERE due_at <= ${inMs('-$4')} AND ${isFree} AND ${isWorkedOn}
           AND ($2::timestamptz IS NULL OR (due_at, id) > ($2, $3::uuid))
         ORDER BY due_at, id LIMIT $1`,
        [limit, after?.dueAt ?? null, after?.id ?? null, forMs],
      );
      return rows.map(({ id, due_at }) => ({ id, dueAt: due_at }));
    },

    /** Age of the oldest due row in seconds, or 0 when none is due. */
    async readDueAgeSeconds(): Promise<number> {
      const { rows } = await pool.query<{ seconds: number | null }>(
        `SELECT extract(epoch FROM clock_timestamp() - min(due_at))::float8 AS seconds
         FROM ${table} WHERE due_at <= ${rowClock} AND ${isFree} AND ${isWorkedOn}`,
      );
      return rows[0]?.seconds ?? 0;
    },

    /**
     * Makes all rows due that wait for the garden. This includes those that a pass is working on, because it may have started before the
     * garden was back and fail for the same reason. Their delays begin anew: a garden that answers some calls and not yet others
     * must not keep them for minutes.
     */
    async makeWaitingDue(): Promise<Id[]> {
      const { rows } = await pool.query<{ id: Id }>(
        `UPDATE ${table} SET due_at = clock_timestamp(), failures = 0
         WHERE ${waitsForGarden} AND (lease_until IS NOT NULL OR due_at > ${rowClock}) RETURNING id`,
      );
      return rows.map(({ id }) => id);
    },

    /**
     * Number of rows that are due or that a pass works on, without those that wait for the garden. Running passes count, so that
     * the number does not drop to 0 while all workers are busy.
     */
    async countDue(): Promise<number> {
      const { rows } = await pool.query<{ due: number }>(
        `SELECT count(*)::float8 AS due FROM ${table}
         WHERE (due_at <= ${rowClock} OR lease_until > ${rowClock}) AND ${isWorkedOn} AND NOT ${isHeldUp}`,
      );
      return rows[0]?.due ?? 0;
    },
  };
};
export type LeaseStore<Id extends LeasedId> = ReturnType<typeof leaseStore<Id>>;

export interface KeptPassLease {
  /** Aborted when the pass must stop: on shutdown, or when a later lease was granted. */
  readonly signal: AbortSignal;
  isOvertaken(): boolean;
  end(): void;
}

/**
 * Renews a lease during a pass. Leases are short, so that another process soon takes over after a crash, while a single call
 * may take longer.
 */
export function keepLease<Id extends LeasedId>(
  { leases, log }: { leases: LeaseStore<Id>; log: Log },
  lease: PassLease<Id>,
  leaseMs: number,
  stop: AbortSignal,
): KeptPassLease {
  const overtaken = new AbortController();
  const renew = async (): Promise<void> => {
    try {
      if (await leases.renewLease(lease, leaseMs)) return;
      overtaken.abort();
    } catch (error) {
      // The next renewal may succeed. Otherwise every write of the pass is still conditional on the lease.
      log.warn('lease not renewed', { id: lease.id, error });
    }
  };
  const timer = setInterval(() => void renew(), leaseMs / 3).unref();
  return {
    signal: AbortSignal.any([stop, overtaken.signal]),
    isOvertaken: () => overtaken.signal.aborted,
    end: () => clearInterval(timer),
  };
}

/** SQL condition for the clusters that wait for one of the reasons. Null for those that wait for nothing. */
const waitsFor = (reasons: readonly string[]): string =>
  `(waiting->>'reason' IN (${reasons.map((reason) => `'${reason}'`).join(', ')}))`;

/**
 * Work on a cluster starts with its first pool that the garden can have: a Shoot without workers can never get any (see
 * "workerless" in Gardener's documentation).
 */
export const clusterTable: LeasedTable<ClusterId> = {
  table: 'cluster',
  isWorkedOn: `(started_at IS NOT NULL OR EXISTS (
    SELECT 1 FROM node_pool WHERE cluster_id = cluster.id AND source = 'managed' AND maximum > 0))`,
  waitsForGarden: waitsFor(waitsForGarden),
  isHeldUp: `coalesce(${waitsFor(causedByGarden)}, false)`,
  onTaken: ', sighted_hash = NULL, started_at = coalesce(started_at, clock_timestamp())',
  isReported: 'sighted_hash IS NOT NULL',
};

/** Only servers that are nodes, or about to be, need the garden. */
const isFailingNode = '(failures > 0 AND (node_pool_id IS NOT NULL OR member_of_id IS NOT NULL))';

export const serverTable: LeasedTable<ServerId> = {
  table: 'adopted_server',
  isWorkedOn: 'true',
  waitsForGarden: isFailingNode,
  isHeldUp: isFailingNode,
  onTaken: '',
  isReported: 'false',
};
