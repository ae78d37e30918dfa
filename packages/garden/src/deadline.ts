import { setMaxListeners } from 'node:events';

/** One signal over the whole of a call: its time, the caller's wish, the end of the client. */
export interface Deadline {
  signal: AbortSignal;
  /** why the signal was aborted; null while it is not */
  cause(): 'time' | 'caller' | null;
  leftMs(): number;
  /** Counts anew from now, which makes a bound on silence of a bound on time. */
  restart(ms: number): void;
  /** Stops counting until `restart`. */
  pause(): void;
  /** Lets go of timer and listeners. `AbortSignal.any` would stay on a long-lived signal for as long as that lives. */
  end(): void;
}

export function startDeadline(timeoutMs: number, callers: readonly (AbortSignal | undefined)[]): Deadline {
  const controller = new AbortController();
  let cause: 'time' | 'caller' | null = null;
  const abort = (why: 'time' | 'caller') => {
    cause ??= why;
    controller.abort();
  };
  let endsAt = 0;
  let timer: NodeJS.Timeout | undefined;
  const restart = (ms: number) => {
    clearTimeout(timer);
    endsAt = performance.now() + ms;
    timer = setTimeout(() => abort('time'), ms);
  };
  const byCaller = () => abort('caller');
  restart(timeoutMs);
  // Many calls may share a signal, and each lets go of it: that is no leak to warn of.
  setMaxListeners(0, ...callers.filter((caller) => caller !== undefined));
  for (const caller of callers) {
    if (caller?.aborted) byCaller();
    else caller?.addEventListener('abort', byCaller, { once: true });
  }
  return {
    signal: controller.signal,
    cause: () => cause,
    leftMs: () => endsAt - performance.now(),
    restart,
    pause: () => clearTimeout(timer),
    end() {
      clearTimeout(timer);
      for (const caller of callers) caller?.removeEventListener('abort', byCaller);
    },
  };
}
