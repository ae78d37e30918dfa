import { type DnsErrorCode, type DnsErrorDetails, dnsErrorCodes } from '@corral/contracts';
import type { RecordQuota } from '@corral/dns-data';

/** A used-up request budget. Null when unknown. */
export interface SpentBudget {
  readonly limit: number | null;
  readonly remaining: 0;
  /** The time from which a request is served again. */
  readonly resetAt: Date;
}

export interface DnsErrorOptions {
  readonly details?: DnsErrorDetails;
  /** Whole seconds, at least 1. */
  readonly retryAfterSeconds?: number;
  /** The used-up budget, when it is not one of the caller's own limits. */
  readonly budget?: SpentBudget;
  /** The cause, for our log only. */
  readonly cause?: unknown;
}

/**
 * The only error class of this API. `message` tells the caller what to do. It contains no ids or times, because clients show it
 * in places where a changed text counts as a change.
 */
export class DnsError extends Error {
  override readonly name = 'DnsError';
  readonly details: DnsErrorDetails;
  readonly retryAfterSeconds: number | null;
  readonly budget: SpentBudget | null;

  constructor(
    readonly code: DnsErrorCode,
    message: string,
    { details = null, retryAfterSeconds, budget, cause }: DnsErrorOptions = {},
  ) {
    super(message, { cause });
    this.details = details;
    this.retryAfterSeconds = retryAfterSeconds ?? null;
    this.budget = budget ?? null;
  }

  get status(): number {
    return dnsErrorCodes[this.code].status;
  }
}

/** One wrong field of a body or query. */
export function invalidInput(name: string, message: string): DnsError {
  return new DnsError('invalid_input', `${name} ${message}`, { details: { fields: [{ name, messages: [message] }] } });
}

/** The same for absent resources and for those that the caller may not see. */
export function notFound(what: 'zone' | 'record set' | 'action' | 'demo' | 'path'): DnsError {
  return new DnsError('not_found', `The ${what} does not exist.`);
}

export function tokenUnknown(): DnsError {
  return new DnsError('unauthorized', 'The token is unknown, expired or revoked.');
}

const HOLD_RETRY_SECONDS = 60;

/** Operators compare a restored database with the upstream. Reads are served from the mirror meanwhile. */
export function changesAreHeld(): DnsError {
  return new DnsError(
    'unavailable',
    'The operators have stopped changes for now. Nothing was changed. Send the request again later.',
    { retryAfterSeconds: HOLD_RETRY_SECONDS },
  );
}

export function teamSuspended(): DnsError {
  return new DnsError('forbidden', 'The team is suspended: it can read, but change nothing. Ask the operators.');
}

export function databaseUnavailable(cause: unknown): DnsError {
  return new DnsError('unavailable', 'The database is unavailable. Send the request again in a moment.', {
    retryAfterSeconds: 5,
    cause,
  });
}

/** The write may or may not have happened. Repeating the request leads to one outcome. */
export function upstreamUnavailable(cause?: unknown, { waitingHelps = true } = {}): DnsError {
  return new DnsError(
    'upstream_unavailable',
    'The upstream provider is unreachable or returned no usable answer. Sending the same request again is safe.',
    { cause, ...(waitingHelps ? { retryAfterSeconds: 5 } : {}) },
  );
}

/** @param retryAfterSeconds when a place becomes free, if known */
export function tooManyWait(retryAfterSeconds = 1): DnsError {
  return new DnsError(
    'rate_limit_exceeded',
    'Too many writes with this token are waiting. Send the request again after the time in Retry-After.',
    { retryAfterSeconds },
  );
}

const usedUpUpstream = {
  share: 'Your share of the upstream provider’s request budget is used up. Others are still served.',
  budget: 'The upstream provider’s request budget of all teams together is used up.',
} as const;

/** A request after the Retry-After time is served. */
export function upstreamUsedUp(
  usedUp: keyof typeof usedUpUpstream,
  { retryAfterSeconds, budget }: { retryAfterSeconds: number; budget: SpentBudget },
): DnsError {
  const message = `${usedUpUpstream[usedUp]} Send the request again after the time in Retry-After.`;
  return new DnsError('rate_limit_exceeded', message, { retryAfterSeconds, budget });
}

export function setIsBusy(): DnsError {
  return new DnsError('conflict', 'Another write to this record set is still running. Send the request again.');
}

const limited = {
  recordsPerTeam: { what: 'team', name: 'records_per_team' },
  recordsPerDemo: { what: 'demo', name: 'records_per_demo' },
  recordsPerRrset: { what: 'record set', name: 'records_per_rrset' },
} as const satisfies Record<keyof RecordQuota, object>;

export function quotaExceeded(limit: keyof RecordQuota, max: number): DnsError {
  const { what, name } = limited[limit];
  return new DnsError(
    'resource_limit_exceeded',
    `A ${what} can have at most ${max} records. Delete some records first.`,
    {
      details: { limits: [{ name }] },
    },
  );
}
