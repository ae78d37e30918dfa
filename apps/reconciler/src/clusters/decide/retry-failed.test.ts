import { describe, expect, it } from '@jest/globals';
import { aShoot, aSteadyDesired, minutesLater } from '../../../test/support/a-cluster.js';
import type { Desired } from '../model.js';
import { factsOf } from '../observe.js';
import { operationAnnotation } from '../shoot-labels.js';
import { retryOf } from './retry-failed.js';

const hour = 60;
/** Already retried for its generation, so that only the provider's rate limit can cause a retry. */
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

describe('a retry after a rate limit of the provider', () => {
  it.each([
    ['half a minute after the first failure', 0, 0.5],
    ['equal to the duration of the failure', 10, 10],
    ['at most half an hour', 5 * hour, 30],
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

  it('counts from this failure when the cluster was healthy before', () => {
    const desired = aSteadyDesired({ known: { retriedGeneration: 1 } });
    const facts = slowedDownAt(desired, minutesLater(100 * hour));

    expect(retryOf(desired, facts, minutesLater(100 * hour + 1))).toEqual({ kind: 'due' });
  });

  it('is blocked while another manager’s operation annotation is set', () => {
    const desired = since(minutesLater(0));
    const facts = slowedDownAt(desired, minutesLater(0), { annotations: { [operationAnnotation]: 'rotate-ca-start' } });

    expect(retryOf(desired, facts, minutesLater(5))).toEqual({ kind: 'blocked' });
  });

  it('ignores a failure from before the last change of the Shoot', () => {
    const desired = since(minutesLater(0));
    const facts = slowedDownAt(desired, minutesLater(0), { generation: 2, observedGeneration: 1 });

    expect(retryOf(desired, facts, minutesLater(5))).toEqual({ kind: 'never' });
  });
});

describe('an operation that others started', () => {
  it.each(['Migrate', 'Restore', 'LiveMigrate'])('is not retried: %s', (type) => {
    const desired = aSteadyDesired();
    const facts = factsOf(aShoot(desired, { lastOperation: { type, state: 'Failed' } }));

    expect(retryOf(desired, facts, minutesLater(9))).toEqual({ kind: 'never' });
  });

  it('is not retried when it is a deletion that Corral did not request', () => {
    const desired = aSteadyDesired();
    const deletionTimestamp = minutesLater(1).toISOString();
    const facts = factsOf(aShoot(desired, { deletionTimestamp, lastOperation: { type: 'Delete', state: 'Failed' } }));

    expect(retryOf(desired, facts, minutesLater(9))).toEqual({ kind: 'never' });
  });
});
