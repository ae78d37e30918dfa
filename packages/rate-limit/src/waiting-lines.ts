import type { Clock } from './clock.js';
import { enter, leave, nobodyWaits, serve, type WaitingLine } from './waiting-line.js';

export interface WaitingLines {
  /**
   * Waits for a token that was promised in so long, behind all who came earlier for tokens of the same key.
   *
   * @returns false when the signal came first: the token is to be given back
   */
  wait(key: string, waitMs: number, signal: AbortSignal): Promise<boolean>;
}

interface Waiter {
  readonly go: () => void;
}

interface Line {
  waiting: WaitingLine<Waiter>;
  callOff: () => void;
}

/** The lines of this process, one for each key, with their timers. */
export function waitingLines(clock: Clock): WaitingLines {
  const lines = new Map<string, Line>();

  const keep = (key: string, waiting: WaitingLine<Waiter>): void => {
    lines.get(key)?.callOff();
    const [first] = waiting.slots;
    if (first === undefined) lines.delete(key);
    else lines.set(key, { waiting, callOff: clock.after(Math.max(0, first - clock.now()), () => serveDue(key)) });
  };
  const serveDue = (key: string): void => {
    const { line, served } = serve(lines.get(key)?.waiting ?? nobodyWaits, clock.now());
    keep(key, line);
    for (const { go } of served) go();
  };

  return {
    wait: (key, waitMs, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) {
          resolve(false);
          return;
        }
        const giveUp = (): void => {
          const left = leave(lines.get(key)?.waiting ?? nobodyWaits, waiter);
          if (left === null) return;
          keep(key, left);
          resolve(false);
        };
        const waiter: Waiter = {
          go: () => {
            signal.removeEventListener('abort', giveUp);
            resolve(true);
          },
        };
        signal.addEventListener('abort', giveUp, { once: true });
        keep(key, enter(lines.get(key)?.waiting ?? nobodyWaits, waiter, clock.now() + waitMs));
      }),
  };
}

export interface PlacesPerKey {
  /** @returns what gives the place free again; null when all are taken */
  enter(who: string): (() => void) | null;
}

/** So many may wait at once for each of them. */
export function placesPerKey(max: number): PlacesPerKey {
  const taken = new Map<string, number>();
  return {
    enter(who) {
      const count = taken.get(who) ?? 0;
      if (count >= max) return null;
      taken.set(who, count + 1);
      let isFree = false;
      return () => {
        if (isFree) return;
        isFree = true;
        const left = (taken.get(who) ?? 1) - 1;
        if (left === 0) taken.delete(who);
        else taken.set(who, left);
      };
    },
  };
}
