import { clusterLimits } from '@corral/contracts';
import type { Request } from 'express';

/** The preference `wait` among others, at most so long that a number is exact (RFC 7240). */
const waitIn = /(?:^|,)[ \t]*wait[ \t]*=[ \t]*"?(\d{1,9})"?[ \t]*(?:[;,]|$)/i;

/** @returns the seconds for which the client prefers to wait, bounded; 0 for none, and for one that is not valid */
export function preferredWaitSeconds({ headers }: Pick<Request, 'headers'>): number {
  const text = [headers.prefer ?? []].flat().join(', ');
  return Math.min(Number(waitIn.exec(text)?.[1] ?? 0), clusterLimits.operationWaitSecondsMax);
}
