import type { UsagePoint } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isAlone, labelOf, type PlotRow, plotSeriesOf, summaryOf, tickOf, ticksOf } from './plot-rows.js';
import { firstOf, usageWindowOf, usageWindows } from './usage-range.js';

const HOUR_MS = 3_600_000;
const START = Date.parse('2026-10-24T00:00:00.000Z');
const aPoint = (hour: number, more: Partial<UsagePoint> = {}): UsagePoint => ({
  from: new Date(START + hour * HOUR_MS).toISOString(),
  complete: true,
  recordedHours: 1,
  requests: 5,
  writes: 2,
  refusedWrites: 1,
  records: { used: 10, limit: 200 },
  dnsTokens: 1,
  clusters: 1,
  nodes: 2,
  cost: { currency: 'EUR', minimum: '13.6', maximum: '40.80' },
  ...more,
});
const cost = (currency: string | null, minimum: string | null) => ({ cost: { currency, minimum, maximum: minimum } });
const row = (requests: number | null): PlotRow => ({ ...(plotSeriesOf([aPoint(0)]).rows[0] as PlotRow), requests });

describe('the rows of plots', () => {
  it('keep gaps as null', () => {
    const { rows } = plotSeriesOf([aPoint(0), aPoint(1, { requests: null, records: { used: null, limit: null } })]);

    expect(rows[0]).toEqual({
      at: START,
      requests: 5,
      writes: 2,
      refusedWrites: 1,
      records: 10,
      recordsLimit: 200,
      clusters: 1,
      nodes: 2,
      cost: [13.6, 40.8],
    });
    expect(rows[1]).toMatchObject({ requests: null, records: null, recordsLimit: null });
  });

  it('have costs in one currency: the newest', () => {
    const points = [
      aPoint(0, cost(null, '0')),
      aPoint(1, cost('USD', '1')),
      aPoint(2, cost('EUR', '2')),
      aPoint(3, cost(null, null)),
    ];

    const { rows, currency } = plotSeriesOf(points);

    expect(currency).toBe('EUR');
    expect(rows.map((each) => each.cost)).toEqual([[0, 0], null, [2, 2], null]);
  });
});

describe('a value counts as alone', () => {
  it.each<[string, (number | null)[], boolean[]]>([
    ['between two gaps', [null, 1, null], [false, true, false]],
    ['at the start or the end', [1, null, 2], [true, false, true]],
    ['but not beside another, even a zero', [0, 1, null], [false, false, false]],
    ['by itself', [1], [true]],
  ])('%s', (_what, values, alone) => {
    const rows = values.map(row);

    expect(rows.map((_row, index) => isAlone(rows, 'requests', index))).toEqual(alone);
  });
});

describe('a summary', () => {
  it('ignores gaps, and is null without values', () => {
    expect(summaryOf([row(3), row(null), row(7), row(1), row(null)], 'requests')).toEqual({
      total: 11,
      peak: 7,
      last: 1,
    });
    expect(summaryOf([row(null)], 'requests')).toBeNull();
  });
});

describe('times', () => {
  it('are those of UTC, also on the day of a change of daylight saving time', () => {
    const midnight = START + 24 * HOUR_MS;

    expect([tickOf(midnight, 'hour', 24), tickOf(midnight, 'hour', 168), tickOf(midnight, 'day', 30)]).toEqual([
      '00:00',
      '25 Oct',
      '25 Oct',
    ]);
    expect([labelOf(midnight, 'hour'), labelOf(midnight, 'day')]).toEqual(['25 Oct, 00:00', 'Sun, 25 Oct 2026']);
  });

  it('of hours over several days are marked at the start of each day', () => {
    const rows = plotSeriesOf(Array.from({ length: 72 }, (_, hour) => aPoint(hour + 5))).rows;

    expect(ticksOf(rows, 'hour')).toEqual([24, 48, 72].map((hour) => START + hour * HOUR_MS));
    expect(ticksOf(rows.slice(0, 24), 'hour')).toBeUndefined();
    expect(ticksOf(rows, 'day')).toBeUndefined();
  });

  it('of a window give exactly its number of hours or days, whatever the time is', () => {
    fc.assert(
      fc.property(fc.constantFrom(...usageWindows), fc.integer({ min: 0, max: 4e12 }), (window, now) => {
        const each = window.step === 'hour' ? HOUR_MS : 24 * HOUR_MS;
        const first = Math.floor(Date.parse(firstOf(window, now)) / each);

        expect(Math.floor(now / each) + 1 - first).toBe(window.points);
      }),
    );
  });

  it('of an unknown window are the last 7 days', () => {
    expect([usageWindowOf(undefined), usageWindowOf('1y'), usageWindowOf('90d')].map(({ id }) => id)).toEqual([
      '7d',
      '7d',
      '90d',
    ]);
  });
});
