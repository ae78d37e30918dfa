import type { ClusterPhase } from '@corral/contracts';
import type { Shoot } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import {
  absent,
  aCondition,
  aDesired,
  anUpdate,
  anUpdatedDesired,
  anUpdatedShoot,
  aShoot,
  aSteadyDesired,
  minutesLater,
  noon,
  present,
} from '../../../test/support/a-cluster.js';
import type { Desired, Verdict } from '../model.js';
import { judge } from './judge.js';

const later = minutesLater(6);
const verdictOf = (desired: Desired, shoot: Shoot, now = later): Verdict => judge(desired, present(shoot), now);
const reasonOf = ({ conditions }: Verdict, type = 'Reconciled') =>
  conditions.find((each) => each.type === type)?.reason;

describe('the phase', () => {
  const steady = aSteadyDesired();
  const operating = (type: string, state: string) => ({ lastOperation: { type, state } });
  const ill = { conditions: [aCondition('EveryNodeReady', 'False')] };

  it.each<[ClusterPhase, string, Desired, Shoot]>([
    [
      'Pending',
      'it has no seed yet',
      aDesired(),
      aShoot(aDesired(), { observedGeneration: 0, ...operating('Create', 'Pending') }),
    ],
    ['Pending', 'no run has started', aDesired(), aShoot(aDesired(), { observedGeneration: 0, lastOperation: null })],
    ['Provisioning', 'it is being created', aDesired(), aShoot(aDesired(), operating('Create', 'Processing'))],
    ['Provisioning', 'its creation is retried', aDesired(), aShoot(aDesired(), operating('Create', 'Error'))],
    ['Provisioning', 'a retry is due', aDesired(), aShoot(aDesired(), operating('Create', 'Failed'))],
    [
      'Failed',
      'its creation has failed for good',
      aDesired({ known: { retriedGeneration: 1, appliedTokenVersion: 1 } }),
      aShoot(aDesired(), operating('Create', 'Failed')),
    ],
    ['Ready', 'everything is healthy', steady, aShoot(steady)],
    ['Ready', 'the garden does its regular run', steady, aShoot(steady, operating('Reconcile', 'Processing'))],
    [
      'Ready',
      'its health is being checked',
      steady,
      aShoot(steady, { conditions: [aCondition('EveryNodeReady', 'Progressing')] }),
    ],
    ['Updating', 'a change is in progress', anUpdatedDesired(), anUpdatedShoot('Processing')],
    [
      'Updating',
      'a change is about to start',
      anUpdatedDesired(),
      anUpdatedShoot('Succeeded', { observedGeneration: 4 }),
    ],
    ['Updating', 'another manager changes it', steady, aShoot(steady, { generation: 2, observedGeneration: 1 })],
    [
      'Updating',
      'another manager’s change is in progress',
      aSteadyDesired({ known: { phase: 'Updating' } }),
      aShoot(steady, { generation: 2, ...operating('Reconcile', 'Processing') }),
    ],
    ['Updating', 'its control plane migrates', steady, aShoot(steady, operating('Restore', 'Processing'))],
    ['Degraded', 'a node is not ready', steady, aShoot(steady, ill)],
    [
      'Degraded',
      'a regular run has failed',
      steady,
      aShoot(steady, { ...operating('Reconcile', 'Error'), lastErrors: [{}] }),
    ],
    [
      'Failed',
      'its last run has failed for good',
      aSteadyDesired({ known: { retriedGeneration: 1 } }),
      aShoot(steady, operating('Reconcile', 'Failed')),
    ],
    [
      'Hibernating',
      'it is being hibernated',
      anUpdatedDesired({}, sleeps(true)),
      anUpdatedShoot('Processing', asleep(true, false)),
    ],
    [
      'Hibernated',
      'it is hibernated',
      anUpdatedDesired({}, sleeps(true)),
      anUpdatedShoot('Succeeded', asleep(true, true)),
    ],
    [
      'Hibernated',
      'it is hibernated with unhealthy nodes',
      anUpdatedDesired({}, sleeps(true)),
      anUpdatedShoot('Succeeded', { ...asleep(true, true), ...ill }),
    ],
    ['Resuming', 'it is being resumed', anUpdatedDesired(), anUpdatedShoot('Processing', asleep(false, true))],
    [
      'Resuming',
      'it cannot resume for lack of servers',
      anUpdatedDesired(),
      anUpdatedShoot('Error', { ...asleep(false, true), lastErrors: [{}] }),
    ],
    ['Deleting', 'its deletion was requested', { ...steady, isDeleting: true }, aShoot(steady)],
    ['Deleting', 'its deletion is retried', { ...steady, isDeleting: true }, going('Error')],
    [
      'Failed',
      'its deletion has failed for good',
      aSteadyDesired({ isDeleting: true, known: { retriedGeneration: 1 } }),
      going('Failed'),
    ],
  ])('is %s while %s', (phase, _, desired, shoot) => {
    expect(verdictOf(desired, shoot).phase).toBe(phase);
  });

  function sleeps(hibernated: boolean): Partial<Desired> {
    return { spec: { ...steady.spec, hibernated } };
  }
  function asleep(desired: boolean, hibernated: boolean) {
    return { spec: { hibernation: { enabled: desired } }, hibernated };
  }
  function going(state: string): Shoot {
    return aShoot(steady, { generation: 2, deletionTimestamp: noon.toISOString(), ...operating('Delete', state) });
  }
});

describe('a cluster that failed', () => {
  it('still reports a healthy control plane as ready', () => {
    const { phase, conditions } = verdictOf(anUpdatedDesired({ retriedGeneration: 2 }), anUpdatedShoot('Failed'));

    expect(phase).toBe('Failed');
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'ControlPlaneReady', status: 'True' }));
  });
});

describe('a cluster without a Shoot', () => {
  it('is pending while it is prepared', () => {
    const verdict = judge(aDesired(), absent, later);

    expect(verdict).toMatchObject({ phase: 'Pending', operation: { to: 'running', progress: 0 }, nextPassMs: 15_000 });
    expect(reasonOf(verdict)).toBe('Pending');
  });

  it('waits for its connection to be verified', () => {
    const verdict = judge(aDesired({ connection: { phase: 'Unverified', tokenVersion: 2 } }), absent, later);

    expect(verdict).toMatchObject({ phase: 'Pending', operation: { to: 'running' } });
    expect(reasonOf(verdict)).toBe('ConnectionNotReady');
  });

  it('fails when its connection is rejected', () => {
    const verdict = judge(aDesired({ connection: { phase: 'Rejected' } }), absent, later);

    expect(verdict).toMatchObject({
      phase: 'Failed',
      operation: { to: 'failed', code: 'provider_token_rejected' },
      nextPassMs: null,
    });
  });

  it('is Failed when its Shoot existed before', () => {
    const verdict = judge(aSteadyDesired({ operation: anUpdate() }), absent, later);

    expect(verdict).toMatchObject({
      phase: 'Failed',
      operation: { to: 'failed', code: 'shoot_missing' },
      seedName: null,
    });
    expect(reasonOf(verdict)).toBe('ShootMissing');
    expect(verdict.conditions).toContainEqual(expect.objectContaining({ type: 'ShootMissing', status: 'True' }));
  });

  it('is Failed when a foreign Shoot has its name', () => {
    const verdict = judge(aDesired(), { kind: 'foreign' }, later);

    expect(verdict).toMatchObject({ phase: 'Failed', operation: { to: 'failed', code: 'name_collision' } });
    expect(reasonOf(verdict)).toBe('NameCollision');
  });
});

describe('a verdict', () => {
  it('stays unchanged after a read that is older than the last write', () => {
    const desired = anUpdatedDesired({ conditions: [], seedName: 'seed-x', phase: 'Updating' });

    expect(verdictOf(desired, anUpdatedShoot('Succeeded', { generation: 4 }))).toEqual({
      phase: 'Updating',
      conditions: [],
      seedName: 'seed-x',
      migrationPhase: null,
      observedGeneration: 1,
      observed: null,
      operation: { to: 'stay' },
      waiting: null,
      nextPassMs: 5_000,
    });
  });

  it('contains the seed and the migration phase', () => {
    const moving = anUpdatedShoot('Succeeded', {
      lastOperation: { type: 'Migrate' },
      seedName: null,
      spec: { seedName: 'seed-b' },
    });

    expect(verdictOf(anUpdatedDesired(), anUpdatedShoot('Succeeded'))).toMatchObject({
      seedName: 'seed-hel',
      migrationPhase: null,
    });
    expect(verdictOf(anUpdatedDesired(), moving)).toMatchObject({ seedName: null, migrationPhase: 'Restoring' });
  });

  it('says that a change waits for the control plane migration', () => {
    const desired = anUpdatedDesired({ appliedGeneration: 1 });
    const shoot = aShoot(aSteadyDesired(), { generation: 5, lastOperation: { type: 'Restore', state: 'Processing' } });
    const verdict = verdictOf(desired, shoot);

    expect(verdict.operation.to).toBe('running');
    expect(reasonOf(verdict)).toBe('ControlPlaneMigrating');
  });

  it('never decreases observedGeneration', () => {
    expect(
      verdictOf(anUpdatedDesired({ observedGeneration: 2 }), anUpdatedShoot('Processing')).observedGeneration,
    ).toBe(2);
  });

  it('reports the observed generation of an older declaration while a newer one waits', () => {
    const desired = { ...anUpdatedDesired(), generation: 3, desiredHash: 'sha256:03' };

    expect(verdictOf(desired, anUpdatedShoot('Succeeded')).observedGeneration).toBe(2);
  });
});
