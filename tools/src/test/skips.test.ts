import type { SkipNote } from '@corral/testing';
import { describe, expect, it } from '@jest/globals';
import { skipLines } from './skips.js';

const note = (changes: Partial<SkipNote> = {}): SkipNote => ({
  what: 'Redis',
  how: 'install redis-server',
  tests: 2,
  lesser: 0,
  ...changes,
});

describe('skipLines', () => {
  it('creates one line for all tests that need the same missing thing', () => {
    const curl = note({ what: 'curl', how: 'put curl on PATH', tests: 1 });

    expect(skipLines([note(), curl, note({ tests: 4 })])).toEqual([
      'skipped: 1 test needs curl: put curl on PATH.',
      'skipped: 6 tests need Redis: install redis-server.',
    ]);
  });

  it('gives the reason if there is one', () => {
    const go = note({ what: 'hcloud-go', how: 'let Go reach a module proxy', why: '`go build` failed: no route' });

    expect(skipLines([go])).toEqual([
      'skipped: 2 tests need hcloud-go (`go build` failed: no route): let Go reach a module proxy.',
    ]);
  });

  it('reports tests that ran and checked less', () => {
    expect(skipLines([note({ tests: 0, lesser: 1 })])).toEqual(['reduced: 1 test needs Redis: install redis-server.']);
    expect(skipLines([note(), note({ tests: 0, lesser: 1 })])).toEqual([
      'skipped: 2 tests need Redis, one more checks less: install redis-server.',
    ]);
  });
});
