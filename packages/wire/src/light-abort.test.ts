import { describe, expect, it } from '@jest/globals';
import { LightAbort, onAborted } from './light-abort.js';

describe('a light abort', () => {
  it('calls each listener once, with its reason at hand', () => {
    const abort = new LightAbort();
    const seen: unknown[] = [];
    const listener = () => seen.push(abort.reason);
    abort.addEventListener('abort', listener);
    abort.addEventListener('abort', listener);
    expect([abort.aborted, seen]).toEqual([false, []]);

    abort.abort('first');
    abort.abort('second');

    expect([abort.aborted, abort.reason, seen]).toEqual([true, 'first', ['first']]);
  });

  it('does not call listeners that were removed, or that came too late', () => {
    const abort = new LightAbort();
    const called: string[] = [];
    const removed = () => called.push('removed');
    abort.addEventListener('abort', removed);
    abort.addEventListener('abort', () => {
      called.push('kept');
      abort.addEventListener('abort', () => called.push('late'));
    });
    abort.removeEventListener('abort', removed);

    abort.abort(null);
    abort.addEventListener('abort', () => called.push('later'));

    expect(called).toEqual(['kept']);
  });

  it('throws its reason after it, and nothing before', () => {
    const abort = new LightAbort();
    const reason = new Error('gone');
    expect(() => abort.throwIfAborted()).not.toThrow();

    abort.abort(reason);

    expect(() => abort.throwIfAborted()).toThrow(reason);
  });
});

describe('a listener to an abort', () => {
  it.each([
    ['of ours', new LightAbort(), (abort: LightAbort) => abort.abort(null)],
    ['of Node.js', new AbortController(), (abort: AbortController) => abort.abort()],
  ])('%s is called once: when it comes, or at once if it has', (_whose, aborter, abort) => {
    const signal = aborter instanceof LightAbort ? aborter : aborter.signal;
    const called: string[] = [];
    onAborted(signal, () => called.push('before'));
    const leave = onAborted(signal, () => called.push('left'));
    leave();
    expect(called).toEqual([]);

    abort(aborter as LightAbort & AbortController);
    onAborted(signal, () => called.push('after'))();

    expect(called).toEqual(['before', 'after']);
  });
});
