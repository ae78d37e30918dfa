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

/** How long to wait after the first failure, and at most. */
export interface BackoffRange {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * Exponential backoff: doubles with each failure in a row, up to `maxMs`.
 *
 * @param failuresBefore 0 after the first failure
 */
export function backoffMs(failuresBefore: number, { firstMs, maxMs }: BackoffRange): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(failuresBefore, 20));
}

/*
 * Jitter, so that replicas that failed together do not come back together. `random` is from 0 to 1.
 */

/** Full jitter: anything from 0 to the whole backoff. For calls that are cheap to repeat. */
export function fullJitterMs(failuresBefore: number, range: BackoffRange, random = Math.random()): number {
  return random * backoffMs(failuresBefore, range);
}

/** Equal jitter: half of the backoff, and anything up to the other half. For calls that cost something. */
export function equalJitterMs(failuresBefore: number, range: BackoffRange, random = Math.random()): number {
  const full = backoffMs(failuresBefore, range);
  return full / 2 + random * (full / 2);
}

/** Up to a fifth more. For waits that must not be shorter than given. */
export const spreadMs = (ms: number, random: number): number => ms * (1 + random / 5);

/** A tenth less to a tenth more. For intervals: what was begun together drifts apart. */
export const aroundMs = (ms: number, random: number): number => ms * (0.9 + 0.2 * random);
