import { textRules } from '../text-rules.js';

/** The label of a record set that ends by itself. Its value has the form of `textRules.expires`. */
export const expiresLabel = 'corral/expires';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const form = new RegExp(textRules.expires.pattern);
const durationForm = /^(\d+)([hd])$/;
const timeForm = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2})\.(\d{2})Z)?$/;
/** The longest time between a reminder and the end. A set that lives for a shorter time is reminded of at half of it. */
const REMIND_MS = 3 * DAY_MS;

/**
 * Says when a record set ends: a duration counts from its last change, a date is a whole day in UTC.
 *
 * @param labels those of the set
 * @returns null if it has no end, or one that cannot be read
 */
export function endOfRrset(labels: Readonly<Record<string, string>>, changedAt: Date): Date | null {
  const text = Object.hasOwn(labels, expiresLabel) ? (labels[expiresLabel] as string) : '';
  if (!form.test(text)) return null;
  const [, amount, unit] = durationForm.exec(text) ?? [];
  if (amount !== undefined) return new Date(changedAt.getTime() + Number(amount) * (unit === 'd' ? DAY_MS : HOUR_MS));
  const [, day, hour, minute] = timeForm.exec(text) ?? [];
  const end = Date.parse(`${day}T${hour ?? '00'}:${minute ?? '00'}:00Z`) + (hour === undefined ? DAY_MS : 0);
  return Number.isNaN(end) ? null : new Date(end);
}

/** What is to be done about a record set that has an end. */
export function dueAtEnd(endsAt: Date, changedAt: Date, now: Date): 'nothing' | 'reminder' | 'deletion' {
  const leftMs = endsAt.getTime() - now.getTime();
  if (leftMs <= 0) return 'deletion';
  return leftMs <= Math.min(REMIND_MS, (endsAt.getTime() - changedAt.getTime()) / 2) ? 'reminder' : 'nothing';
}
