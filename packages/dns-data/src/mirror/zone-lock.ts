import { onConnection, type Pool } from '@corral/database';

/** Namespace of the advisory locks: arbitrary, but not used as a first key elsewhere. */
const ZONE_LOCKS = 7_237_001;

/**
 * Runs `work` as the only walk over the zone across processes. The lock ends with its connection, so a crash leaves
 * none behind.
 *
 * @returns `busy` when another walk is in progress: `work` did not run
 */
export type WithZoneLock = <T>(zoneName: string, work: () => Promise<T>) => Promise<T | 'busy'>;

/** @param pool lends a connection for as long as the lock is held */
export const zoneLock =
  (pool: Pool): WithZoneLock =>
  (zoneName, work) =>
    onConnection(pool, async (holder, noteBroken) => {
      const { rows } = await holder.query<{ taken: boolean }>(
        'SELECT pg_try_advisory_lock($1, hashtext($2)) AS taken',
        [ZONE_LOCKS, zoneName],
      );
      if (!rows[0]?.taken) return 'busy';
      try {
        return await work();
      } finally {
        await holder.query('SELECT pg_advisory_unlock($1, hashtext($2))', [ZONE_LOCKS, zoneName]).catch(noteBroken);
      }
    });
