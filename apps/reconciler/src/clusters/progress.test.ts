import { describe, expect, it } from '@jest/globals';
import { aShoot, aSteadyDesired, noon } from '../../test/support/a-cluster.js';
import type { OpenOperation } from './model.js';
import { lookAgainMsFor, progressOf } from './progress.js';
import { factsOf } from './shoot-facts.js';

const operation = (progress: number): OpenOperation => ({
  ...{ id: 'o1', kind: 'cluster.update', generation: 1, state: 'running', progress, acceptedAt: noon },
});
const runAt = (progress: number) =>
  factsOf(aShoot(aSteadyDesired(), { lastOperation: { state: 'Processing', progress } }));

describe('progress', () => {
  it.each([
    ['follows the run', 10, 43, 43],
    ['never falls when the garden begins another attempt', 70, 5, 70],
    ['is complete only with success', 0, 100, 99],
    ['is nothing below zero', 0, -4, 0],
  ])('%s', (_, shown, ran, expected) => {
    expect(progressOf(operation(shown), runAt(ran))).toBe(expected);
  });

  it('stays while no run is under way', () => {
    expect(progressOf(operation(12), null)).toBe(12);
  });
});

describe('the next look', () => {
  it('is sooner while somebody may be following an operation', () => {
    expect(lookAgainMsFor({ ...aSteadyDesired(), operation: operation(3) })).toBe(15_000);
    expect(lookAgainMsFor(aSteadyDesired())).toBe(60_000);
  });
});
