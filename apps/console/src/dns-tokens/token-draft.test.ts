import { relativeName } from '@corral/contracts';
import { describe, expect, test } from '@jest/globals';
import { coverageOf, coverageText, emptyDraft, expiryOf, problemsOf, purposes, tokenWish } from './token-draft.js';

const now = Date.UTC(2026, 10, 23, 12);
const place = { team: 'acme', zone: 'example.test', now };

describe('the form of a new token', () => {
  test.each([
    ['ci.acme', 'ci.acme'],
    [' CI.acme. ', 'ci.acme'],
    ['ci.acme.example.test.', 'ci.acme'],
    ['example.test', 'example.test'],
  ])('reads the name %j as %j', (typed, name) => expect(relativeName(typed, 'example.test')).toBe(name));

  test('asks for a name, and for a name of the team', () => {
    const draft = { ...emptyDraft, isNarrowed: true, withinName: 'www.globex' };

    expect(problemsOf(draft, place)).toEqual({
      name: expect.stringMatching(/what the token is for/),
      withinName: 'Not your name. Use acme or a name below it, such as ci.acme.',
    });
  });

  test('does not judge a name that is not used', () => {
    expect(problemsOf({ ...emptyDraft, name: 'ci', withinName: 'www.globex' }, place)).toEqual({});
  });

  test.each([
    ['', 'Choose the last day.'],
    ['2026-11-22', 'Choose a day in the future.'],
    ['2026-11-23', undefined],
  ])('says of the last day %j: %j', (lastDay, problem) => {
    const draft = { ...emptyDraft, name: 'ci', lifetime: 'date' as const, lastDay };

    expect(problemsOf(draft, place).lastDay).toBe(problem);
  });

  test('a token is valid until the end of its last day', () => {
    expect(expiryOf({ ...emptyDraft, lifetime: 'date', lastDay: '2027-06-30' }, now)).toBe('2027-06-30T23:59:59.000Z');
    expect(expiryOf({ ...emptyDraft, lifetime: '30' }, now)).toBe('2026-12-23T12:00:00.000Z');
    expect(expiryOf({ ...emptyDraft, lifetime: 'never' }, now)).toBeNull();
  });

  test.each(purposes)('accepts a token for $id', ({ narrowing }) => {
    const draft = { ...emptyDraft, name: 'ci', ...narrowing('acme') };

    expect(problemsOf(draft, place)).toEqual({});
  });

  test('becomes the body of the request', () => {
    const draft = { ...emptyDraft, name: ' ci ', isNarrowed: true, withinName: ' CI.acme.example.test. ' };

    expect(tokenWish({ ...draft, types: ['TXT', 'A'], lifetime: 'never' }, place)).toEqual({
      name: 'ci',
      withinName: 'ci.acme',
      withinTypes: ['A', 'TXT'],
      expiresAt: null,
    });
  });

  test('says in one line what is covered', () => {
    const narrowed = { ...emptyDraft, isNarrowed: true, withinName: 'ci.acme', types: ['TXT'] as const };

    expect(coverageText(coverageOf(emptyDraft, place))).toBe('all names of acme, all types');
    expect(coverageText(coverageOf(narrowed, place))).toBe('ci.acme and below, TXT');
  });
});
