import { describe, expect, it } from '@jest/globals';
import { cycles, exceptions, gapsIn } from './route-calls.js';

describe('the measured routes', () => {
  it('are all routes of both APIs but those with a reason', () => {
    expect(gapsIn(cycles, exceptions)).toEqual([]);
  });

  it('do not silently lack a new one', () => {
    expect(gapsIn(cycles.slice(1), exceptions)).toEqual(['getMe is not measured']);
  });

  it('are not excepted without need', () => {
    expect(gapsIn(cycles, { ...exceptions, getMe: 'slow', getNothing: 'gone' })).toEqual([
      'getMe is no exception',
      'getNothing is no exception',
    ]);
  });
});
