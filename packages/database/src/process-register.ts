import { randomUUID } from 'node:crypto';
import type { Queryable } from './connect.js';

export interface ProcessRegister {
  /** The last known number of live processes of the service, this one included. Changes with each beat. */
  readonly count: number;
  /** Removes this process. */
  close(): Promise<void>;
}

export interface ProcessRegisterOptions {
  readonly pool: Queryable;
  /** Processes of the same service are counted together. */
  readonly service: string;
  readonly onError: (error: Error) => void;
}

const BEAT_MS = 5_000;

/** A process that missed three beats counts as dead. Any beat deletes rows older than an hour. */
const beat = {
  text: `WITH own AS (
           INSERT INTO service_process (id, service, seen_at) VALUES ($1, $2, clock_timestamp())
           ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
         ), swept AS (
           DELETE FROM service_process WHERE id IN (
             SELECT id FROM service_process WHERE seen_at < clock_timestamp() - interval '1 hour'
             FOR UPDATE SKIP LOCKED)
         )
         SELECT count(*)::int AS others FROM service_process
         WHERE service = $2 AND id <> $1 AND seen_at > clock_timestamp() - interval '15 seconds'`,
};

/**
 * Registers this process among the live ones of its service, and counts them at each beat. The last count stays valid
 * while Postgres is unavailable.
 */
export async function registerProcess({ pool, service, onError }: ProcessRegisterOptions): Promise<ProcessRegister> {
  const id = randomUUID();
  const register = {
    count: 1,
    async close() {
      clearInterval(timer);
      await beating;
      await pool.query('DELETE FROM service_process WHERE id = $1', [id]).catch(onError);
    },
  };
  const beatOnce = async (): Promise<void> => {
    try {
      const { rows } = await pool.query<{ others: number }>({ ...beat, values: [id, service] });
      register.count = 1 + (rows[0]?.others ?? 0);
    } catch (error) {
      onError(error as Error);
    }
  };
  let beating = beatOnce();
  await beating;
  const timer = setInterval(() => {
    beating = beating.then(beatOnce);
  }, BEAT_MS).unref();
  return register;
}
