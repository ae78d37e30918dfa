import type { GardenClient } from '@corral/garden';
import { type Log, sleep } from '@corral/service';
import { waitsForGarden } from '../clusters/judge/waiting.js';
import { managedSelector } from '../clusters/model.js';
import { unlessStopped } from '../loop/work.js';
import type { DueStore, WaitingShoot } from './follow-shoots.js';
import { gardenReportOf } from './gate.js';

interface ProbeDeps {
  readonly garden: GardenClient;
  readonly dueTimes: DueStore;
  /** Wakes the waiting clusters. Never rejects. */
  readonly onReturn: () => Promise<void>;
  readonly log: Log;
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Probe interval while the garden does not answer, in milliseconds. */
const AWAY_MS = 1_000;
/** Check interval while no cluster waits. A cluster that starts to wait retries earlier by itself. */
const IDLE_MS = 2_000;
/** Probe interval while the garden answers. Clusters that still wait have another problem. */
const WELL_MS = 5_000;
/** Deadline of a probe. A call may hang although the garden has recovered. */
const ANSWER_MS_MAX = 1_500;

/**
 * While clusters wait for the garden, reads the Shoot of one of them, and wakes all of them when the garden answers again.
 * Otherwise the return could go unnoticed for minutes: a watch stays open on a garden that answers no new call, and waiting
 * clusters retry with growing delays. Runs until the signal aborts. Never rejects.
 */
export const probeGarden =
  ({ garden, dueTimes, onReturn, log, pause = sleep }: ProbeDeps) =>
  async (signal: AbortSignal): Promise<void> => {
    /** The newest wait at the last probe that got an answer. Empty after any other probe. */
    let wokenUpTo = '';
    while (!signal.aborted) {
      const state = await probe();
      await pause({ away: AWAY_MS, well: WELL_MS, idle: IDLE_MS }[state], signal);
    }

    async function probe(): Promise<'away' | 'well' | 'idle'> {
      const known = wokenUpTo;
      wokenUpTo = '';
      try {
        const waiting = await dueTimes.findWaiting(waitsForGarden);
        if (waiting === null) return 'idle';
        if (!(await isAnswering(waiting))) return 'away';
        // A newer wait than at the last probe means an outage between the two that no probe saw.
        if (waiting.newestSince > known) await onReturn();
        wokenUpTo = waiting.newestSince;
        return 'well';
      } catch (error) {
        log.warn('garden not probed', { error });
        return 'idle';
      }
    }

    async function isAnswering({ namespace, name }: WaitingShoot): Promise<boolean> {
      const limit = AbortSignal.timeout(ANSWER_MS_MAX);
      const ask = (): Promise<unknown> =>
        namespace === null
          ? garden.listShoots({ labelSelector: managedSelector, limit: 1 }, limit)
          : garden.readShoot({ namespace, name }, limit);
      try {
        await unlessStopped(ask, signal);
        return true;
      } catch (error) {
        return gardenReportOf(error)?.kind === 'fine';
      }
    }
  };

interface WakeWaitingDeps {
  /** Each makes the waiting rows of one kind due, sends their jobs, and returns their number. */
  readonly wakers: readonly (() => Promise<number>)[];
  readonly log: Log;
}

/**
 * Wakes all rows that wait for the garden after its return. The workers and their gates limit how many calls it gets at a time. Never
 * rejects: rows that are not woken retry by themselves.
 */
export function wakeWaiting({ wakers, log }: WakeWaitingDeps) {
  const wakeAll = async (waker: () => Promise<number>): Promise<void> => {
    try {
      const woken = await waker();
      if (woken > 0) log.info('garden is back', { woken });
    } catch (error) {
      log.warn('waiting rows not woken', { error });
    }
  };
  return async (): Promise<void> => {
    await Promise.all(wakers.map(wakeAll));
  };
}
