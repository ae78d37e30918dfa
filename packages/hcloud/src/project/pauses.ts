import { retryAfterMs } from '../budget/rate-limit-headers.js';
import type { AnswerHeaders } from '../exchange.js';

const PAUSE_MS_MIN = 1_000;
/** The time in `RateLimit-Reset` is that of the full bucket. It refills steadily, and nobody needs all of it. */
const PAUSE_MS_MAX = 60_000;

export interface Pauses {
  /** Milliseconds until the project may be asked again; 0 when it may. */
  leftMs(project: string): number;
  /** The project's budget is used up. @returns for how long it is left alone */
  begin(project: string, headers: AnswerHeaders): number;
}

export interface PauseOptions {
  /** Wall clock, for the points of time in headers. */
  readonly now?: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly tick?: () => number;
  /** From 0 to 1. */
  readonly random?: () => number;
}

/** Projects whose budget is used up: they are left alone one by one, and the others go on. */
export function pauses({
  now = Date.now,
  tick = () => performance.now(),
  random = Math.random,
}: PauseOptions = {}): Pauses {
  const until = new Map<string, number>();
  return {
    leftMs(project) {
      const leftMs = (until.get(project) ?? 0) - tick();
      if (leftMs > 0) return Math.ceil(leftMs);
      until.delete(project);
      return 0;
    },
    begin(project, headers) {
      const resetsAt = Number(headers['ratelimit-reset'] ?? Number.NaN) * 1_000;
      const wantedMs = retryAfterMs(headers, now()) ?? (Number.isNaN(resetsAt) ? PAUSE_MS_MIN : resetsAt - now());
      // With jitter, so that replicas and projects do not come back together.
      const ms = Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS_MIN, wantedMs)) * (1 + random() / 4);
      until.set(project, tick() + ms);
      return Math.ceil(ms);
    },
  };
}
