import type { ClusterPhase } from '@corral/contracts';
import type { LastError, Shoot } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import {
  absent,
  aCondition,
  aDesired,
  aPool,
  aShoot,
  aSteadyDesired,
  minutesLater,
  noon,
  present,
} from '../../test/support/a-cluster.js';
import { learnedFrom } from './after-write.js';
import { decide } from './decide.js';
import { judge } from './judge.js';
import type { Desired, Known, OpenOperation, Verdict } from './model.js';
import { observedHash } from './observed-hash.js';

type LastErrors = Partial<LastError>[];

const later = minutesLater(6);
const verdictOf = (desired: Desired, shoot: Shoot, now = later): Verdict => judge(desired, present(shoot), now);
const reasonOf = ({ conditions }: Verdict, type = 'Reconciled') =>
  conditions.find((each) => each.type === type)?.reason;
const anUpdate = (progress = 0): OpenOperation => ({
  ...{ id: 'o2', kind: 'cluster.update', generation: 2, state: 'running', progress, acceptedAt: noon },
});

/** Generation 2 was applied a minute after noon and became the Shoot's own generation 5. */
const updated = (known: Partial<Known> = {}, more: Partial<Desired> = {}): Desired => ({
  ...aSteadyDesired({
    ...{ generation: 2, desiredHash: 'sha256:02', operation: anUpdate() },
    known: { appliedShootGeneration: 5, appliedAt: minutesLater(1), observedGeneration: 1, ...known },
  }),
  ...more,
});
const ran = (state: string, more: Parameters<typeof aShoot>[1] = {}, progress = 40) =>
  aShoot(updated(), { generation: 5, lastOperation: { type: 'Reconcile', state, progress }, ...more });

describe('an operation', () => {
  it('succeeds when a run that began with our write has succeeded', () => {
    expect(verdictOf(updated(), ran('Succeeded'))).toMatchObject({
      ...{ phase: 'Ready', observedGeneration: 2, operation: { to: 'succeeded' }, lookAgainMs: null },
    });
  });

  it('succeeds with the write when what has changed is not in the Shoot: a pool on adopted servers', () => {
    const desired = updated({ appliedGeneration: 1, appliedShootGeneration: 4, appliedAt: noon });
    const own = aPool({ name: 'own', workerName: 'p4d5e6', source: 'pooled', autoscalerPriority: 100 });
    const wanted: Desired = { ...desired, pools: [aPool(), own] };
    const seen = aShoot(desired, { generation: 4, annotations: { 'corral.dev/generation': '1' } });
    const answered = aShoot(wanted, { generation: 4 });
    const learned = learnedFrom('applyShoot', wanted, answered, minutesLater(6));

    expect(decide(wanted, present(seen), minutesLater(6))).toEqual({ do: 'applyShoot' });
    expect(verdictOf({ ...wanted, known: { ...wanted.known, ...learned } }, answered)).toMatchObject({
      ...{ phase: 'Ready', observedGeneration: 2, operation: { to: 'succeeded' }, lookAgainMs: null },
    });
    expect(observedHash(answered)).not.toBe(observedHash(seen));
  });

  it.each<[string, Desired, Shoot]>([
    ['the garden has not begun with our write', updated(), ran('Succeeded', { observedGeneration: 4 })],
    [
      'the success is from before our write',
      updated(),
      ran('Succeeded', { lastOperation: { type: 'Reconcile', lastUpdateTime: noon.toISOString() } }),
    ],
    ['the run is still under way', updated(), ran('Processing')],
    [
      'what has succeeded was the way to another seed',
      updated(),
      ran('Succeeded', { lastOperation: { type: 'Migrate' } }),
    ],
    [
      'the Shoot carries another declaration',
      updated(),
      ran('Succeeded', { annotations: { 'corral.dev/generation': '1' } }),
    ],
    ['the answer to our write was lost', updated({ appliedGeneration: 1 }), ran('Succeeded')],
    ['the Shoot was changed since', updated(), ran('Succeeded', { generation: 6, observedGeneration: 5 })],
    [
      'somebody else has undone it',
      updated(),
      ran('Succeeded', { generation: 6, spec: { hibernation: { enabled: true } }, hibernated: true }),
    ],
  ])('does not succeed while %s', (_, desired, shoot) => {
    const verdict = verdictOf(desired, shoot);

    expect(verdict.operation.to).toBe('running');
    expect(verdict.observedGeneration).toBe(1);
    expect(verdict.lookAgainMs).toBe(15_000);
  });

  it('succeeds at once when what was declared changes nothing that runs', () => {
    const desired = updated({ appliedShootGeneration: 1, appliedAt: noon });

    expect(verdictOf(desired, aShoot(desired, { generation: 1 })).operation).toEqual({ to: 'succeeded' });
  });

  it('compares the garden’s times by the second', () => {
    const desired = updated({ appliedAt: new Date('2026-11-21T12:05:00.900Z') });

    expect(verdictOf(desired, ran('Succeeded')).operation).toEqual({ to: 'succeeded' });
  });

  it('shows the progress of its own run, and of no earlier one', () => {
    expect(verdictOf(updated(), ran('Processing')).operation).toEqual({ to: 'running', progress: 40 });
    expect(verdictOf(updated(), ran('Processing', { observedGeneration: 4 })).operation).toMatchObject({ progress: 0 });
  });

  it('does not fall back when the garden begins another attempt', () => {
    expect(verdictOf(updated({}, { operation: anUpdate(70) }), ran('Processing')).operation).toMatchObject({
      progress: 70,
    });
  });

  it('goes on while the garden tries again by itself, and says why', () => {
    const shoot = ran('Error', { lastErrors: [{ description: 'resource_unavailable', codes: [] }] });
    const verdict = verdictOf(updated(), shoot);

    expect(verdict.operation.to).toBe('running');
    expect(reasonOf(verdict)).toBe('ProviderOutOfStock');
  });

  it('fails when the garden has given up and was told to try again already', () => {
    const shoot = ran('Failed', { lastErrors: [{ codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }] });

    expect(verdictOf(updated({ retriedGeneration: 2 }), shoot)).toMatchObject({
      phase: 'Failed',
      operation: {
        to: 'failed',
        code: 'provider_quota_exceeded',
        message: 'A limit of the cloud project has been reached.',
      },
      lookAgainMs: null,
    });
  });

  it('goes on while a retry is due or an order of somebody else is in its way', () => {
    const errors = { lastErrors: [{ codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }] };
    const taken = { annotations: { 'gardener.cloud/operation': 'rotate-ca-start' } };

    expect(verdictOf(updated({ retriedGeneration: 1 }), ran('Failed', errors)).operation.to).toBe('running');
    expect(verdictOf(updated({ retriedGeneration: 1 }), ran('Failed', { ...errors, ...taken }))).toMatchObject({
      operation: { to: 'running' },
      lookAgainMs: 15_000,
    });
  });

  it('is looked at again when the wait that the provider asked for is over', () => {
    const shoot = ran('Failed', { lastErrors: [{ codes: ['ERR_INFRA_RATE_LIMITS_EXCEEDED'] }] });
    const now = new Date(minutesLater(5).getTime() + 10_000);

    expect(verdictOf(updated({ retriedGeneration: 2 }), shoot, now)).toMatchObject({
      operation: { to: 'running' },
      lookAgainMs: 20_000,
    });
  });

  it('fails of what only the team can mend after ten minutes, though the garden would try for hours', () => {
    const shoot = ran('Error', {
      lastErrors: [{ description: 'token is read-only (token_readonly)' }],
      retryCycleStartTime: minutesLater(1).toISOString(),
    });

    expect(verdictOf(updated(), shoot, minutesLater(10)).operation.to).toBe('running');
    expect(verdictOf(updated(), shoot, minutesLater(11)).operation).toMatchObject({
      ...{ to: 'failed', code: 'provider_permission_denied' },
    });
  });

  it('is not failed by one refusal of the token: it may have been the provider’s own fault', () => {
    const shoot = ran('Failed', { lastErrors: [{ codes: ['ERR_INFRA_UNAUTHENTICATED'] }] });

    expect(verdictOf(updated({ retriedGeneration: 1 }), shoot).operation.to).toBe('running');
    expect(verdictOf(updated({ retriedGeneration: 2 }), shoot).operation).toMatchObject({
      code: 'provider_token_rejected',
    });
  });

  it('runs for as long as the garden does: no deadline of ours would stop it', () => {
    const hours = 12 * 60;
    const shoot = ran('Error', { retryCycleStartTime: noon.toISOString(), lastErrors: [{}] });

    expect(verdictOf(updated(), shoot, minutesLater(hours)).operation.to).toBe('running');
  });

  it('fails as a fault of the platform when nobody knows why', () => {
    const operation = verdictOf(updated({ retriedGeneration: 2 }), ran('Failed')).operation;

    expect(operation).toMatchObject({ to: 'failed', code: 'internal_error' });
  });

  it('is not touched when there is none', () => {
    expect(verdictOf(aSteadyDesired(), aShoot(aSteadyDesired())).operation).toEqual({ to: 'stay' });
    expect(judge(aSteadyDesired(), absent, later).operation).toEqual({ to: 'stay' });
  });

  it('fails when the change can only be made with a token that is rejected', () => {
    const desired = updated({ appliedGeneration: 1 });
    const rejected = { ...desired, connection: { ...desired.connection, phase: 'Rejected' as const } };

    expect(verdictOf(rejected, aShoot(aSteadyDesired(), { generation: 5 }))).toMatchObject({
      phase: 'Degraded',
      operation: { to: 'failed', code: 'provider_token_rejected' },
      lookAgainMs: null,
    });
  });

  it.each<[string, Partial<Desired['connection']>, LastErrors]>([
    ['to us', { phase: 'Rejected' }, []],
    ['to the garden', {}, [{ codes: ['ERR_INFRA_UNAUTHENTICATED'] }]],
  ])('a refused token makes what runs Degraded, and nothing Failed: refused %s', (_to, connection, lastErrors) => {
    const desired = updated({ retriedGeneration: 2 });
    const without = { ...desired, connection: { ...desired.connection, ...connection } };

    for (const state of ['Failed', 'Error']) {
      expect(verdictOf(without, ran(state, { lastErrors })).phase).toBe('Degraded');
      expect(verdictOf({ ...without, operation: null }, ran(state, { lastErrors })).phase).toBe('Degraded');
    }
    const never = { ...without, known: { ...without.known, observedGeneration: 0 } };
    expect(verdictOf(never, ran('Failed', { lastErrors })).phase).toBe('Failed');
  });

  it('goes on when the token is rejected only after the change was handed over', () => {
    const desired = updated();
    const rejected = { ...desired, connection: { ...desired.connection, phase: 'Rejected' as const } };

    expect(verdictOf(rejected, ran('Processing'))).toMatchObject({ phase: 'Updating', operation: { to: 'running' } });
    expect(verdictOf(rejected, ran('Failed')).operation.to).toBe('failed');
  });

  it('fails when somebody else deletes the cluster', () => {
    const shoot = ran('Processing', { deletionTimestamp: noon.toISOString(), lastOperation: { type: 'Delete' } });

    expect(verdictOf(updated(), shoot)).toMatchObject({
      phase: 'Deleting',
      operation: { to: 'failed', code: 'shoot_missing' },
    });
  });
});

describe('the phase', () => {
  const steady = aSteadyDesired();
  const operating = (type: string, state: string) => ({ lastOperation: { type, state } });
  const ill = { conditions: [aCondition('EveryNodeReady', 'False')] };

  it.each<[ClusterPhase, string, Desired, Shoot]>([
    [
      'Pending',
      'no seed was found yet',
      aDesired(),
      aShoot(aDesired(), { observedGeneration: 0, ...operating('Create', 'Pending') }),
    ],
    ['Pending', 'nothing has begun', aDesired(), aShoot(aDesired(), { observedGeneration: 0, lastOperation: null })],
    ['Provisioning', 'it is being made', aDesired(), aShoot(aDesired(), operating('Create', 'Processing'))],
    ['Provisioning', 'making it is tried again', aDesired(), aShoot(aDesired(), operating('Create', 'Error'))],
    ['Provisioning', 'a retry is due', aDesired(), aShoot(aDesired(), operating('Create', 'Failed'))],
    [
      'Failed',
      'making it was given up',
      aDesired({ known: { retriedGeneration: 1, appliedTokenVersion: 1 } }),
      aShoot(aDesired(), operating('Create', 'Failed')),
    ],
    ['Ready', 'all is well', steady, aShoot(steady)],
    ['Ready', 'the garden reconciles by itself', steady, aShoot(steady, operating('Reconcile', 'Processing'))],
    [
      'Ready',
      'health is being found out',
      steady,
      aShoot(steady, { conditions: [aCondition('EveryNodeReady', 'Progressing')] }),
    ],
    ['Updating', 'a change is on its way', updated(), ran('Processing')],
    ['Updating', 'a change is about to begin', updated(), ran('Succeeded', { observedGeneration: 4 })],
    ['Updating', 'somebody else changes it', steady, aShoot(steady, { generation: 2, observedGeneration: 1 })],
    [
      'Updating',
      'somebody else’s change is still under way',
      aSteadyDesired({ known: { phase: 'Updating' } }),
      aShoot(steady, { generation: 2, ...operating('Reconcile', 'Processing') }),
    ],
    ['Updating', 'its control plane moves', steady, aShoot(steady, operating('Restore', 'Processing'))],
    ['Degraded', 'some node is not ready', steady, aShoot(steady, ill)],
    [
      'Degraded',
      'a regular run has failed',
      steady,
      aShoot(steady, { ...operating('Reconcile', 'Error'), lastErrors: [{}] }),
    ],
    [
      'Failed',
      'it was given up',
      aSteadyDesired({ known: { retriedGeneration: 1 } }),
      aShoot(steady, operating('Reconcile', 'Failed')),
    ],
    ['Hibernating', 'it goes to sleep', updated({}, sleeps(true)), ran('Processing', asleep(true, false))],
    ['Hibernated', 'it sleeps', updated({}, sleeps(true)), ran('Succeeded', asleep(true, true))],
    [
      'Hibernated',
      'it sleeps, whatever its nodes were like',
      updated({}, sleeps(true)),
      ran('Succeeded', { ...asleep(true, true), ...ill }),
    ],
    ['Resuming', 'it wakes up', updated(), ran('Processing', asleep(false, true))],
    [
      'Resuming',
      'it cannot wake up for want of servers',
      updated(),
      ran('Error', { ...asleep(false, true), lastErrors: [{}] }),
    ],
    ['Deleting', 'it is to be deleted', { ...steady, isDeleting: true }, aShoot(steady)],
    ['Deleting', 'its deletion is tried again', { ...steady, isDeleting: true }, going('Error')],
    [
      'Failed',
      'its deletion was given up',
      aSteadyDesired({ isDeleting: true, known: { retriedGeneration: 1 } }),
      going('Failed'),
    ],
  ])('is %s while %s', (phase, _, desired, shoot) => {
    expect(verdictOf(desired, shoot).phase).toBe(phase);
  });

  function sleeps(hibernated: boolean): Partial<Desired> {
    return { spec: { ...steady.spec, hibernated } };
  }
  function asleep(wished: boolean, hibernated: boolean) {
    return { spec: { hibernation: { enabled: wished } }, hibernated };
  }
  function going(state: string): Shoot {
    return aShoot(steady, { generation: 2, deletionTimestamp: noon.toISOString(), ...operating('Delete', state) });
  }
});

describe('a cluster that failed', () => {
  it('is not called down when it answers', () => {
    const { phase, conditions } = verdictOf(updated({ retriedGeneration: 2 }), ran('Failed'));

    expect(phase).toBe('Failed');
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'ControlPlaneReady', status: 'True' }));
  });
});

describe('a deletion', () => {
  const desired = aSteadyDesired({
    isDeleting: true,
    operation: { id: 'o3', kind: 'cluster.delete', generation: 2, state: 'running', progress: 5, acceptedAt: noon },
  });
  const going = (state: string, more: Parameters<typeof aShoot>[1] = {}) =>
    aShoot(desired, {
      ...{
        generation: 2,
        deletionTimestamp: noon.toISOString(),
        lastOperation: { type: 'Delete', state, progress: 33 },
      },
      ...more,
    });

  it('shows its own progress, not that of what ran before', () => {
    expect(verdictOf(desired, going('Processing')).operation).toEqual({ to: 'running', progress: 33 });
    expect(verdictOf(desired, aShoot(desired)).operation).toEqual({ to: 'running', progress: 5 });
  });

  it('never succeeds by what runs: it ends with the row', () => {
    expect(verdictOf(desired, going('Succeeded')).operation.to).toBe('running');
  });

  it('says what blocks it', () => {
    const blocked = going('Error', { lastErrors: [{ codes: ['ERR_CLEANUP_CLUSTER_RESOURCES'] }] });

    expect(reasonOf(verdictOf(desired, going('Processing')))).toBe('Deleting');
    expect(reasonOf(verdictOf(desired, blocked))).toBe('CleanupBlocked');
  });

  it('of a cluster that was never seen waits, and says so', () => {
    const unseen = aDesired({ isDeleting: true, operation: desired.operation });
    const first = judge(unseen, absent, noon);
    const second = judge(
      { ...unseen, known: { ...unseen.known, conditions: first.conditions } },
      absent,
      minutesLater(1),
    );

    expect(first).toMatchObject({ phase: 'Deleting', operation: { to: 'running' }, lookAgainMs: 70_000 });
    expect(reasonOf(first, 'AbsenceConfirmed')).toBe('Waiting');
    expect(second.lookAgainMs).toBe(10_000);
  });
});

describe('a cluster without a Shoot', () => {
  it('is pending while it is prepared', () => {
    const verdict = judge(aDesired(), absent, later);

    expect(verdict).toMatchObject({ phase: 'Pending', operation: { to: 'running', progress: 0 }, lookAgainMs: 15_000 });
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
      lookAgainMs: null,
    });
  });

  it('has failed when it was there before', () => {
    const verdict = judge(aSteadyDesired({ operation: anUpdate() }), absent, later);

    expect(verdict).toMatchObject({
      phase: 'Failed',
      operation: { to: 'failed', code: 'shoot_missing' },
      seedName: null,
    });
    expect(reasonOf(verdict)).toBe('ShootMissing');
    expect(verdict.conditions).toContainEqual(expect.objectContaining({ type: 'ShootMissing', status: 'True' }));
  });

  it('has failed when its name is another’s', () => {
    const verdict = judge(aDesired(), { kind: 'foreign' }, later);

    expect(verdict).toMatchObject({ phase: 'Failed', operation: { to: 'failed', code: 'name_collision' } });
    expect(reasonOf(verdict)).toBe('NameCollision');
  });
});

describe('a verdict', () => {
  it('changes nothing after a read that is older than our last write', () => {
    const desired = updated({ conditions: [], seedName: 'seed-x', phase: 'Updating' });

    expect(verdictOf(desired, ran('Succeeded', { generation: 4 }))).toEqual({
      ...{ phase: 'Updating', conditions: [], seedName: 'seed-x', migrationPhase: null, observedGeneration: 1 },
      ...{ observed: null, operation: { to: 'stay' }, lookAgainMs: 5_000 },
    });
  });

  it('names the seed and the move', () => {
    const moving = ran('Succeeded', {
      lastOperation: { type: 'Migrate' },
      seedName: null,
      spec: { seedName: 'seed-b' },
    });

    expect(verdictOf(updated(), ran('Succeeded'))).toMatchObject({ seedName: 'seed-hel', migrationPhase: null });
    expect(verdictOf(updated(), moving)).toMatchObject({ seedName: null, migrationPhase: 'Restoring' });
  });

  it('says that a change waits until the control plane has arrived', () => {
    const desired = updated({ appliedGeneration: 1 });
    const shoot = aShoot(aSteadyDesired(), { generation: 5, lastOperation: { type: 'Restore', state: 'Processing' } });
    const verdict = verdictOf(desired, shoot);

    expect(verdict.operation.to).toBe('running');
    expect(reasonOf(verdict)).toBe('ControlPlaneMigrating');
  });

  it('never lets observedGeneration fall', () => {
    expect(verdictOf(updated({ observedGeneration: 2 }), ran('Processing')).observedGeneration).toBe(2);
  });

  it('reports an older declaration that was reached while a newer one waits', () => {
    const desired = { ...updated(), generation: 3, desiredHash: 'sha256:03' };

    expect(verdictOf(desired, ran('Succeeded')).observedGeneration).toBe(2);
  });
});
