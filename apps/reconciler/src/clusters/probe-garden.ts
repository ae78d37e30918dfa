import type { GardenClient } from '@corral/garden';
import { type Log, sleep } from '@corral/service';
import { gardenWordOf } from '../loop/garden-gate.js';
import { unlessStopped } from '../loop/unless-stopped.js';
import { managedSelector } from './marks.js';
import type { NewsStore, WaitingShoot } from './news-store.js';
import { waitsForGarden } from './waiting.js';

export interface ProbeDeps {
  readonly garden: Pick<GardenClient, 'readShoot' | 'listShoots'>;
  readonly news: Pick<NewsStore, 'findWaiting'>;
  /** Wakes those who wait. Never rejects. */
  readonly onReturn: () => Promise<void>;
  readonly log: Log;
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** While it gives no answers. */
const AWAY_MS = 1_000;
/** Who begins to wait now comes again by itself before this would be too long. */
const NOBODY_WAITS_MS = 2_000;
/** Those who still wait meet trouble of their own. */
const WELL_MS = 5_000;
/** A call may hang as long as it is allowed to, though the garden is long back. */
const ANSWER_MS_MAX = 1_500;

/**
 * As long as clusters wait for the garden, asks it for the Shoot of one of them, and wakes all when it answers after it did
 * not. Nobody else may notice for minutes: a watch stays open over a garden that answers no new call, and those who wait
 * come again ever later. Until the signal; never rejects.
 */
export const probeGarden =
  ({ garden, news, onReturn, log, pause = sleep }: ProbeDeps) =>
  async (signal: AbortSignal): Promise<void> => {
    let wasWell = false;
    while (!signal.aborted) {
      const state = await look();
      if (state === 'well' && !wasWell) await onReturn();
      wasWell = state === 'well';
      await pause({ away: AWAY_MS, well: WELL_MS, idle: NOBODY_WAITS_MS }[state], signal);
    }

    async function look(): Promise<'away' | 'well' | 'idle'> {
      try {
        const waiting = await news.findWaiting(waitsForGarden);
        if (waiting === null) return 'idle';
        return (await isAnswering(waiting)) ? 'well' : 'away';
      } catch (error) {
        log.warn('garden not probed', { error });
        return 'idle';
      }
    }

    async function isAnswering({ namespace, name }: WaitingShoot): Promise<boolean> {
      const limit = new AbortController();
      const timer = setTimeout(() => limit.abort(), ANSWER_MS_MAX);
      const ask = (): Promise<unknown> =>
        namespace === null
          ? garden.listShoots({ labelSelector: managedSelector, limit: 1 }, limit.signal)
          : garden.readShoot({ namespace, name }, limit.signal);
      try {
        await unlessStopped(ask, signal);
        return true;
      } catch (error) {
        return gardenWordOf(error)?.kind === 'fine';
      } finally {
        clearTimeout(timer);
      }
    }
  };
