import { setTimeout as delay } from 'node:timers/promises';

/** Waits, or gives up as soon as the signal is aborted. @returns false when it gave up */
export async function sleep(ms: number, signal?: AbortSignal): Promise<boolean> {
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal });
    return true;
  } catch {
    return false;
  }
}

/** Full jitter: anything from 0 to a bound that doubles with each attempt, so that replicas do not come back together. */
export function fullJitterMs(attempt: number, { firstMs, capMs }: { firstMs: number; capMs: number }): number {
  return Math.random() * Math.min(capMs, firstMs * 2 ** attempt);
}
