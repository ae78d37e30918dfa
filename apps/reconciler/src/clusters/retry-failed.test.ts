import { describe, expect, it } from '@jest/globals';
import { aShoot, aSteadyDesired, minutesLater } from '../../test/support/a-cluster.js';
import { operationAnnotation } from './marks.js';
import type { Desired } from './model.js';
import { retryOf } from './retry-failed.js';
import { factsOf } from './shoot-facts.js';

const hour = 60;
/** Tried for its generation already, so that only the provider's own rate limit is left as a reason. */
const since = (time: Date): Desired =>
  aSteadyDesired({
    known: {
      retriedGeneration: 1,
      conditions: [
        { type: 'Reconciled', status: 'False', reason: 'x', message: '', lastTransitionTime: time.toISOString() },
      ],
    },
  });
const slowedDownAt = (desired: Desired, time: Date, more: object = {}) =>
  factsOf(
    aShoot(desired, {
      lastOperation: { type: 'Reconcile', state: 'Failed', lastUpdateTime: time.toISOString() },
      lastErrors: [{ codes: ['ERR_INFRA_RATE_LIMITS_EXCEEDED'] }],
      ...more,
    }),
  );

describe('a retry after the provider asked to be slower', () => {
  it.each([
    ['half a minute when it is the first failure', 0, 0.5],
    ['as long as it has failed already', 10, 10],
    ['half an hour at most', 5 * hour, 30],
  ])('waits %s', (_, failingForMinutes, waitsMinutes) => {
    const desired = since(minutesLater(0));
    const failedAt = minutesLater(failingForMinutes);
    const facts = slowedDownAt(desired, failedAt);
    const at = minutesLater(waitsMinutes, failedAt);

    expect(retryOf(desired, facts, new Date(at.getTime() - 1))).toEqual({ kind: 'later', at });
    expect(retryOf(desired, facts, at)).toEqual({ kind: 'due' });
  });

  it('is given up after a day', () => {
    const desired = since(minutesLater(0));

    expect(retryOf(desired, slowedDownAt(desired, minutesLater(24 * hour + 1)), minutesLater(30 * hour))).toEqual({
      kind: 'never',
    });
  });

  it('counts from this failure when the cluster was well before', () => {
    const desired = aSteadyDesired({ known: { retriedGeneration: 1 } });
    const facts = slowedDownAt(desired, minutesLater(100 * hour));

    expect(retryOf(desired, facts, minutesLater(100 * hour + 1))).toEqual({ kind: 'due' });
  });

  it('is held back while somebody else’s order is in the slot', () => {
    const desired = since(minutesLater(0));
    const facts = slowedDownAt(desired, minutesLater(0), { annotations: { [operationAnnotation]: 'rotate-ca-start' } });

    expect(retryOf(desired, facts, minutesLater(5))).toEqual({ kind: 'blocked' });
  });

  it('is not for an earlier failure than that of the Shoot as it is now', () => {
    const desired = since(minutesLater(0));
    const facts = slowedDownAt(desired, minutesLater(0), { generation: 2, observedGeneration: 1 });

    expect(retryOf(desired, facts, minutesLater(5))).toEqual({ kind: 'never' });
  });
});

describe('what others have begun', () => {
  it.each(['Migrate', 'Restore', 'LiveMigrate'])('is theirs to repeat: %s', (type) => {
    const desired = aSteadyDesired();
    const facts = factsOf(aShoot(desired, { lastOperation: { type, state: 'Failed' } }));

    expect(retryOf(desired, facts, minutesLater(9))).toEqual({ kind: 'never' });
  });

  it('is theirs to repeat: a deletion that nobody asked us for', () => {
    const desired = aSteadyDesired();
    const deletionTimestamp = minutesLater(1).toISOString();
    const facts = factsOf(aShoot(desired, { deletionTimestamp, lastOperation: { type: 'Delete', state: 'Failed' } }));

    expect(retryOf(desired, facts, minutesLater(9))).toEqual({ kind: 'never' });
  });
});
