import { randomUUID } from 'node:crypto';
import type { Queryable } from './pool.js';

export interface ProcessRegister {
  /** How many processes of the service live, this one included, as far as is known. */
  count(): number;
  /** Takes this process out. */
  close(): Promise<void>;
}

export interface ProcessRegisterOptions {
  readonly pool: Queryable;
  /** Processes of one service count together. */
  readonly service: string;
  readonly onError: (error: Error) => void;
}

const BEAT_MS = 5_000;

/** Who was not heard of for three beats is taken for dead, and rows of the dead are swept by whoever beats next. */
const beat = {
  name: 'service-process-beat',
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
 * Enters this process among the live ones of its service, and learns at each beat how many there are. What was known
 * last holds while Postgres is away.
 */
export async function registerProcess({ pool, service, onError }: ProcessRegisterOptions): Promise<ProcessRegister> {
  const id = randomUUID();
  let known = 1;
  const beatOnce = async (): Promise<void> => {
    try {
      const { rows } = await pool.query<{ others: number }>({ ...beat, values: [id, service] });
      known = 1 + (rows[0]?.others ?? 0);
    } catch (error) {
      onError(error as Error);
    }
  };
  let beating = beatOnce();
  await beating;
  const timer = setInterval(() => {
    beating = beating.then(beatOnce);
  }, BEAT_MS).unref();
  return {
    count: () => known,
    async close() {
      clearInterval(timer);
      await beating;
      await pool.query('DELETE FROM service_process WHERE id = $1', [id]).catch(onError);
    },
  };
}
