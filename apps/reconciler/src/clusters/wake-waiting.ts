import type { Log } from '@corral/service';
import { eachOf, type WakeUps } from '../loop/wake-ups.js';
import type { NewsStore } from './news-store.js';
import { waitsForGarden } from './waiting.js';

export interface WakeWaitingDeps {
  readonly news: Pick<NewsStore, 'markWaiting'>;
  readonly wakeUps: Pick<WakeUps, 'lookAgain'>;
  readonly log: Log;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** With the time after which a watch or a pass finds out that the garden is back, well below five seconds. */
const WITHIN_MS = 2_000;

/**
 * Wakes all clusters that wait for the garden, because it was seen to be back: each at a moment of its own, so that it
 * does not meet all of them at once. However many see it, this process wakes once in that time. Never rejects: who is
 * not woken looks by itself.
 */
export function wakeWaiting({ news, wakeUps, log, now = () => performance.now() }: WakeWaitingDeps) {
  let againAt = Number.NEGATIVE_INFINITY;
  return async (): Promise<void> => {
    if (now() < againAt) return;
    againAt = now() + WITHIN_MS;
    try {
      const woken = await news.markWaiting(waitsForGarden, WITHIN_MS);
      if (woken.length > 0) log.info('garden is back', { woken: woken.length });
      await eachOf(woken, ({ id, inMs }) => wakeUps.lookAgain(id, inMs));
    } catch (error) {
      log.warn('waiting clusters not woken', { error });
    }
  };
}
