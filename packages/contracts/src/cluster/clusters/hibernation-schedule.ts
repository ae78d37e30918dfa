import type { JSONSchema } from 'json-schema-to-ts';
import { closed } from '../../schema-objects.js';
import { textRules } from '../../text-rules.js';

export const weekdayNames = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
export type Weekday = (typeof weekdayNames)[number];

export const scheduleDefaults: Omit<HibernationSchedule, 'awake'> = { timeZone: 'UTC', exceptions: [] };

const from = { type: 'string', maxLength: 5, pattern: textRules.timeOfDay.pattern } as const satisfies JSONSchema;
const until = {
  type: 'string',
  maxLength: 5,
  pattern: textRules.endOfHours.pattern,
  description: 'Later than `from`; `24:00` is the end of the day.',
} as const satisfies JSONSchema;

export const hibernationScheduleSchema = {
  ...closed(['awake'], {
    timeZone: {
      type: 'string',
      maxLength: 64,
      pattern: textRules.timeZone.pattern,
      default: scheduleDefaults.timeZone,
      description: 'Name in the IANA database, such as `Europe/Berlin`.',
    },
    awake: {
      type: 'array',
      maxItems: 14,
      items: closed(['weekdays', 'from', 'until'], {
        weekdays: { type: 'array', minItems: 1, maxItems: 7, uniqueItems: true, items: { enum: weekdayNames } },
        from,
        until,
      }),
      description: 'The hours in which the cluster is awake. Without any, the cluster has no schedule.',
    },
    exceptions: {
      type: 'array',
      maxItems: 100,
      default: scheduleDefaults.exceptions,
      items: closed(['date'], {
        date: { type: 'string', maxLength: 10, pattern: textRules.date.pattern },
        from,
        until,
      }),
      description: 'Dates with hours of their own. Without `from` and `until`, the cluster sleeps all day.',
    },
  }),
  description:
    'When the cluster is awake; at other times it is hibernated. It changes at the times of the schedule: a cluster that is hibernated or ' +
    'resumed in between stays so until the next one. Absent: unchanged; none for a new cluster.',
} as const satisfies JSONSchema;

/** The hours in which a cluster is awake, in the time of its zone. */
export interface HibernationSchedule {
  timeZone: string;
  awake: { weekdays: Weekday[]; from: string; until: string }[];
  exceptions: { date: string; from?: string; until?: string }[];
}
/** Absent fields have their default. */
export type HibernationScheduleInput = Pick<HibernationSchedule, 'awake'> & Partial<HibernationSchedule>;

/** `awake mon tue 07:00-20:00 Europe/Berlin` */
export function scheduleText({ awake, timeZone }: Pick<HibernationSchedule, 'awake' | 'timeZone'>): string {
  const hours = awake.map(({ weekdays, from, until }) => {
    return `${weekdays.map((day) => day.slice(0, 3)).join(' ')} ${from}-${until}`;
  });
  return `awake ${hours.join(', ')} ${timeZone}`;
}
