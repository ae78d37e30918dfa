import { dnsLimits } from '@corral/contracts';

/** The last time to which a demo can be extended. */
export const lastExpiryOf = (createdAt: Date): Date => secondsAfter(createdAt, dnsLimits.demoTtlSecondsMax);

/** Finds when a demo expires that is extended by `ttlSeconds` from now: the longest lifetime counts from its creation. */
export function extendedExpiry(createdAt: Date, now: Date, ttlSeconds: number): Date {
  return new Date(Math.min(secondsAfter(now, ttlSeconds).getTime(), lastExpiryOf(createdAt).getTime()));
}

export const secondsAfter = (time: Date, seconds: number): Date => new Date(time.getTime() + seconds * 1_000);
