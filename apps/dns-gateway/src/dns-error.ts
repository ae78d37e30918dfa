import { type DnsErrorCode, type DnsErrorDetails, dnsErrorCodes } from '@corral/contracts';
import type { RecordQuota } from '@corral/dns-mirror';

// Thrown where nobody waits for an answer any more, and nothing has happened.
export { ClientGone } from '@corral/service';

/** Null is what nobody knows. */
export interface SpentBudget {
  readonly limit: number | null;
  readonly remaining: 0;
  /** When a request will be served. */
  readonly resetAt: Date;
}

export interface DnsErrorOptions {
  readonly details?: DnsErrorDetails;
  /** Seconds, whole and at least 1. */
  readonly retryAfterSeconds?: number;
  /** What a request was one too many for, where that is none of the caller's own limits. */
  readonly budget?: SpentBudget;
  /** Only for our log. */
  readonly cause?: unknown;
}

/**
 * The one error of this API. `message` is for the caller and says what to do; it holds no ids and no times, because
 * clients show it in places where a changing text counts as a change.
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

/** The same for what is absent and for what the caller may not see. */
export function notFound(what: 'zone' | 'record set' | 'action' | 'demo' | 'path'): DnsError {
  return new DnsError('not_found', `The ${what} does not exist.`);
}

export function tokenUnknown(): DnsError {
  return new DnsError('unauthorized', 'The token is unknown, expired or revoked.');
}

/** For a while: a dependency of ours is away. */
export function unavailable(cause?: unknown): DnsError {
  return new DnsError('unavailable', 'The service is temporarily unavailable. Send the request again in a moment.', {
    retryAfterSeconds: 5,
    cause,
  });
}

/** Whether it happened or not: who sends it again, gets one outcome. */
export function upstreamUnavailable(cause?: unknown, { waitingHelps = true } = {}): DnsError {
  return new DnsError(
    'upstream_unavailable',
    'The upstream provider is unreachable or returned no usable answer. Sending the same request again is safe.',
    { cause, ...(waitingHelps ? { retryAfterSeconds: 5 } : {}) },
  );
}

/** @param retryAfterSeconds when there is a turn for it, where that is known */
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

/** Who comes after the time that it is told has its turn. */
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
