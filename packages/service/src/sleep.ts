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
