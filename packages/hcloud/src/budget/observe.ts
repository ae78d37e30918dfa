import { type BudgetState, committedOf, levelOf, rateOf, setLevelOf, setLimit } from './budget-state.js';
import type { Statement } from './rate-limit-headers.js';

/** A statement of the upstream with what is needed to judge how old it is. */
export interface Observation extends Statement {
  /** `ended` of the account, as known before the call began; null when that was another account. It has grown by one at
   * least when the statement is reckoned with: by the call itself, which the upstream has counted. */
  readonly endedBefore: number | null;
}

/** A statement is a moment old when it is reckoned with: so much may have flowed in meanwhile. */
const statementMsMax = 2_000;

/**
 * Brings the account in line with what the upstream stated.
 *
 * When it made its statement, the upstream may not have counted calls that were under way. These are at most those
 * still handed out and those that ended since this call began; so what is left for sure is the statement less those.
 * An account below that is raised to it: that is also how what a dead replica never used comes back. An account far
 * above the statement is wrong, because somebody else uses the project too: it falls to what is left for sure. One
 * that is a little above, by what flowed in since and by the fraction that a whole number hides, falls to the statement.
 */
export function observe(state: BudgetState, { limit, remaining, endedBefore }: Observation): BudgetState {
  const limited = limit === null || limit === state.limit ? state : setLimit(state, limit);
  const level = levelOf(limited);
  const uncounted = endedBefore === null ? null : committedOf(limited) + Math.max(0, limited.ended - endedBefore - 1);
  const isFarAbove = level > remaining + 1 + rateOf(limited) * statementMsMax;
  if (uncounted !== null && (isFarAbove || level < remaining - uncounted)) {
    return setLevelOf(limited, remaining - uncounted);
  }
  return level > remaining ? setLevelOf(limited, remaining) : limited;
}

const hourMs = 3_600_000;
/** A `Retry-After: 0` must not become a busy loop. */
const pauseMsMin = 100;
/** Without a `Retry-After`: a second at first, and longer as long as nothing else is answered. */
const pauseMsUsual = 1_000;
const pauseMsUsualMax = 60_000;

/** Takes note of a 429. @param retryAfterMs what it says, null when it names no time */
export function observeRefusal(state: BudgetState, retryAfterMs: number | null): BudgetState {
  const usualMs = Math.min(pauseMsUsualMax, pauseMsUsual * 2 ** Math.min(16, state.refusals));
  const pauseMs = Math.min(hourMs, Math.max(pauseMsMin, retryAfterMs ?? usualMs));
  const pausedUntil = Math.max(state.pausedUntil, state.at + pauseMs);
  return { ...state, pausedUntil, refusals: state.refusals + 1 };
}
