import { randomUUID } from 'node:crypto';
import type { TeamId } from '@corral/contracts';
import type { Pool, Prisma } from '@corral/database';
import type { SessionTimes } from './sessions/store.js';

/** Records when each DNS token was last used. */
export const lastUsedRecorder = (pool: Pool, onError: (error: Error) => void): UseRecorder =>
  useRecorder(pool, 'dns_token', TOKEN_USE, onError);

/** Records when each token of a service account was last used. */
export const accountTokenUseRecorder = (pool: Pool, onError: (error: Error) => void): UseRecorder =>
  useRecorder(pool, 'service_account_token', TOKEN_USE, onError);

const TOKEN_USE = 'last_used_at = GREATEST(last_used_at, batch.at)';

/** Extends the idle expiry of sessions in use, never beyond their absolute expiry and never backwards. */
export const sessionUseRecorder = (
  pool: Pool,
  { idleMs }: SessionTimes,
  onError: (error: Error) => void,
): UseRecorder =>
  useRecorder(
    pool,
    'session',
    `last_seen_at = GREATEST(last_seen_at, batch.at),
     idle_expires_at = GREATEST(idle_expires_at, LEAST(expires_at, batch.at + ${idleMs} * interval '1 ms'))`,
    onError,
  );

export interface UseRecorder {
  note(id: string): void;
  /** Writes the rest and stops. */
  close(): Promise<void>;
}

const FLUSH_MS = 10_000;

/** Runs `flush` in intervals, each after the one before, and a last time on the returned function. */
function flushing(flush: () => Promise<void>, onError: (error: Error) => void): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  const flushNext = (): Promise<void> => {
    last = last.then(flush).catch(onError);
    return last;
  };
  const timer = setInterval(() => void flushNext(), FLUSH_MS).unref();
  return () => {
    clearInterval(timer);
    return flushNext();
  };
}

/**
 * Records when rows were last used, in one statement per interval whatever the traffic. A crash loses one interval. It says how long
 * ago each use was, because process clocks differ but elapsed time does not.
 *
 * @param changes SQL: assignments, from `batch.at`. Retried with the next interval when they fail
 */
function useRecorder(pool: Pool, table: string, changes: string, onError: (error: Error) => void): UseRecorder {
  // Rows are locked in order of id, to avoid deadlocks with other batches.
  const text = `
    WITH batch AS (
      SELECT used.id, (now() - age_ms * interval '1 ms')::timestamptz(3) AS at
      FROM unnest($1::uuid[], $2::float8[]) AS used(id, age_ms)
    ), held AS MATERIALIZED (
      SELECT id FROM ${table} WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE ${table} SET ${changes} FROM held JOIN batch USING (id) WHERE ${table}.id = held.id`;
  let used = new Map<string, number>();
  const flush = async (): Promise<void> => {
    if (used.size === 0) return;
    const batch = used;
    used = new Map();
    try {
      const now = performance.now();
      await pool.query(text, [[...batch.keys()], [...batch.values()].map((at) => now - at)]);
    } catch (error) {
      for (const [id, at] of batch) if (!used.has(id)) used.set(id, at);
      throw error;
    }
  };
  return { note: (id) => void used.set(id, performance.now()), close: flushing(flush, onError) };
}

export interface RequestCounter {
  /** Counts one request of the team. */
  note(teamId: TeamId): void;
  /** Writes the rest and stops. */
  close(): Promise<void>;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The requests of one team in one minute. */
interface Count {
  readonly teamId: TeamId;
  readonly startsAt: number;
  count: number;
  /** The count that is in Postgres for certain. */
  written: number;
}

/** Deleted teams are skipped. */
const writeCounts = {
  text: `INSERT INTO dns_request_count AS known (team_id, minute, process_id, count)
         SELECT team.id, batch.minute, $3::uuid, batch.count
         FROM unnest($1::uuid[], $2::timestamptz[], $4::int[]) AS batch(team_id, minute, count)
         JOIN team ON team.id = batch.team_id
         ON CONFLICT (team_id, minute, process_id) DO UPDATE SET count = greatest(known.count, excluded.count)`,
};

/**
 * Counts the requests of each team per minute, in one statement per 10 s whatever the traffic. Each process writes its own rows, so
 * processes do not conflict and a statement with unknown outcome can be repeated. A crash loses one interval. While Postgres is
 * unavailable, the last hour is kept. The reconciler deletes old counts.
 */
export function requestCounter(pool: Pool, onError: (error: Error) => void): RequestCounter {
  const processId = randomUUID();
  const counts = new Map<string, Count>();
  const minuteNow = (): number => Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;

  const forget = (isOver: (of: Count) => boolean): void => {
    for (const [id, of] of counts) if (isOver(of)) counts.delete(id);
  };
  const flush = async (): Promise<void> => {
    const batch = [...counts.values()].filter((of) => of.count > of.written).map((of) => ({ ...of, of }));
    if (batch.length > 0) {
      const minutes = batch.map(({ startsAt }) => new Date(startsAt));
      const values = [batch.map(({ teamId }) => teamId), minutes, processId, batch.map(({ count }) => count)];
      try {
        await pool.query({ ...writeCounts, values });
      } catch (error) {
        const since = Date.now() - HOUR_MS;
        forget(({ startsAt }) => startsAt <= since);
        throw error;
      }
      for (const { of, count } of batch) of.written = count;
    }
    // Only the current minute can still change.
    const minute = minuteNow();
    forget(({ startsAt, count, written }) => startsAt < minute && count === written);
  };
  return {
    note(teamId) {
      const startsAt = minuteNow();
      const id = `${teamId} ${startsAt}`;
      const known = counts.get(id);
      if (known === undefined) counts.set(id, { teamId, startsAt, count: 1, written: 0 });
      else known.count += 1;
    },
    close: flushing(flush, onError),
  };
}

/**
 * Requests of a team in the last 60 minutes, including the current one. Counts that gateways have not written yet are
 * missing.
 */
export async function countRequests(prisma: Prisma, teamId: TeamId): Promise<number> {
  const { _sum } = await prisma.dnsRequestCount.aggregate({
    where: { teamId, minute: { gt: new Date(Date.now() - HOUR_MS) } },
    _sum: { count: true },
  });
  return _sum.count ?? 0;
}
