import { GardenError, type GardenErrorKind } from '@corral/garden';
import { Problem } from '../problem.js';

export type IssueOutcome = { readonly issued: true; readonly expiresAt: Date } | { readonly issued: false };

/** Errors after which no credential can exist. After all others one may exist. */
const notIssued = new Set<GardenErrorKind>([
  'unreachable',
  'throttled',
  'credentials',
  'rbac',
  'refused',
  'webhook_unavailable',
  'quota_exceeded',
  'stale_reference',
  'conflict',
  'exists',
  'not_found',
  'expired',
  'server_error',
]);

export const isSurelyNotIssued = (error: unknown): boolean => error instanceof GardenError && notIssued.has(error.kind);

const HOUR_MS = 3_600_000;

/** Access to the credentials that were issued recently. */
export interface Issues {
  readonly now: Date;
  /** When credentials of the caller, who shares the limit with nobody, were issued, newest first. */
  listIssued(since: Date, limit: number): Promise<Date[]>;
}

/**
 * Checks that another credential may be issued. The limit counts the last 60 minutes.
 *
 * @param detail the message for a request above the limit
 * @throws Problem `rate_limit_exceeded`, with the seconds until the next one is allowed
 */
export async function checkPerHour({ now, listIssued }: Issues, perHour: number, detail: string): Promise<void> {
  const issued = await listIssued(new Date(now.getTime() - HOUR_MS), perHour);
  const oldest = issued.at(-1);
  if (issued.length < perHour || oldest === undefined) return;
  const waitMs = oldest.getTime() + HOUR_MS - now.getTime();
  throw new Problem('rate_limit_exceeded', detail, { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) });
}
