import { Problem } from '../problem.js';

const HOUR_MS = 3_600_000;

/** What tells how many credentials were issued lately. */
export interface Issues {
  readonly now: Date;
  /** When credentials were issued that count against the limit, newest first. */
  listIssued(since: Date, limit: number): Promise<Date[]>;
}

/**
 * Checks that another credential may be issued within the hour.
 *
 * @param detail what to tell who asks for one too many
 * @throws Problem `rate_limit_exceeded`, with the time of the next one
 */
export async function checkPerHour({ now, listIssued }: Issues, perHour: number, detail: string): Promise<void> {
  const issued = await listIssued(new Date(now.getTime() - HOUR_MS), perHour);
  const oldest = issued.at(-1);
  if (issued.length < perHour || oldest === undefined) return;
  const waitMs = oldest.getTime() + HOUR_MS - now.getTime();
  throw new Problem('rate_limit_exceeded', detail, { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) });
}
