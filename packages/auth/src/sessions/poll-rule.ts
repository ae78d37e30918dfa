import { clusterLimits } from '@corral/contracts';

/** What is known of a device code when it is polled. */
export interface PolledCode {
  readonly expiresAt: Date;
  /** The poll before; null for the first one. */
  readonly polledAt: Date | null;
  readonly pollSeconds: number;
  readonly decidedAt: Date | null;
  /** Null if nobody has allowed it. */
  readonly allowedBy: string | null;
  readonly usedAt: Date | null;
}

/** Codes of RFC 8628 section 3.5. */
export type PollRefusal = 'authorization_pending' | 'slow_down' | 'access_denied' | 'expired_token' | 'invalid_grant';

/** The machine counts from the arrival of an answer, and its clock is another one. In ms. */
const LEEWAY_MS = 1_000;

/** @returns null when the code gives a session */
export function refusalOfPoll(code: PolledCode, now: Date): PollRefusal | null {
  const { expiresAt, polledAt, pollSeconds, decidedAt, allowedBy, usedAt } = code;
  if (usedAt !== null) return 'invalid_grant';
  if (expiresAt <= now) return 'expired_token';
  if (decidedAt !== null) return allowedBy === null ? 'access_denied' : null;
  if (polledAt === null) return 'authorization_pending';
  const isEarly = now.getTime() - polledAt.getTime() < pollSeconds * 1_000 - LEEWAY_MS;
  return isEarly ? 'slow_down' : 'authorization_pending';
}

/** The pause after a poll. */
export const pauseAfter = (refusal: PollRefusal | null, pollSeconds: number): number =>
  refusal === 'slow_down' ? pollSeconds + clusterLimits.devicePollSeconds : pollSeconds;
