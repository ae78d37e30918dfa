import type { AnswerHeaders } from '../exchange.js';

/** What an answer says about the budget. */
export interface Statement {
  /** Calls per hour; null when it does not say. */
  readonly limit: number | null;
  /** Whole calls that were left when the answer was made. */
  readonly remaining: number;
}

/** @returns null when the answer says nothing that could be relied upon */
export function parseStatement(headers: AnswerHeaders): Statement | null {
  const remaining = countIn(headers['ratelimit-remaining']);
  return remaining === null ? null : { limit: countIn(headers['ratelimit-limit']) || null, remaining };
}

/** Reads `Retry-After`: seconds or a date (RFC 9110, section 10.2.3). Null when there is none, or only words. */
export function retryAfterMs(headers: AnswerHeaders, nowMs: number): number | null {
  const header = headers['retry-after'];
  const seconds = countIn(header);
  if (seconds !== null) return seconds * 1_000;
  const date = header === undefined ? Number.NaN : Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}

/** Reads a header as a whole number; null for anything else, absurdly large ones included. */
function countIn(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,12}$/.test(header) ? Number(header) : null;
}
