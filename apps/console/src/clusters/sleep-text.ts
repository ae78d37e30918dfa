import type { SleepState } from '@corral/contracts';

/**
 * "asleep until Mon 7 Dec 07:00", in the time zone of the schedule.
 *
 * @param hibernated what is declared: a person may have decided otherwise
 */
export function sleepText({ asleep, until }: SleepState, hibernated: boolean): string {
  const says = `${asleep ? 'asleep' : 'awake'}${until === null ? ' for good' : ` until ${dateText(until.date)} ${until.time}`}`;
  if (asleep === hibernated) return says;
  return `${says}, but the cluster is ${hibernated ? 'asleep' : 'awake'} until the schedule changes it`;
}

const dateText = (date: string): string =>
  new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' })
    .format(Date.parse(date))
    .replace(',', '');
