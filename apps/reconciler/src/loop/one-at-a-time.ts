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

/** The same for work that is worth another run when it was asked for meanwhile: what became due behind its back does not wait. */
export function onceMoreWhenAsked(work: (signal: AbortSignal) => Promise<unknown>): ReturnType<typeof oneAtATime> {
  let isAsked = false;
  const run = oneAtATime(async (signal) => {
    while (isAsked && !signal.aborted) {
      isAsked = false;
      await work(signal);
    }
  });
  return (payload, context) => {
    isAsked = true;
    return run(payload, context);
  };
}
