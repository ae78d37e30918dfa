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

/**
 * Waits for work only until the signal. The work continues; a later result is dropped.
 *
 * @param errorOf what to fail with when the signal comes first
 */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal, errorOf: () => Error): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(errorOf());
  if (signal.aborted) giveUp();
  else signal.addEventListener('abort', giveUp, { once: true });
  return Promise.race([aborted, work]).finally(() => signal.removeEventListener('abort', giveUp));
}

/**
 * Waits for work for a limited time. The work continues; a later result is dropped.
 *
 * @returns what the work gives, or `late` when the time is over first
 */
export async function answerWithin<T, L>(work: Promise<T>, ms: number, late: L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<L>((resolve) => {
    timer = setTimeout(() => resolve(late), Math.max(0, ms));
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

const LATE = Symbol('late');

/** The same as `answerWithin`, and fails when the time is over. @param errorOf what to fail with */
export async function orLate<T>(work: Promise<T>, ms: number, errorOf: () => Error): Promise<T> {
  const answer = await answerWithin(work, ms, LATE);
  if (answer === LATE) throw errorOf();
  return answer as T;
}
