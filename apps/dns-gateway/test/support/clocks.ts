import type { Clock } from '@corral/admission';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

const START = 1_000_000;

/** A clock that moves only when the test moves it. */
export function steppedClock() {
  let now = START;
  const timers = new Set<Timer>();
  const next = (until: number): Timer | undefined =>
    [...timers].filter(({ at }) => at <= until).sort((one, other) => one.at - other.at)[0];
  return {
    now: () => now,
    after(ms: number, run: () => void) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    pass(ms: number): void {
      const until = now + ms;
      for (let timer = next(until); timer !== undefined; timer = next(until)) {
        timers.delete(timer);
        now = timer.at;
        timer.run();
      }
      now = until;
    },
    timers: () => timers.size,
  } satisfies Clock & Record<string, unknown>;
}
