import { describe, expect, it } from '@jest/globals';
import { dueAtEnd, endOfRrset, expiresLabel } from '../src/dns/expiry.js';
import { parseUpdateRrset } from '../src/dns/requests.js';
import { InvalidBody } from '../src/parser-for.js';

const changedAt = new Date('2026-11-10T08:30:00Z');
const endOf = (text: string) => endOfRrset({ [expiresLabel]: text }, changedAt)?.toISOString() ?? null;

describe('the end of a record set', () => {
  it.each([
    ['36h', '2026-11-11T20:30:00.000Z'],
    ['14d', '2026-11-24T08:30:00.000Z'],
    ['2026-12-31', '2027-01-01T00:00:00.000Z'],
    ['2026-12-31T18.30Z', '2026-12-31T18:30:00.000Z'],
    ['2026-02-28', '2026-03-01T00:00:00.000Z'],
  ])('with the label %s is %s', (text, end) => {
    expect(parseUpdateRrset({ labels: { [expiresLabel]: text } }).labels).toEqual({ [expiresLabel]: text });
    expect(endOf(text)).toBe(end);
  });

  it.each(['', '0d', '14', '14 d', '-1d', '99999h', 'soon', '2026-13-01', '2026-12-31T18:30Z', '2026-12-32', '1d '])(
    'is not %j, which a write may not state',
    (text) => {
      expect(() => parseUpdateRrset({ labels: { [expiresLabel]: text } })).toThrow(InvalidBody);
      expect(endOf(text)).toBeNull();
    },
  );

  it('is never without the label', () => {
    expect(endOfRrset({ env: '14d' }, changedAt)).toBeNull();
  });
});

describe('what is due at an end', () => {
  const hours = (count: number) => new Date(changedAt.getTime() + count * 3_600_000);

  it.each([
    ['nothing', 24 * 14, 24 * 11 - 1],
    ['reminder', 24 * 14, 24 * 11],
    ['reminder', 24 * 14, 24 * 14 - 1],
    ['deletion', 24 * 14, 24 * 14],
    ['nothing', 4, 1],
    ['reminder', 4, 2],
    ['deletion', 4, 5],
    ['deletion', -1, 0],
  ] as const)('is %s of a set that lives for %d hours after %d', (due, lives, after) => {
    expect(dueAtEnd(hours(lives), changedAt, hours(after))).toBe(due);
  });
});
