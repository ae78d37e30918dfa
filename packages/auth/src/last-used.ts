import { randomUUID } from 'node:crypto';
import type { TeamId } from '@corral/contracts';
import type { Pool, Prisma } from '@corral/database';
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
export function sessionUseRecorder(pool: Pool, { idleMs }: SessionTimes, onError: (error: Error) => void): UseRecorder {
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

export interface RequestCounter {
  /** Counts one request of the team. */
  note(teamId: TeamId): void;
  /** Writes the rest and stops. */
  close(): Promise<void>;
}

const MINUTE_MS = 60_000;
/** Minutes kept in memory while Postgres is unavailable. */
const MINUTES_KEPT = 60;

/** Counts of one minute per team, and how many of them have been written. */
interface Minute {
  readonly startsAt: number;
  readonly counts: Map<string, number>;
  noted: number;
  written: number;
}

/** Writes absolute counts, so it can be repeated. Deleted teams are skipped. */
const writeCounts = {
  text: `INSERT INTO dns_request_count AS known (team_id, minute, process_id, count)
         SELECT team.id, batch.minute, $3::uuid, batch.count
         FROM unnest($1::uuid[], $2::timestamptz[], $4::int[]) AS batch(team_id, minute, count)
         JOIN team ON team.id = batch.team_id
         ON CONFLICT (team_id, minute, process_id) DO UPDATE SET count = greatest(known.count, excluded.count)`,
};

/**
 * Counts the requests of each team per minute, in one statement per 10 s whatever the traffic. Each process writes its
 * own rows, so processes do not conflict and a statement with unknown outcome can be repeated. A crash loses one
 * interval. The reconciler deletes old counts.
 */
export function requestCounter(pool: Pool, onError: (error: Error) => void): RequestCounter {
  const processId = randomUUID();
  let minutes: Minute[] = [];
  let flushing: Promise<void> = Promise.resolve();

  const currentMinute = (): Minute => {
    const startsAt = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
    const last = minutes.at(-1);
    if (last !== undefined && last.startsAt >= startsAt) return last;
    const begun = { startsAt, counts: new Map<string, number>(), noted: 0, written: 0 };
    minutes = [...minutes.slice(1 - MINUTES_KEPT), begun];
    return begun;
  };

  const flush = async (): Promise<void> => {
    const batch = minutes.filter(({ noted, written }) => noted > written).map((minute) => ({ ...minute, minute }));
    if (batch.length === 0) return;
    const rows = batch.flatMap(({ startsAt, counts }) => [...counts].map(([id, count]) => ({ id, startsAt, count })));
    const times = rows.map(({ startsAt }) => new Date(startsAt));
    const values = [rows.map(({ id }) => id), times, processId, rows.map(({ count }) => count)];
    await pool.query({ ...writeCounts, values });
    for (const { minute, noted } of batch) minute.written = noted;
    // Only the current minute can still change; the others are dropped once written.
    minutes = minutes.filter(({ noted, written }, at) => noted > written || at === minutes.length - 1);
  };
  const flushNext = (): Promise<void> => {
    flushing = flushing.then(flush).catch(onError);
    return flushing;
  };
  const timer = setInterval(() => void flushNext(), FLUSH_MS).unref();

  return {
    note(teamId) {
      const minute = currentMinute();
      minute.counts.set(teamId, (minute.counts.get(teamId) ?? 0) + 1);
      minute.noted += 1;
    },
    close: () => {
      clearInterval(timer);
      return flushNext();
    },
  };
}

/**
 * Requests of a team in the last 60 minutes, including the current one. Counts that gateways have not written yet are
 * missing.
 */
export async function countRequests(prisma: Prisma, teamId: TeamId): Promise<number> {
  const { _sum } = await prisma.dnsRequestCount.aggregate({
    where: { teamId, minute: { gt: new Date(Date.now() - 60 * MINUTE_MS) } },
    _sum: { count: true },
  });
  return _sum.count ?? 0;
}
