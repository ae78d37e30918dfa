import {
  type BucketName,
  type BudgetState,
  capacityOf,
  chargeFlows,
  committedOf,
  levelOf,
  rateOf,
  setLevelOf,
  setLimit,
  usualLimit,
} from './account.js';

/** The headers of an answer that describe the budget, by their names in lower case. */
export type RateLimitHeaders = Readonly<
  Partial<Record<'ratelimit-limit' | 'ratelimit-remaining' | 'retry-after', string>>
>;

/** What an answer says about the budget. */
export interface Statement {
  /** Calls per hour; null when it does not say. */
  readonly limit: number | null;
  /** Whole calls that were left when the answer was made. */
  readonly remaining: number;
}

/** @returns null when the answer says nothing that could be relied upon */
export function parseStatement(headers: RateLimitHeaders): Statement | null {
  const remaining = countIn(headers['ratelimit-remaining']);
  return remaining === null ? null : { limit: countIn(headers['ratelimit-limit']) || null, remaining };
}

/** Reads `Retry-After`: seconds or a date (RFC 9110, section 10.2.3). Null when there is none, or only words. */
export function retryAfterMs(headers: RateLimitHeaders, nowMs: number): number | null {
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

/** The right to make one call. It has to be ended. */
export interface Turn {
  readonly bucket: BucketName;
  readonly flow: string;
  /** `ended` of the account when it was given. */
  readonly endedBefore: number;
}

export type CallEnd =
  | { readonly kind: 'answered'; readonly statement: Statement | null }
  | { readonly kind: 'refused'; readonly statement: Statement | null; readonly retryAfterMs: number | null }
  /** no answer, but the upstream may have counted it */
  | { readonly kind: 'lost' }
  /** it never reached the upstream, which did not count it */
  | { readonly kind: 'unreached' };

/** Takes note of how a call of a process ended. */
export function end(state: BudgetState, process: string, turn: Turn, how: CallEnd): BudgetState {
  const before = state.processes[process];
  const isKnown = before !== undefined && before.out > 0;
  const back = isKnown
    ? { ...state, processes: { ...state.processes, [process]: { ...before, out: before.out - 1 } } }
    : state;
  if (how.kind === 'unreached') {
    // Only what is known to be out can come back: the calls of a silent process were written off.
    return isKnown ? giveBack(back, turn) : back;
  }
  const ended = { ...back, ended: back.ended + 1 };
  if (how.kind === 'lost') return ended;
  const { endedBefore } = turn;
  const seen = how.statement === null ? ended : observe(ended, { ...how.statement, endedBefore });
  if (how.kind === 'refused') return pause(seen, how.retryAfterMs);
  // An upstream that answers and states nothing: what it has published holds.
  const isSilent = how.statement === null && seen.limit === null;
  return { ...(isSilent ? setLevelOf(setLimit(seen, usualLimit), usualLimit) : seen), refusals: 0 };
}

function giveBack(state: BudgetState, { bucket, flow }: Turn): BudgetState {
  const level = Math.min(capacityOf(state, bucket), state.buckets[bucket] + 1);
  return chargeFlows({ ...state, buckets: { ...state.buckets, [bucket]: level } }, { [flow]: -1 });
}

/** A statement of the upstream with what is needed to judge how old it is. */
export interface Observation extends Statement {
  /**
   * `ended` of the account when the call began. It has grown by at least one when the statement is accounted for: by the
   * call itself, which the upstream has counted.
   */
  readonly endedBefore: number;
}

/** Maximum age of a statement when it is accounted for. Calls that flowed in since are not in it. */
const statementMsMax = 2_000;

/**
 * Brings the account in line with what the upstream stated.
 *
 * When it made its statement, the upstream may not have counted calls that were under way. These are at most those
 * still under way and those that ended since this call began; so what is left for sure is the statement less those.
 * An account below that is raised to it: that is also how what a dead process never used comes back. An account far
 * above the statement is wrong, because another client uses the project too: it falls to what is left for sure. One
 * that is a little above, by what flowed in since and by the fraction that a whole number hides, falls to the statement.
 */
export function observe(state: BudgetState, { limit, remaining, endedBefore }: Observation): BudgetState {
  const limited = limit === null || limit === state.limit ? state : setLimit(state, limit);
  const level = levelOf(limited);
  const uncounted = committedOf(limited) + Math.max(0, limited.ended - endedBefore - 1);
  // Until the first statement the level was assumed.
  const isFarAbove = state.limit === null || level > remaining + 1 + rateOf(limited) * statementMsMax;
  if (isFarAbove || level < remaining - uncounted) {
    return setLevelOf(limited, remaining - uncounted);
  }
  return level > remaining ? setLevelOf(limited, remaining) : limited;
}

const hourMs = 3_600_000;
/** A `Retry-After: 0` must not become a busy loop. */
const pauseMsMin = 100;
/** The pause without a `Retry-After`: one second, and longer each time until another answer comes. */
const pauseMsUsual = 1_000;
const pauseMsUsualMax = 60_000;

/** Takes note of a 429. Several calls may have met the same one. @param retryAfterMs what it says, null when it names no time */
export function pause(state: BudgetState, retryAfterMs: number | null): BudgetState {
  const isPaused = state.at < state.pausedUntil;
  if (isPaused && retryAfterMs === null) return state;
  const usualMs = Math.min(pauseMsUsualMax, pauseMsUsual * 2 ** Math.min(16, state.refusals));
  const pauseMs = Math.min(hourMs, Math.max(pauseMsMin, retryAfterMs ?? usualMs));
  const pausedUntil = Math.max(state.pausedUntil, state.at + pauseMs);
  return { ...state, pausedUntil, refusals: state.refusals + (isPaused ? 0 : 1) };
}
