import { describe, expect, it } from '@jest/globals';
import { type AskedRange, usageRangeOf } from './range.js';

const NOW = Date.parse('2026-11-24T10:20:30.000Z');
const ask = (step: AskedRange['step'], from: string | null, to: string | null) =>
  usageRangeOf({ step, from: from === null ? null : new Date(from), to: to === null ? null : new Date(to) }, NOW);

describe('a range of usage', () => {
  it.each<[string, AskedRange['step'], string | null, string | null, string, string]>([
    ['is by default the last 7 days in hours', 'hour', null, null, '2026-11-17T11:00Z', '2026-11-24T11:00Z'],
    ['in days ends with the current day', 'day', null, null, '2026-11-18T00:00Z', '2026-11-25T00:00Z'],
    [
      'is extended to whole hours',
      'hour',
      '2026-11-24T08:59Z',
      '2026-11-24T09:01Z',
      '2026-11-24T08:00Z',
      '2026-11-24T10:00Z',
    ],
    [
      'is extended to whole days',
      'day',
      '2026-11-20T23:59Z',
      '2026-11-21T00:01Z',
      '2026-11-20T00:00Z',
      '2026-11-22T00:00Z',
    ],
    [
      'may end with the current hour',
      'hour',
      '2026-11-24T09:00Z',
      '2026-11-24T11:00Z',
      '2026-11-24T09:00Z',
      '2026-11-24T11:00Z',
    ],
    [
      'may be a part of one hour',
      'hour',
      '2026-11-24T09:10Z',
      '2026-11-24T09:20Z',
      '2026-11-24T09:00Z',
      '2026-11-24T10:00Z',
    ],
    ['reads times with an offset', 'hour', '2026-11-24T10:00+01:00', null, '2026-11-24T09:00Z', '2026-11-24T11:00Z'],
    [
      'crosses a change of daylight saving time',
      'day',
      '2026-10-24T00:00Z',
      '2026-10-27T00:00Z',
      '2026-10-24T00:00Z',
      '2026-10-27T00:00Z',
    ],
    ['has up to 1,000 days', 'day', '2024-02-29T00:00Z', null, '2024-02-29T00:00Z', '2026-11-25T00:00Z'],
  ])('%s', (_what, step, from, to, first, last) => {
    expect(ask(step, from, to)).toEqual({ step, from: Date.parse(first), to: Date.parse(last) });
  });

  it.each<[string, AskedRange['step'], string | null, string | null, 'from' | 'to', RegExp]>([
    ['ends in the future', 'hour', null, '2026-11-24T11:00:00.001Z', 'to', /future/],
    ['begins in the future', 'hour', '2026-11-24T11:00Z', null, 'from', /future/],
    ['begins and ends in the future', 'day', '2027-01-01T00:00Z', '2027-01-02T00:00Z', 'to', /future/],
    ['is empty', 'hour', '2026-11-24T09:10Z', '2026-11-24T09:10Z', 'to', /after from/],
    ['ends before it begins', 'hour', '2026-11-24T09:20Z', '2026-11-24T09:10Z', 'to', /after from/],
    ['has 1,001 hours', 'hour', '2026-10-13T18:00Z', null, 'from', /1000 hours.*step=day/],
    ['has 1,001 days', 'day', '2024-02-28T00:00Z', null, 'from', /1000 days/],
    ['begins in the year 1', 'day', '0001-01-01T00:00Z', null, 'from', /1000 days/],
  ])('is refused when it %s', (_what, step, from, to, parameter, reason) => {
    expect(ask(step, from, to)).toEqual({ parameter, reason: expect.stringMatching(reason) });
  });
});
