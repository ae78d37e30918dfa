import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** A bound on a call: its time, and the signals of its callers. */
export interface Deadline {
  /** Aborted when the time is over, or when a caller gives up. Made when it is asked for, as that takes longer than a timer. */
  readonly signal: AbortSignal;
  /** Calls back once when the signal would be aborted, unless it has been. @returns a function that removes the listener */
  onOver(listener: () => void): () => void;
  /** Why it was aborted; null while it was not. */
  cause(): 'time' | 'caller' | null;
  leftMs(): number;
  /** Starts the time again. With each chunk of a stream, this bounds silence instead of the whole. */
  restart(ms: number): void;
  /** Stops counting until `restart`. */
  pause(): void;
  /** Removes timer and listeners. The listeners of `AbortSignal.any` would stay until a long-lived signal is collected. */
  end(): void;
}

/** Starts a deadline. It must be ended. @param callers signals that end it as well */
export function startDeadline(timeoutMs: number, callers: readonly (AbortSignal | undefined)[] = []): Deadline {
  let controller: AbortController | undefined;
  const listeners = new Set<() => void>();
  let cause: 'time' | 'caller' | null = null;
  const abort = (why: 'time' | 'caller') => {
    if (cause !== null) return;
    cause = why;
    controller?.abort();
    for (const listener of listeners) listener();
  };
  let endsAt = 0;
  let timer: NodeJS.Timeout | undefined;
  const restart = (ms: number) => {
    clearTimeout(timer);
    endsAt = performance.now() + ms;
    timer = setTimeout(() => abort('time'), ms);
  };
  restart(timeoutMs);
  const leaveCallers = callers.map((caller) => {
    if (caller === undefined) return () => undefined;
    // Many calls may share a signal, and each removes its listener, so Node's warning of a leak would be wrong.
    setMaxListeners(0, caller);
    return onAborted(caller, () => abort('caller'));
  });
  return {
    get signal() {
      controller ??= new AbortController();
      if (cause !== null) controller.abort();
      return controller.signal;
    },
    onOver(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    cause: () => cause,
    leftMs: () => endsAt - performance.now(),
    restart,
    pause: () => clearTimeout(timer),
    end() {
      clearTimeout(timer);
      for (const leave of leaveCallers) leave();
    },
  };
}

/** How long a request may still begin calls. On the monotonic clock: a corrected wall clock must not prolong it. */
export function startPatience(ms: number): { leftMs(): number } {
  const end = performance.now() + ms;
  return { leftMs: () => end - performance.now() };
}

/** Waits, or gives up as soon as the signal is aborted. @returns false when it gave up */
export async function sleep(ms: number, signal?: AbortSignal): Promise<boolean> {
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal });
    return true;
  } catch {
    return false;
  }
}

/** Calls back once when the signal is aborted; at once if it has been. @returns a function that removes the listener */
function onAborted(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

/**
 * Waits for work only until the signal. The work continues; a later result is dropped.
 *
 * @param errorOf what to fail with when the signal comes first
 */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal, errorOf: () => Error): Promise<T> {
  let leave: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    leave = onAborted(signal, () => reject(errorOf()));
  });
  try {
    return await Promise.race([aborted, work]);
  } finally {
    leave();
  }
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
