import { type HibernationSchedule, parseTime } from '@corral/contracts';
import { checkAll, invalidField } from '../../problem.js';

const PLACE = '/spec/hibernationSchedule';

/** @throws Problem `validation_failed` with each field that makes no sense */
export function checkSchedule({ timeZone, awake, exceptions }: HibernationSchedule): void {
  checkAll([
    () => {
      if (isTimeZone(timeZone)) return;
      throw invalidField(
        'validation_failed',
        `${PLACE}/timeZone`,
        'is not a known time zone. Name one such as Europe/Berlin',
      );
    },
    ...awake.map((hours, index) => () => checkHours(hours, `${PLACE}/awake/${index}`)),
    ...exceptions.map(
      ({ date }, index) =>
        () =>
          checkDate(date, `${PLACE}/exceptions/${index}`),
    ),
    ...exceptions.map((hours, index) => () => checkHours(hours, `${PLACE}/exceptions/${index}`)),
  ]);
}

function checkHours({ from, until }: { readonly from?: string; readonly until?: string }, place: string): void {
  if (from === undefined && until === undefined) return;
  // Both have two digits each, so texts are in the order of times.
  if (from !== undefined && until !== undefined && from < until) return;
  const why =
    from === undefined || until === undefined ? 'needs both from and until, or neither' : 'must be later than from';
  throw invalidField('validation_failed', `${place}/until`, why);
}

/** A day that the calendar does not have, such as 30 February, would never come. */
function checkDate(date: string, place: string): void {
  if (parseTime(`${date}T00:00:00Z`) !== null) return;
  throw invalidField('validation_failed', `${place}/date`, 'must be a day of the calendar such as 2026-12-24');
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== null;
  } catch {
    return false;
  }
}
