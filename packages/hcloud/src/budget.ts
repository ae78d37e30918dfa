import type { BudgetReading } from './client.js';
import type { AnswerHeaders } from './exchange.js';
import { sleep } from './sleep.js';

export type Turn =
  | { kind: 'go' }
  | { kind: 'aborted' }
  /** the wait would be longer than the caller's patience: no turn was reserved */
  | { kind: 'too_long'; retryAfterSeconds: number; resetAt: Date };

/**
 * Decides who may call the upstream and when. This is one process's view of a budget that all replicas share; a
 * scheduler that is fair to teams and common to replicas would take the place of this file.
 */
export interface Budget {
  /** Waits for a turn in order of arrival. Each `go` is one call that may be made. */
  turn(patienceMs: number, signal?: AbortSignal): Promise<Turn>;
  /** Returns a turn whose call never reached the upstream, which therefore did not count it. */
  giveBack(): void;
  /** Takes note of what an answer says about the budget. */
  observe(headers: AnswerHeaders): void;
  /** Takes note of a 429: nobody calls until its `Retry-After`, or a second or so when it names no time. */
  refused(headers: AnswerHeaders): void;
  read(): BudgetReading;
}

const hourMs = 3_600_000;
/** The upstream's published budget, for answers that state what remains but not of how much. */
const usualLimit = 3_600;
/** A `Retry-After: 0` must not become a busy loop. */
const pauseMsMin = 100;

interface Clocks {
  /** wall clock: `RateLimit-Reset` is a point of time */
  now: () => number;
  /** monotonic clock, for durations */
  tick?: () => number;
}

export function trackBudget({ now, tick = () => performance.now() }: Clocks): Budget {
  let stated: { limit: number | null; remaining: number; resetMs: number | null; atTick: number } | null = null;
  /** turns given since the last statement, and those among them whose callers still sleep */
  let taken = 0;
  let asleep = 0;
  let pausedUntilTick = 0;

  /** The budget refills steadily, so the next free call is due long before the full budget is back. */
  function refillMs(): number {
    if (stated === null || stated.resetMs === null || stated.resetMs <= now()) return 0;
    const perMs = (stated.limit ?? usualLimit) / hourMs;
    const free = stated.remaining + (tick() - stated.atTick) * perMs - taken;
    return free >= 1 ? 0 : (1 - free) / perMs;
  }

  function tooLong(waitMs: number): Turn {
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
    const returnMs = now() + retryAfterSeconds * 1_000;
    return { kind: 'too_long', retryAfterSeconds, resetAt: new Date(Math.max(returnMs, stated?.resetMs ?? 0)) };
  }

  return {
    async turn(patienceMs, signal) {
      if (signal?.aborted) return { kind: 'aborted' };
      const waitMs = Math.max(0, pausedUntilTick - tick(), refillMs());
      if (waitMs > patienceMs) return tooLong(waitMs);
      taken += 1;
      if (waitMs === 0) return { kind: 'go' };
      asleep += 1;
      const waited = await sleep(waitMs, signal);
      asleep -= 1;
      if (waited) return { kind: 'go' };
      taken -= 1;
      return { kind: 'aborted' };
    },
    giveBack() {
      taken = Math.max(asleep, taken - 1);
    },
    observe(headers) {
      const remaining = countIn(headers['ratelimit-remaining']);
      if (remaining === null) return;
      const resetSeconds = countIn(headers['ratelimit-reset']);
      stated = {
        limit: countIn(headers['ratelimit-limit']) || null,
        remaining,
        resetMs: resetSeconds === null ? null : resetSeconds * 1_000,
        atTick: tick(),
      };
      taken = asleep;
    },
    refused(headers) {
      const pauseMs = retryAfterMs(headers['retry-after'], now()) ?? 750 + Math.random() * 750;
      const boundedMs = Math.min(hourMs, Math.max(pauseMsMin, pauseMs));
      pausedUntilTick = Math.max(pausedUntilTick, tick() + boundedMs);
    },
    read() {
      const resetMs = stated?.resetMs ?? null;
      return {
        limit: stated?.limit ?? null,
        remaining: stated?.remaining ?? null,
        resetAt: resetMs === null ? null : new Date(resetMs),
      };
    },
  };
}

/** Reads a header as a whole number; null for anything else, absurdly large ones included. */
function countIn(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,12}$/.test(header) ? Number(header) : null;
}

/** Reads `Retry-After`: seconds or a date (RFC 9110, section 10.2.3). */
function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  const seconds = countIn(header);
  if (seconds !== null) return seconds * 1_000;
  const date = header === undefined ? Number.NaN : Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}
