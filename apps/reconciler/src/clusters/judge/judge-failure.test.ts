import { asOperationId } from '@corral/contracts';
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
import type { Failure } from '../classify.js';
import type { Desired, Observed } from '../model.js';
import { judgeFailure } from './judge-failure.js';

const refused: Failure = {
  kind: 'needsUser',
  code: 'refused_by_garden',
  reason: 'SpecRefused',
  message: 'The specification was refused: see region.',
  fields: [],
};
const changed = aSteadyDesired({
  generation: 2,
  desiredHash: 'sha256:02',
  known: { appliedGeneration: 1, observedGeneration: 1 },
  operation: {
    id: asOperationId('o2'),
    kind: 'cluster.update',
    generation: 2,
    state: 'running',
    progress: 3,
    acceptedAt: noon,
  },
});
const shoot = present(aShoot(aSteadyDesired()));
const verdictOf = (desired: Desired, seen: Observed | null, failure: Failure) =>
  judgeFailure(desired, seen, failure, minutesLater(9));

describe('a failure that the team must fix', () => {
  it('ends the operation and says what is wrong with the specification', () => {
    const verdict = verdictOf(aDesired(), absent, refused);

    expect(verdict).toMatchObject({
      phase: 'Failed',
      operation: { to: 'failed', code: 'refused_by_garden', message: 'The specification was refused: see region.' },
      nextPassMs: null,
    });
    expect(verdict?.conditions[0]).toEqual({
      type: 'SpecAccepted',
      status: 'False',
      reason: 'SpecRefused',
      message: 'The specification was refused: see region.',
      lastTransitionTime: minutesLater(9).toISOString(),
    });
  });

  it('leaves a working cluster Degraded at its observed generation', () => {
    const verdict = verdictOf(changed, shoot, refused);

    expect(verdict).toMatchObject({ phase: 'Degraded', observedGeneration: 1 });
    expect(verdict?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Reconciled',
        status: 'False',
        reason: 'SpecRefused',
        message: 'The specification was refused: see region.',
      }),
    );
  });

  it('leaves the operation alone when there is none', () => {
    expect(verdictOf({ ...changed, operation: null }, shoot, refused)?.operation).toEqual({ to: 'stay' });
  });

  it('keeps the time of its first occurrence', () => {
    const first = judgeFailure(changed, shoot, refused, noon);
    const known = { ...changed.known, conditions: first?.conditions ?? [] };
    const second = verdictOf({ ...changed, known }, shoot, refused);

    expect(second?.conditions[0]?.lastTransitionTime).toBe(noon.toISOString());
  });
});

describe('a failure of the platform', () => {
  const full: Failure = {
    kind: 'platform',
    afterMs: 30_000,
    code: 'platform_quota_exceeded',
    reason: 'PlatformQuotaExceeded',
  };

  it('is reported as such, and the operation waits', () => {
    const verdict = verdictOf(aDesired(), absent, full);

    expect(verdict).toMatchObject({ phase: 'Pending', operation: { to: 'running' } });
    expect(verdict?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Reconciled',
        status: 'False',
        reason: 'PlatformQuotaExceeded',
        message: 'A limit of this platform has been reached. The change waits until there is capacity.',
      }),
    );
    expect(verdict?.conditions.find(({ type }) => type === 'SpecAccepted')?.status).toBe('True');
  });
});

describe('other failures', () => {
  it('that are transient are judged by the observation', () => {
    expect(verdictOf(changed, shoot, { kind: 'retry', afterMs: 5 })).toMatchObject({
      phase: 'Updating',
      operation: { to: 'running' },
    });
  });

  it.each<[string, Observed | null, Failure]>([
    ['while the garden is unreachable', shoot, { kind: 'pause', afterMs: 5 }],
    ['that are bugs', shoot, { kind: 'bug', afterMs: 5 }],
    ['before the first observation', null, refused],
  ])('%s produce no verdict', (_, seen, failure) => {
    expect(verdictOf(changed, seen, failure)).toBeNull();
  });
});
