import { describe, expect, it } from '@jest/globals';
import { sleepText } from './sleep-text.js';

const monday = { date: '2026-12-07', time: '07:00' };

describe('what a schedule says', () => {
  it.each([
    ['asleep until Mon 7 Dec 07:00', { asleep: true, until: monday }, true],
    ['awake for good', { asleep: false, until: null }, false],
    [
      'asleep until Mon 7 Dec 07:00, but the cluster is awake until the schedule changes it',
      { asleep: true, until: monday },
      false,
    ],
  ] as const)('is "%s"', (text, state, hibernated) => {
    expect(sleepText(state, hibernated)).toBe(text);
  });
});
