import { describe, expect, it } from '@jest/globals';
import { changedTextOf, plannedTextOf, sentAt, textOf } from './plan-text.js';

describe('the value of a planned field', () => {
  it.each<[string, unknown, unknown, string]>([
    ['that was sent', 'hel1', 'hel1', 'hel1'],
    ['that was resolved', '1.34.3', '1.34', '1.34.3'],
    ['that the API chose', false, undefined, 'false (default)'],
    ['that is absent by default', null, undefined, 'absent (default)'],
    ['of a pool with a default', { name: 'a', publicIP: true }, { name: 'a' }, 'name: a, publicIP: true (default)'],
    ['of several pools', [{ name: 'a' }, { name: 'b' }], [{ name: 'a' }, { name: 'b' }], 'name: a; name: b'],
    ['of an object that the API chose', { pods: 'x', services: 'y' }, undefined, 'pods: x, services: y (default)'],
    ['that is empty', [], [], 'none'],
  ])('%s', (_what, value, sent, text) => {
    expect(plannedTextOf(value, sent)).toBe(text);
  });

  it('is no default where a pool is removed', () => {
    expect(changedTextOf(null, undefined)).toBe('absent');
    expect(changedTextOf(3, undefined)).toBe('3 (default)');
  });

  it('is not marked where nothing was sent to compare it with', () => {
    expect(textOf({ name: 'a', image: null })).toBe('name: a, image: absent');
  });
});

describe('the value that was sent', () => {
  const spec = { region: 'hel1', nodePools: [{ name: 'a' }], network: null };
  it.each([
    ['/spec/region', 'hel1'],
    ['/spec/nodePools/0', { name: 'a' }],
    ['/spec/nodePools/1', undefined],
    ['/spec/network/pods', undefined],
    ['/spec', spec],
  ])('at %s', (pointer, value) => {
    expect(sentAt(spec, pointer)).toEqual(value);
  });
});
