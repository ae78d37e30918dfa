import { describe, expect, it } from '@jest/globals';
import { canonicalValue, expectationOf, isServed, propagatingBody } from './propagation.js';

const ZONE = 'example.org';

const set = (values: readonly string[] | null, ttl: number | null = null): string | null =>
  values === null ? null : JSON.stringify({ ttl, records: values.map((value) => ({ value, comment: '' })) });

describe('what name servers must answer after a write', () => {
  it.each([
    ['its values, of a new set', null, ['one'], ['one'], { present: ['one'], absent: [] }],
    ['its values and none of those that it replaced', ['one'], ['two'], ['two'], { present: ['two'], absent: ['one'] }],
    [
      'none of the values of a set that it deleted',
      ['one', 'two'],
      null,
      null,
      { present: [], absent: ['one', 'two'] },
    ],
    [
      'what is left of it after a later write',
      null,
      ['one', 'two'],
      ['two', 'three'],
      { present: ['two'], absent: [] },
    ],
    ['nothing that a later write brought back', ['one'], null, ['one'], { present: [], absent: [] }],
    [
      'none of the old values when a later write replaced the new ones',
      ['one'],
      ['two'],
      ['three'],
      { present: [], absent: ['one'] },
    ],
    ['nothing when a later write deleted the set', null, ['one'], null, { present: [], absent: [] }],
  ])('is %s', (_what, before, after, current, expected) => {
    const write = { type: 'A', before: set(before), after: set(after), current: set(current) };

    expect(expectationOf(write, ZONE)).toEqual({ ...expected, ttl: null });
  });

  it.each([
    ['a TTL that it changed', 60, 300, 300, 300],
    ['no TTL that it did not change', 300, 300, 300, null],
    ['no TTL that a later write changed', 60, 300, 600, null],
    ['no default of the zone, which only the zone knows', 60, null, null, null],
  ])('includes %s', (_what, before, after, current, ttl) => {
    const of = (seconds: number | null) => set(['one'], seconds);

    expect(expectationOf({ type: 'A', before: of(before), after: of(after), current: of(current) }, ZONE).ttl).toBe(
      ttl,
    );
  });
});

describe('an answer of a name server', () => {
  const expected = { present: ['new'], absent: ['old'], ttl: null };
  const of = (...values: string[]) => values.map((value) => ({ value, ttl: 60 }));

  it.each([
    ['has the write with its values', of('new', 'other'), true],
    ['misses it with values that must be gone', of('new', 'old'), false],
    ['misses it without its values', of(), false],
    ['misses it if it is none', null, false],
  ])('%s', (_what, served, isThere) => {
    expect(isServed(expected, served)).toBe(isThere);
  });

  it('has a deletion if it has no records, and a new TTL only with that TTL', () => {
    expect(isServed({ present: [], absent: ['old'], ttl: null }, [])).toBe(true);
    expect(isServed({ present: ['new'], absent: [], ttl: 300 }, of('new'))).toBe(false);
    expect(isServed({ present: ['new'], absent: [], ttl: 60 }, of('new'))).toBe(true);
  });
});

it.each([
  ['AAAA', '2001:DB8:0:0::1', '2001:db8::1'],
  ['AAAA', '::ffff:192.0.2.1', '::ffff:192.0.2.1'],
  ['CNAME', 'Web', 'web.example.org'],
  ['CNAME', '@', 'example.org'],
  ['CNAME', 'Target.example.net.', 'target.example.net'],
  ['TXT', '"one" "two"', 'onetwo'],
  ['TXT', String.raw`"say \"hi\" \\ \255"`, 'say "hi" \\ \u{ff}'],
  ['TXT', '"ä"', Buffer.from('ä').toString('latin1')],
  ['A', '192.0.2.1', '192.0.2.1'],
])('values are compared without their spelling: %s %s', (type, value, canonical) => {
  expect(canonicalValue(type, value, ZONE)).toBe(canonical);
});

it('an action that waits for name servers runs, half done and more with each server that has its write, and keeps all else', () => {
  const ended = '{"id":1,"status":"success","later":1.0,"progress":100,"finished":"2026-01-02T03:04:05Z"}';

  expect(propagatingBody(ended, { n: 1, of: 3 })).toBe(
    '{"id":1,"status":"running","later":1.0,"progress":66,"finished":null}',
  );
});
