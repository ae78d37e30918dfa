import type { JobContext } from '@corral/queue';

/** While the database, the provider or the garden is slow, a run outlasts its interval; a second beside it would add to the load. */
export function oneAtATime(work: (signal: AbortSignal) => Promise<unknown>) {
  let isRunning = false;
  return async (_payload: unknown, { signal }: JobContext): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    try {
      await work(signal);
    } finally {
      isRunning = false;
    }
  };
}
