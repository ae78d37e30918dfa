import { clusterLimits } from '@corral/contracts';
import type { Pool } from '@corral/database';
import type { Log } from '@corral/service';

/** Small ones, so that nobody waits long for a connection. */
const BATCH = 1_000;

const deleteOld = `DELETE FROM team_event WHERE id IN (
    SELECT id FROM team_event WHERE created_at < now() - $1::int * interval '1 hour'
    ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)`;

/**
 * Deletes live changes that nobody can resume any more.
 *
 * @returns how many were deleted
 */
export const sweepTeamEvents =
  ({ pool, log, batch = BATCH }: { readonly pool: Pool; readonly log: Log; readonly batch?: number }) =>
  async (signal: AbortSignal): Promise<number> => {
    let swept = 0;
    for (let deleted = batch; deleted === batch && !signal.aborted; swept += deleted) {
      deleted = (await pool.query(deleteOld, [clusterLimits.teamEventsKeptHours, batch])).rowCount ?? 0;
    }
    if (swept > 0) log.info('events swept', { events: swept });
    return swept;
  };
