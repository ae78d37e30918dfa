import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createRecentMap } from './recent-map.js';

describe('what is kept of the most recent', () => {
  it('is what was used last, and of all else it is told that it goes', () => {
    const gone: string[] = [];
    const map = createRecentMap<string>(2, (value) => gone.push(value));

    map.set('a', 'first');
    map.set('b', 'second');
    map.get('a');
    map.set('c', 'third');
    map.set('c', 'fourth');
    map.delete('a');
    map.delete('a');

    expect(gone).toEqual(['second', 'third', 'first']);
    expect([...map.values()]).toEqual(['fourth']);
  });

  it('is never more than it may be, and nothing is lost without a word', () => {
    const steps = fc.array(fc.tuple(fc.constantFrom('get', 'set', 'delete'), fc.constantFrom(...'abcdef')));

    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), steps, (max, all) => {
        const held = new Set<number>();
        const map = createRecentMap<number>(max, (value) => held.delete(value));
        for (const [n, [step, key]] of all.entries()) {
          if (step === 'get') map.get(key);
          else if (step === 'delete') map.delete(key);
          else {
            held.add(n);
            map.set(key, n);
            expect(map.get(key)).toBe(n);
          }
          expect([...map.values()].sort()).toEqual([...held].sort());
          expect(held.size).toBeLessThanOrEqual(max);
        }
      }),
    );
  });
});
