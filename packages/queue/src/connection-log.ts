import type { Log } from '@corral/service';

const QUIET_MS = 10_000;

/**
 * Clients report each failed attempt to reconnect, several per second and connection. This logs the first, then at
 * most one in ten seconds with the number of those kept back.
 */
export function connectionErrorLog(log: Log): (error: unknown) => void {
  let quietUntil = 0;
  let kept = 0;
  return (error) => {
    const now = performance.now();
    if (now < quietUntil) {
      kept += 1;
      return;
    }
    log.warn('queue connection failed', kept > 0 ? { error, similar: kept } : { error });
    quietUntil = now + QUIET_MS;
    kept = 0;
  };
}
