import { describe, expect, it } from '@jest/globals';
import {
  absent,
  aDesired,
  aShoot,
  aSteadyDesired,
  minutesLater,
  noon,
  present,
} from '../../../test/support/a-cluster.js';
import { learnedFrom, learnedFromRead } from './shoot-runs.js';

const changed = aSteadyDesired({
  generation: 2,
  connection: { tokenVersion: 2, gardenTokenVersion: 2 },
  known: { appliedGeneration: 1, appliedShootGeneration: 4, appliedAt: noon },
});
const begun = aShoot(changed, { generation: 5, observedGeneration: 4 });
const idle = aShoot(changed, { generation: 4, observedGeneration: 4 });

describe('what is learned from an apply', () => {
  it('records UID, generation, time and token when a run follows', () => {
    expect(learnedFrom('applyShoot', changed, begun, minutesLater(1))).toEqual({
      shootUid: 'uid-1',
      appliedGeneration: 2,
      appliedShootGeneration: 5,
      appliedAt: minutesLater(1),
      appliedTokenVersion: 2,
      retriedGeneration: 0,
    });
  });

  it('records neither time nor token when no run follows', () => {
    expect(learnedFrom('applyShoot', changed, idle, minutesLater(1))).toMatchObject({
      appliedGeneration: 2,
      appliedShootGeneration: 4,
      appliedAt: noon,
      appliedTokenVersion: 1,
    });
  });
});

describe('what is learned from an operation annotation', () => {
  it('records that the generation was retried', () => {
    expect(learnedFrom('retryShoot', changed, begun, null)).toMatchObject({
      retriedGeneration: 2,
      appliedGeneration: 1,
      appliedShootGeneration: 5,
      appliedTokenVersion: 2,
    });
  });

  it('records no token when the garden ignored the annotation', () => {
    expect(learnedFrom('reconcileShoot', changed, idle, null)).toMatchObject({
      retriedGeneration: 0,
      appliedTokenVersion: 1,
      appliedShootGeneration: 4,
    });
  });
});

describe('what is learned from a read', () => {
  it('records the UID of a Shoot created by an apply with a lost response', () => {
    expect(learnedFromRead(aDesired(), present(aShoot(aDesired())))).toMatchObject({
      shootUid: 'uid-1',
      appliedGeneration: 0,
      appliedShootGeneration: null,
    });
  });

  it('keeps a known UID, and records none for an absent or foreign Shoot', () => {
    const { shootUid } = learnedFromRead(changed, present(aShoot(changed, { uid: 'uid-2' })));

    expect(shootUid).toBe('uid-1');
    expect(learnedFromRead(aDesired(), absent).shootUid).toBeNull();
    expect(learnedFromRead(aDesired(), { kind: 'foreign' }).shootUid).toBeNull();
  });
});
