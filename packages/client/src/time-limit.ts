import { CorralError } from './corral-error.js';

/** A longer timer would end immediately. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** One signal over a time limit and the signals of the callers. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** Gives so many ms from now on. */
  readonly restart: (ms: number) => void;
  readonly end: () => void;
  /** What a failed call is reported as: the reason of a caller who gave up, otherwise a `CorralError` without any secret. */
  readonly errorOf: (error: unknown, operationId: string) => unknown;
}

export function timeLimit(ms: number, callers: readonly (AbortSignal | undefined)[]): TimeLimit {
  const late = new AbortController();
  const given = callers.filter((each) => each !== undefined);
  const signal = AbortSignal.any([late.signal, ...given]);
  let timer = setTimeout(() => late.abort(), Math.min(ms, TIMER_MS_MAX));
  return {
    signal,
    restart(again) {
      clearTimeout(timer);
      timer = setTimeout(() => late.abort(), Math.min(again, TIMER_MS_MAX));
    },
    end: () => clearTimeout(timer),
    errorOf(error, operationId) {
      const caller = given.find((each) => each.aborted);
      if (caller !== undefined) return caller.reason;
      if (error instanceof CorralError) return new CorralError({ ...error, operationId });
      if (late.signal.aborted) {
        return new CorralError({
          status: 0,
          code: 'timeout',
          detail: 'The server did not answer in time.',
          operationId,
        });
      }
      return noAnswer(error, operationId);
    },
  };
}

/** What `fetch` threw may quote headers, so only a code of the system is taken over. */
function noAnswer(error: unknown, operationId: string): CorralError {
  const { cause } = (error ?? {}) as { cause?: { code?: unknown } };
  const code = typeof cause?.code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(cause.code) ? ` (${cause.code})` : '';
  return new CorralError({ status: 0, code: 'network', detail: `The server did not answer${code}.`, operationId });
}

/** A wait that a signal ends. @throws the reason of the signal */
export async function waitMs(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve) => {
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end, { once: true });
    function end() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    }
  });
  signal?.throwIfAborted();
}
