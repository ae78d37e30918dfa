import { describe, expect, it } from '@jest/globals';
import type { Cluster } from './team-api.js';
import { goalOf } from './wait.js';

const cluster = (phase: string, observedGeneration = 2, conditions: object[] = []) =>
  ({ metadata: { generation: 2, observedGeneration }, status: { phase, conditions } }) as unknown as Cluster;

describe('what is waited for', () => {
  it.each([
    ['ready', cluster('Ready'), true],
    ['ready', cluster('Updating'), false],
    // It is about an earlier declaration.
    ['ready', cluster('Ready', 1), false],
    ['ready', null, false],
    ['hibernated', cluster('Hibernated'), true],
    ['deleted', null, true],
    ['deleted', cluster('Deleting'), false],
    ['phase=degraded', cluster('Degraded', 1), true],
    ['condition=NodesReady', cluster('Ready', 2, [{ type: 'NodesReady', status: 'True' }]), true],
    ['condition=NodesReady', cluster('Ready', 2, [{ type: 'NodesReady', status: 'Unknown' }]), false],
  ])('%s', (goal, found, isReached) => {
    expect(goalOf(goal).isReached(found)).toBe(isReached);
  });

  it.each(['', 'happy', 'phase=Happy', 'condition='])('cannot be %j', (goal) => {
    expect(() => goalOf(goal)).toThrow(/Use one of|Use --for/);
  });
});
