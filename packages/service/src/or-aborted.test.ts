import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { orAborted } from './or-aborted.js';

const gaveUp = new Error('gave up');
const never = new Promise<string>(() => undefined);

describe('work that is waited for until a signal', () => {
  it('is waited for to its end', async () => {
    const { signal } = new AbortController();

    expect(await orAborted(Promise.resolve('done'), signal, () => gaveUp)).toBe('done');
    await expect(orAborted(Promise.reject(new Error('broken')), signal, () => gaveUp)).rejects.toThrow('broken');
  });

  it('is given up with the signal, also with one that came before', async () => {
    const controller = new AbortController();
    const waiting = orAborted(never, controller.signal, () => gaveUp);
    controller.abort();

    await expect(waiting).rejects.toBe(gaveUp);
    await expect(orAborted(never, controller.signal, () => gaveUp)).rejects.toBe(gaveUp);
  });

  it('may fail later without anybody hearing of it', async () => {
    let fail: (error: Error) => void = () => undefined;
    const work = new Promise<string>((_resolve, reject) => {
      fail = reject;
    });
    const controller = new AbortController();
    const waiting = orAborted(work, controller.signal, () => gaveUp);
    controller.abort();

    await expect(waiting).rejects.toBe(gaveUp);
    fail(new Error('too late'));
  });

  it('leaves nothing on a signal that outlives it', async () => {
    const { signal } = new AbortController();
    await orAborted(Promise.resolve(), signal, () => gaveUp);

    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});
