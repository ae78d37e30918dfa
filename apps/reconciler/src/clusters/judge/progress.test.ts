import { asOperationId } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aShoot, aSteadyDesired, noon } from '../../../test/support/a-cluster.js';
import type { OpenOperation } from '../model.js';
import { factsOf } from '../observe.js';
import { nextPassMsFor, progressOf } from './progress.js';

const operation = (progress: number): OpenOperation => ({
  id: asOperationId('o1'),
  kind: 'cluster.update',
  generation: 1,
  state: 'running',
  progress,
  acceptedAt: noon,
});
const runAt = (progress: number) =>
  factsOf(aShoot(aSteadyDesired(), { lastOperation: { state: 'Processing', progress } }));

describe('progress', () => {
  it.each([
    ['follows its run', 10, 43, 43],
    ['never decreases when the garden starts another attempt', 70, 5, 70],
    ['reaches 100 only with success', 0, 100, 99],
    ['is never negative', 0, -4, 0],
  ])('%s', (_, shown, ran, expected) => {
    expect(progressOf(operation(shown), runAt(ran))).toBe(expected);
  });

  it('stays the same while no run is in progress', () => {
    expect(progressOf(operation(12), null)).toBe(12);
  });
});

describe('the next pass', () => {
  it('is sooner while an operation is open', () => {
    expect(nextPassMsFor({ ...aSteadyDesired(), operation: operation(3) })).toBe(15_000);
    expect(nextPassMsFor(aSteadyDesired())).toBe(60_000);
  });
});
