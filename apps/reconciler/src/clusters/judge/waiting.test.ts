import type { Condition } from '@corral/contracts';
import { GardenError, type GardenErrorKind } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import { aDesired, aSteadyDesired, minutesLater, noon } from '../../../test/support/a-cluster.js';
import { classifyFailure } from '../classify.js';
import type { Desired } from '../model.js';
import { unchangedVerdict, waitingOf, withWaiting } from './waiting.js';

const random = () => 0;
const waiting = (error: unknown, desired: Desired = aDesired(), now = noon) =>
  waitingOf(error, classifyFailure(error, { desired, step: 'applyShoot', random }), desired, now);
const gardenError = (kind: GardenErrorKind) => new GardenError(kind, 'put');
const afterFailures = (failures: number) => aDesired({ known: { failures } });

describe('a failed pass', () => {
  it.each<[GardenErrorKind, string]>([
    ['unreachable', 'GardenUnavailable'],
    ['uncertain', 'GardenUnavailable'],
    ['server_error', 'GardenUnavailable'],
    ['unusable', 'GardenUnavailable'],
    ['credentials', 'GardenAccessDenied'],
    ['throttled', 'UpstreamThrottled'],
  ])('with garden error %s reports the reason and its start: %s', (kind, reason) => {
    expect(waiting(gardenError(kind))).toEqual({ reason, message: expect.any(String), since: noon.toISOString() });
  });

  it('is reported as a platform fault when the error is a bug', () => {
    expect(waiting(new Error('null has no members'))).toMatchObject({ reason: 'PlatformFault' });
    expect(waiting(gardenError('rbac'), afterFailures(9))).toMatchObject({ reason: 'PlatformFault' });
  });

  it('after a concurrent write is reported only when it keeps failing', () => {
    expect(waiting(gardenError('exists'), afterFailures(1))).toBeNull();
    expect(waiting(gardenError('exists'), afterFailures(2))).toMatchObject({ reason: 'Retrying' });
  });

  it('has no waiting reason when the team must act', () => {
    expect(waiting(gardenError('refused'))).toBeNull();
  });

  it('keeps its start time for the same reason, and resets it for another reason', () => {
    const first = waiting(gardenError('unreachable'));
    const known = aDesired({ known: { waiting: first, failures: 1 } });

    expect(waiting(gardenError('uncertain'), known, minutesLater(3))).toEqual(first);
    expect(waiting(gardenError('throttled'), known, minutesLater(3))?.since).toBe(minutesLater(3).toISOString());
  });
});

describe('the condition Reconciled while a pass waits', () => {
  const said = (status: Condition['status'], more: Partial<Condition> = {}): Condition => ({
    type: 'Reconciled',
    status,
    reason: 'Said',
    message: 'Said.',
    lastTransitionTime: noon.toISOString(),
    ...more,
  });
  const judged = (conditions: readonly Condition[], now = minutesLater(2)) => {
    const desired = aSteadyDesired({ known: { conditions } });
    return withWaiting(unchangedVerdict(desired, 5_000), waiting(gardenError('unreachable')), desired, now);
  };

  it('contains the reason and its start', () => {
    const other = said('True', { type: 'NodesReady' });

    expect(judged([other, said('False', { reason: 'Queued' })])).toMatchObject({
      phase: 'Ready',
      operation: { to: 'stay' },
      conditions: [
        other,
        {
          type: 'Reconciled',
          status: 'False',
          reason: 'GardenUnavailable',
          message: `The garden does not answer. Work continues once the garden is available again. This has been so since ${noon.toISOString()}.`,
          lastTransitionTime: noon.toISOString(),
        },
      ],
    });
  });

  it('becomes Unknown when it was True, since it cannot be observed', () => {
    const { conditions } = judged([said('True')]);

    expect(conditions).toMatchObject([{ status: 'Unknown', lastTransitionTime: minutesLater(2).toISOString() }]);
    expect(judged(conditions, minutesLater(9)).conditions).toEqual(conditions);
  });

  it('is added when it was missing', () => {
    expect(judged([]).conditions).toMatchObject([{ type: 'Reconciled', status: 'False' }]);
  });
});
