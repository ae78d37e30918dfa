import { describe, expect, it } from '@jest/globals';
import { absent, aDesired, aShoot, aSteadyDesired, minutesLater, noon, present } from '../../test/support/a-cluster.js';
import { learnedFrom, learnedFromRead } from './after-write.js';

const changed = aSteadyDesired({
  generation: 2,
  connection: { tokenVersion: 2, gardenTokenVersion: 2 },
  known: { appliedGeneration: 1, appliedShootGeneration: 4, appliedAt: noon },
});
const begun = aShoot(changed, { generation: 5, observedGeneration: 4 });
const idle = aShoot(changed, { generation: 4, observedGeneration: 4 });

describe('what an apply teaches', () => {
  it('is the identity, the generation and the time when a run is to follow, which takes up the token', () => {
    expect(learnedFrom('applyShoot', changed, begun, minutesLater(1))).toEqual({
      shootUid: 'uid-1',
      appliedGeneration: 2,
      appliedShootGeneration: 5,
      appliedAt: minutesLater(1),
      appliedTokenVersion: 2,
      retriedGeneration: 0,
    });
  });

  it('is neither a time nor a token when no run follows, for none would ever end after it', () => {
    expect(learnedFrom('applyShoot', changed, idle, minutesLater(1))).toMatchObject({
      ...{ appliedGeneration: 2, appliedShootGeneration: 4, appliedAt: noon, appliedTokenVersion: 1 },
    });
  });
});

describe('what an order teaches', () => {
  it('is that the generation was retried', () => {
    expect(learnedFrom('retryShoot', changed, begun, null)).toMatchObject({
      ...{ retriedGeneration: 2, appliedGeneration: 1, appliedShootGeneration: 5, appliedTokenVersion: 2 },
    });
  });

  it('is no token when the garden did not hear it', () => {
    expect(learnedFrom('reconcileShoot', changed, idle, null)).toMatchObject({
      ...{ retriedGeneration: 0, appliedTokenVersion: 1, appliedShootGeneration: 4 },
    });
  });
});

describe('what a read teaches', () => {
  it('is the identity of a Shoot that was made by an apply whose answer was lost', () => {
    expect(learnedFromRead(aDesired(), present(aShoot(aDesired())))).toMatchObject({
      ...{ shootUid: 'uid-1', appliedGeneration: 0, appliedShootGeneration: null },
    });
  });

  it('is nothing about what is known, absent or another’s', () => {
    const { shootUid } = learnedFromRead(changed, present(aShoot(changed, { uid: 'uid-2' })));

    expect(shootUid).toBe('uid-1');
    expect(learnedFromRead(aDesired(), absent).shootUid).toBeNull();
    expect(learnedFromRead(aDesired(), { kind: 'foreign' }).shootUid).toBeNull();
  });
});
