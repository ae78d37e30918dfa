import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { ahead } from './ahead.js';

/** Counts how often a value is computed. */
function counted<T>(compute: () => T) {
  const calls = { count: 0 };
  const value = ahead(() => {
    calls.count += 1;
    return compute();
  });
  return { calls, value };
}

describe('a value that is computed ahead', () => {
  it('is computed once, after the turn in which it was announced', async () => {
    const { calls, value } = counted(() => 'value');
    expect(calls.count).toBe(0);

    await setImmediate();

    expect(calls.count).toBe(1);
    expect([value(), value()]).toEqual(['value', 'value']);
    expect(calls.count).toBe(1);
  });

  it('is computed when it is asked for earlier, and not again', async () => {
    const { calls, value } = counted(() => undefined);

    value();
    await setImmediate();

    expect(calls.count).toBe(1);
  });

  it('throws to those who ask, and to nobody else', async () => {
    const { value } = counted(() => {
      throw new Error('no value');
    });

    await setImmediate();

    expect(value).toThrow('no value');
  });
});
