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
const HOUR_MS = 60 * MINUTE_MS;

/** The requests of one team in one minute, which have not been written yet. */
interface Count {
  readonly teamId: TeamId;
  readonly startsAt: number;
  count: number;
}

/** Deleted teams are skipped. */
const addCounts = {
  text: `INSERT INTO dns_request_count AS known (team_id, minute, process_id, count)
         SELECT team.id, batch.minute, $3::uuid, batch.count
         FROM unnest($1::uuid[], $2::timestamptz[], $4::int[]) AS batch(team_id, minute, count)
         JOIN team ON team.id = batch.team_id
         ON CONFLICT (team_id, minute, process_id) DO UPDATE SET count = known.count + excluded.count`,
};

/**
 * Counts the requests of each team per minute, in one statement per 10 s whatever the traffic. Each process writes its own rows, so
 * processes do not conflict. A crash loses one interval. While Postgres is unavailable, the last hour is kept. The reconciler deletes
 * old counts.
 */
export function requestCounter(pool: Pool, onError: (error: Error) => void): RequestCounter {
  const processId = randomUUID();
  let counts = new Map<string, Count>();

  const add = (teamId: TeamId, startsAt: number, count: number): void => {
    const id = `${teamId} ${startsAt}`;
    const known = counts.get(id);
    if (known === undefined) counts.set(id, { teamId, startsAt, count });
    else known.count += count;
  };
  const flush = async (): Promise<void> => {
    if (counts.size === 0) return;
    const batch = [...counts.values()];
    counts = new Map();
    const minutes = batch.map(({ startsAt }) => new Date(startsAt));
    const values = [batch.map(({ teamId }) => teamId), minutes, processId, batch.map(({ count }) => count)];
    try {
      await pool.query({ ...addCounts, values });
    } catch (error) {
      const since = Date.now() - HOUR_MS;
      for (const { teamId, startsAt, count } of batch) if (startsAt > since) add(teamId, startsAt, count);
      onError(error as Error);
    }
  };
  const timer = setInterval(() => void flush(), FLUSH_MS).unref();

  return {
    note: (teamId) => add(teamId, Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS, 1),
    close: () => {
      clearInterval(timer);
      return flush();
    },
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
