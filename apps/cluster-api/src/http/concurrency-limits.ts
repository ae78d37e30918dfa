import { places } from '@corral/admission';
import type { TeamId } from '@corral/contracts';
import { Problem } from '../problem.js';

const RETRY_SECONDS = 10;

/** A team takes at most this part of what a process has. */
export const shareOfTeam = (perProcess: number): number => Math.max(1, Math.floor(perProcess / 4));

export interface ConcurrencyLimits {
  readonly perTeam: number;
  readonly perProcess: number;
}

/**
 * Limits long-running work: at most `max` concurrent pieces per key. Further requests are refused with a retry time.
 *
 * @param what in the plural, for the refusal
 */
export function concurrencyLimit(max: number, what: string) {
  const slots = places(max);
  /** @throws Problem `rate_limit_exceeded` */
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const leave = slots.take(key);
    if (leave === null) {
      const detail = `${what}: the limit is ${max} at the same time. Wait until one has finished.`;
      throw new Problem('rate_limit_exceeded', detail, { retryAfterSeconds: RETRY_SECONDS });
    }
    try {
      return await work();
    } finally {
      leave();
    }
  };
}

/**
 * The same for work of teams. No team takes more than a quarter of the process's limit.
 *
 * @param what in the plural, for the refusal
 */
export function teamConcurrencyLimit({ perTeam, perProcess }: ConcurrencyLimits, what: string) {
  const ofTeam = concurrencyLimit(Math.min(perTeam, shareOfTeam(perProcess)), `${what} of the team`);
  const ofProcess = concurrencyLimit(perProcess, `${what} of this replica`);
  /** @throws Problem `rate_limit_exceeded` */
  return <T>(teamId: TeamId, work: () => Promise<T>): Promise<T> => ofTeam(teamId, () => ofProcess('', work));
}
