import { expect, it } from '@jest/globals';
import { type CallRatio, medianRatios } from './measure.js';

const of = (name: string, ratio: number): CallRatio => ({
  name,
  ratio,
  isRead: true,
  pairs: 8,
  smallMs: 1,
  largeMs: ratio,
  ratioOfP90: 1,
});

it('of three measurements of the same calls, each call has the one in the middle', () => {
  const runs = [
    [of('getCluster', 1.3), of('putCluster', 0.9)],
    [of('getCluster', 1.0), of('putCluster', 1.4)],
    [of('getCluster', 1.1), of('putCluster', 1.3)],
  ];

  expect(medianRatios(runs)).toEqual([of('getCluster', 1.1), of('putCluster', 1.3)]);
});

it('a single measurement is taken as it is', () => {
  expect(medianRatios([[of('getCluster', 1.3)]])).toEqual([of('getCluster', 1.3)]);
});
