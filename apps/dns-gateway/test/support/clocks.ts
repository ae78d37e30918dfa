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

/** A clock that jumps to the end of each wait immediately. A wait longer than `longestMs` never ends. */
export function hurryingClock(longestMs: number): Clock {
  const clock = steppedClock();
  return {
    now: clock.now,
    after(ms, run) {
      if (ms > longestMs) return () => undefined;
      const callOff = clock.after(ms, run);
      const due = clock.now() + ms;
      setImmediate(() => clock.pass(Math.max(0, due - clock.now())));
      return callOff;
    },
  };
}
