import { expect, it } from '@jest/globals';
import { newEntries } from './new-entries.js';

it('gives each entry once, and again when its outcome is known', () => {
  const news = newEntries();
  const entry = (id: string, outcome: string) => ({ id, outcome });

  expect(news([entry('1', 'completed'), entry('2', 'pending')])).toHaveLength(2);
  expect(news([entry('1', 'completed'), entry('2', 'pending'), entry('3', 'refused')])).toEqual([
    entry('3', 'refused'),
  ]);
  expect(news([entry('1', 'completed'), entry('2', 'settled')])).toEqual([entry('2', 'settled')]);
});
