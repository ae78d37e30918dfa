import { describe, expect, it } from '@jest/globals';
import { awakeShareOf, type HibernationSchedule, sleepStateAt, sleepsAt } from '../src/index.js';

const workdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'] as const;
const office: HibernationSchedule = {
  timeZone: 'Europe/Berlin',
  awake: [{ weekdays: [...workdays], from: '07:00', until: '20:00' }],
  exceptions: [{ date: '2026-12-24', from: '08:00', until: '14:00' }, { date: '2026-12-25' }],
};

const nights: HibernationSchedule = {
  timeZone: 'Europe/Berlin',
  awake: [{ weekdays: ['sunday'], from: '02:30', until: '24:00' }],
  exceptions: [],
};

describe('a cluster with a schedule', () => {
  it.each([
    ['sleeps before its hours', office, '2026-06-01T04:59:59Z', true],
    ['is awake from their first minute', office, '2026-06-01T05:00:00Z', false],
    ['sleeps from the minute at which they end', office, '2026-06-01T18:00:00Z', true],
    ['sleeps on other days', office, '2026-06-06T10:00:00Z', true],
    ['is awake by the winter time of its zone', office, '2026-01-05T06:00:00Z', false],
    ['sleeps by the winter time of its zone', office, '2026-01-05T05:59:00Z', true],
    ['sleeps on a date without hours', office, '2026-12-25T10:00:00Z', true],
    ['is awake in the hours of a date', office, '2026-12-24T07:00:00Z', false],
    ['sleeps outside of the hours of a date', office, '2026-12-24T13:00:00Z', true],
    ['takes the date from the clock of its zone', office, '2026-12-25T23:30:00Z', true],
    ['wakes after an hour that the clock skips, as 02:30 never comes', nights, '2026-03-29T01:00:00Z', false],
    ['sleeps until that hour', nights, '2026-03-29T00:59:00Z', true],
    ['sleeps again when the clock goes back', nights, '2026-10-25T01:15:00Z', true],
    ['wakes the second time', nights, '2026-10-25T01:30:00Z', false],
    ['is awake until the end of the day', nights, '2026-10-25T22:59:00Z', false],
    ['sleeps from midnight', nights, '2026-10-25T23:00:00Z', true],
  ])('%s', (_what, schedule, at, sleeps) => {
    expect(sleepsAt(schedule, new Date(at))).toBe(sleeps);
  });
});

const always: HibernationSchedule['awake'] = [
  { weekdays: [...workdays, 'saturday', 'sunday'], from: '00:00', until: '24:00' },
];

describe('what a schedule says next', () => {
  it.each([
    ['asleep in the night until the morning', office, '2026-06-01T20:00:00Z', true, '2026-06-02 07:00'],
    ['asleep at the weekend until Monday', office, '2026-06-06T10:00:00Z', true, '2026-06-08 07:00'],
    ['awake until the evening', office, '2026-06-01T05:00:00Z', false, '2026-06-01 20:00'],
    ['asleep over dates without hours', office, '2026-12-24T14:00:00Z', true, '2026-12-28 07:00'],
    [
      'awake over midnight',
      { ...office, awake: always, exceptions: [{ date: '2027-03-01' }] },
      '2026-06-01T05:00:00Z',
      false,
      '2027-03-01 00:00',
    ],
    ['awake for good', { ...office, awake: always, exceptions: [] }, '2026-06-01T05:00:00Z', false, null],
  ] as const)('is %s', (_what, schedule, at, asleep, until) => {
    const [date, time] = until?.split(' ') ?? [];
    const state = sleepStateAt(schedule as HibernationSchedule, new Date(at));
    expect(state).toEqual({ asleep, until: until === null ? null : { date, time } });
  });
});

describe('the awake part of a week', () => {
  it.each([
    ['of working days', office.awake, (5 * 13) / 168],
    ['of hours that overlap', [office.awake[0], { weekdays: ['monday'], from: '06:00', until: '10:00' }], 66 / 168],
    ['of whole days', [{ weekdays: ['sunday'], from: '00:00', until: '24:00' }], 1 / 7],
  ])('is that %s', (_what, awake, share) => {
    expect(awakeShareOf({ awake: awake as HibernationSchedule['awake'] })).toBeCloseTo(share);
  });
});
