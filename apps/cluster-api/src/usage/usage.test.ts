import { describe, expect, it } from '@jest/globals';
import { type AskedRange, type HourRecord, type UsageRange, usageRangeOf, usageSeries } from './rules.js';

describe('series', () => {
  const NOW = Date.parse('2026-11-24T10:20:00.000Z');
  const at = (time: string): number => Date.parse(`2026-11-${time}Z`);
  const hours = (from: string, to: string): UsageRange => ({ step: 'hour', from: at(from), to: at(to) });
  const days = (from: string, to: string): UsageRange => ({ step: 'day', from: at(from), to: at(to) });

  const aRecord = (hour: string, more: Partial<HourRecord> = {}): HourRecord => ({
    hour: new Date(at(hour)),
    isFinal: true,
    requests: 10,
    writes: 2,
    refusedWrites: 1,
    sampledAt: new Date(at(hour)),
    records: 7,
    recordsLimit: 200,
    dnsTokens: 1,
    clusters: 2,
    nodes: 3,
    costMinimum: '1.5',
    costMaximum: '3',
    costCurrency: 'EUR',
    ...more,
  });
  const notSampled: Partial<HourRecord> = {
    sampledAt: null,
    records: null,
    recordsLimit: null,
    dnsTokens: null,
    clusters: null,
    nodes: null,
    costMinimum: null,
    costMaximum: null,
    costCurrency: null,
  };
  const gap = {
    recordedHours: 0,
    requests: null,
    writes: null,
    refusedWrites: null,
    records: { used: null, limit: null },
    dnsTokens: null,
    clusters: null,
    nodes: null,
    cost: { currency: null, minimum: null, maximum: null },
  };
  const points = (records: readonly HourRecord[], range: UsageRange) => usageSeries(records, range, NOW).points;

  describe('usage in hours', () => {
    it('shows counters without the rest for an hour that was added up late', () => {
      const [point] = points([aRecord('24T08:00', notSampled)], hours('24T08:00', '24T09:00'));

      expect(point).toEqual({
        ...gap,
        from: '2026-11-24T08:00:00.000Z',
        complete: true,
        recordedHours: 1,
        requests: 10,
        writes: 2,
        refusedWrites: 1,
      });
    });

    it('does not show counters that were never added up to the end of their hour', () => {
      const [point] = points([aRecord('22T08:00', { isFinal: false })], hours('22T08:00', '22T09:00'));

      expect(point).toMatchObject({ complete: true, requests: null, writes: null, refusedWrites: null, nodes: 3 });
    });

    it('counts a gap as complete once it is not added up any more', () => {
      const range = hours('23T08:00', '23T11:00');

      expect(points([], range).map(({ complete }) => complete)).toEqual([true, true, false]);
    });
  });

  describe('usage in days', () => {
    it('adds up the counters that are known and shows the last state of the day', () => {
      const records = [
        aRecord('22T00:00', { nodes: 9 }),
        aRecord('22T12:00', { requests: null, nodes: 5, records: 8 }),
        aRecord('22T23:00', notSampled),
        aRecord('23T00:00', { nodes: 1 }),
      ];

      const [first, second, third] = points(records, days('22T00:00', '25T00:00'));

      expect(first).toMatchObject({ recordedHours: 3, requests: 20, writes: 6, nodes: 5, records: { used: 8 } });
      expect(second).toMatchObject({ recordedHours: 1, requests: 10, nodes: 1, complete: false });
      expect(third).toEqual({ from: '2026-11-24T00:00:00.000Z', complete: false, ...gap });
    });

    it('shows an unknown cost as unknown, also if it was known before on that day', () => {
      const records = [
        aRecord('22T01:00'),
        aRecord('22T02:00', { costMinimum: null, costMaximum: null, costCurrency: null }),
      ];

      expect(points(records, days('22T00:00', '23T00:00'))[0]?.cost).toEqual({
        currency: null,
        minimum: null,
        maximum: null,
      });
    });
  });
});

describe('a range of usage', () => {
  const NOW = Date.parse('2026-11-24T10:20:30.000Z');
  const ask = (step: AskedRange['step'], from: string | null, to: string | null) =>
    usageRangeOf({ step, from: from === null ? null : new Date(from), to: to === null ? null : new Date(to) }, NOW);

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
    ['reads times with an offset', 'hour', '2026-11-24T10:00+01:00', null, '2026-11-24T09:00Z', '2026-11-24T11:00Z'],
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
