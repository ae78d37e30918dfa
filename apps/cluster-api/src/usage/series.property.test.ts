import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { HOUR_MS } from './range.js';
import { type HourRecord, usageSeries } from './series.js';

const DAY_MS = 24 * HOUR_MS;
const START = Date.parse('2026-10-20T00:00:00.000Z');
const DAYS = 10;
const counts = fc.option(fc.nat(1_000));

/** Any hours of the ten days around a change of daylight saving time, each at most once. */
const records = fc
  .uniqueArray(
    fc.record({ hour: fc.nat(DAYS * 24 - 1), requests: counts, writes: counts, nodes: counts, isFinal: fc.boolean() }),
    { selector: ({ hour }) => hour },
  )
  .map((chosen) =>
    chosen
      .toSorted((one, other) => one.hour - other.hour)
      .map(
        ({ hour, requests, writes, nodes, isFinal }): HourRecord => ({
          hour: new Date(START + hour * HOUR_MS),
          isFinal,
          requests,
          writes,
          refusedWrites: writes,
          sampledAt: nodes === null ? null : new Date(START + hour * HOUR_MS),
          records: nodes,
          recordsLimit: nodes,
          dnsTokens: nodes,
          clusters: nodes,
          nodes,
          costMinimum: null,
          costMaximum: null,
          costCurrency: null,
        }),
      ),
  );
const range = fc.tuple(fc.nat(DAYS - 1), fc.nat(DAYS - 1)).map(([one, other]) => ({
  from: START + Math.min(one, other) * DAY_MS,
  to: START + (Math.max(one, other) + 1) * DAY_MS,
}));
const now = fc.nat(2 * DAYS * 24).map((hours) => START + hours * HOUR_MS);

describe('any usage', () => {
  it('has every hour and day of its range once, in order', () => {
    fc.assert(
      fc.property(records, range, now, (known, asked, time) => {
        for (const [step, each] of [
          ['hour', HOUR_MS],
          ['day', DAY_MS],
        ] as const) {
          const { points } = usageSeries(known, { step, ...asked }, time);

          const starts = points.map(({ from }) => Date.parse(from));
          expect(starts).toEqual(
            Array.from({ length: (asked.to - asked.from) / each }, (_, at) => asked.from + at * each),
          );
        }
      }),
    );
  });

  it('has the same sums in hours and in days, and a day is complete when its hours are', () => {
    fc.assert(
      fc.property(records, range, now, (known, asked, time) => {
        const hours = usageSeries(known, { step: 'hour', ...asked }, time).points;
        const days = usageSeries(known, { step: 'day', ...asked }, time).points;

        for (const [at, day] of days.entries()) {
          const own = hours.slice(at * 24, (at + 1) * 24);
          const sum = (of: 'requests' | 'writes' | 'recordedHours') =>
            own.reduce((total, point) => total + (point[of] ?? 0), 0);
          expect([day.requests ?? 0, day.writes ?? 0]).toEqual([sum('requests'), sum('writes')]);
          expect(day.recordedHours).toBe(sum('recordedHours'));
          expect(day.complete).toBe(own.every(({ complete }) => complete));
          expect(day.nodes).toBe(own.findLast(({ nodes }) => nodes !== null)?.nodes ?? null);
        }
      }),
    );
  });

  it('invents no zeros: a point without a record has no values', () => {
    fc.assert(
      fc.property(records, range, now, (known, asked, time) => {
        const { points } = usageSeries(known, { step: 'hour', ...asked }, time);
        const recorded = new Set(known.map(({ hour }) => hour.toISOString()));

        for (const point of points.filter(({ from }) => !recorded.has(from))) {
          expect(point).toMatchObject({ recordedHours: 0, requests: null, writes: null, nodes: null, clusters: null });
        }
      }),
    );
  });
});
