import { expect, test } from '@jest/globals';
import { durationText } from './duration.js';

test.each([
  [0, '0 s'],
  [60, '1 min'],
  [90, '90 s'],
  [3_600, '1 h'],
  [5_400, '90 min'],
  [86_400, '1 d'],
  [90_000, '25 h'],
])('a duration of %d s is %s', (seconds, text) => expect(durationText(seconds)).toBe(text));
