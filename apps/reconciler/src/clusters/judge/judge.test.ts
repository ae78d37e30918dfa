import { asOperationId, type ClusterPhase } from '@corral/contracts';
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
} from '../../../test/support/a-cluster.js';
import { decide } from '../decide/decide.js';
import { learnedFrom } from '../decide/shoot-runs.js';
import type { Desired, Known, OpenOperation, Verdict } from '../model.js';
import { observedHash } from '../observe.js';
import { judge } from './judge.js';

type LastErrors = Partial<LastError>[];

const later = minutesLater(6);
const verdictOf = (desired: Desired, shoot: Shoot, now = later): Verdict => judge(desired, present(shoot), now);
const reasonOf = ({ conditions }: Verdict, type = 'Reconciled') =>
  conditions.find((each) => each.type === type)?.reason;
const anUpdate = (progress = 0): OpenOperation => ({
  id: asOperationId('o2'),
  kind: 'cluster.update',
  generation: 2,
  state: 'running',
  progress,
  acceptedAt: noon,
});

/** Generation 2 was applied a minute after noon and became the Shoot's own generation 5. */
const updated = (known: Partial<Known> = {}, more: Partial<Desired> = {}): Desired => ({
  ...aSteadyDesired({
    generation: 2,
    desiredHash: 'sha256:02',
    operation: anUpdate(),
    known: { appliedShootGeneration: 5, appliedAt: minutesLater(1), observedGeneration: 1, ...known },
  }),
  ...more,
});
const ran = (state: string, more: Parameters<typeof aShoot>[1] = {}, progress = 40) =>
  aShoot(updated(), { generation: 5, lastOperation: { type: 'Reconcile', state, progress }, ...more });

describe('an operation', () => {
  it('succeeds when a run that started after our write succeeded', () => {
    expect(verdictOf(updated(), ran('Succeeded'))).toMatchObject({
      phase: 'Ready',
      observedGeneration: 2,
      operation: { to: 'succeeded' },
      nextPassMs: null,
    });
  });

  it('succeeds with the write when the Shoot itself does not change, as for a pool of adopted servers', () => {
    const desired = updated({ appliedGeneration: 1, appliedShootGeneration: 4, appliedAt: noon });
    const own = aPool({ name: 'own', workerName: 'p4d5e6', source: 'pooled', autoscalerPriority: 100 });
    const wanted: Desired = { ...desired, pools: [aPool(), own] };
    const seen = aShoot(desired, { generation: 4, annotations: { 'corral.dev/generation': '1' } });
    const answered = aShoot(wanted, { generation: 4 });
    const learned = learnedFrom('applyShoot', wanted, answered, minutesLater(6));

    expect(decide(wanted, present(seen), minutesLater(6))).toEqual({ do: 'applyShoot' });
    expect(verdictOf({ ...wanted, known: { ...wanted.known, ...learned } }, answered)).toMatchObject({
      phase: 'Ready',
      observedGeneration: 2,
      operation: { to: 'succeeded' },
      nextPassMs: null,
    });
    expect(observedHash(answered)).not.toBe(observedHash(seen));
  });

  it.each<[string, Desired, Shoot]>([
    ['the garden has not observed our write', updated(), ran('Succeeded', { observedGeneration: 4 })],
    [
      'the success is older than our write',
      updated(),
      ran('Succeeded', { lastOperation: { type: 'Reconcile', lastUpdateTime: noon.toISOString() } }),
    ],
    ['the run is in progress', updated(), ran('Processing')],
    [
      'the succeeded operation was a migration to another seed',
      updated(),
      ran('Succeeded', { lastOperation: { type: 'Migrate' } }),
    ],
    [
      'the Shoot carries another declaration',
      updated(),
      ran('Succeeded', { annotations: { 'corral.dev/generation': '1' } }),
    ],
    ['the response to our write was lost', updated({ appliedGeneration: 1 }), ran('Succeeded')],
    ['the Shoot was changed since', updated(), ran('Succeeded', { generation: 6, observedGeneration: 5 })],
    [
      'another manager has reverted it',
      updated(),
      ran('Succeeded', { generation: 6, spec: { hibernation: { enabled: true } }, hibernated: true }),
    ],
  ])('does not succeed while %s', (_, desired, shoot) => {
    const verdict = verdictOf(desired, shoot);

    expect(verdict.operation.to).toBe('running');
    expect(verdict.observedGeneration).toBe(1);
    expect(verdict.nextPassMs).toBe(15_000);
  });

  it('succeeds immediately when the declaration changes nothing in the Shoot', () => {
    const desired = updated({ appliedShootGeneration: 1, appliedAt: noon });

    expect(verdictOf(desired, aShoot(desired, { generation: 1 })).operation).toEqual({ to: 'succeeded' });
  });

  it('compares the garden’s times in whole seconds', () => {
    const desired = updated({ appliedAt: new Date('2026-11-21T12:05:00.900Z') });

    expect(verdictOf(desired, ran('Succeeded')).operation).toEqual({ to: 'succeeded' });
  });

  it('shows the progress of its own run only', () => {
    expect(verdictOf(updated(), ran('Processing')).operation).toEqual({ to: 'running', progress: 40 });
    expect(verdictOf(updated(), ran('Processing', { observedGeneration: 4 })).operation).toMatchObject({ progress: 0 });
  });

  it('keeps its progress when the garden starts another attempt', () => {
    expect(verdictOf(updated({}, { operation: anUpdate(70) }), ran('Processing')).operation).toMatchObject({
      progress: 70,
    });
  });

  it('keeps running while the garden retries, and says why', () => {
    const shoot = ran('Error', { lastErrors: [{ description: 'resource_unavailable', codes: [] }] });
    const verdict = verdictOf(updated(), shoot);

    expect(verdict.operation.to).toBe('running');
    expect(reasonOf(verdict)).toBe('ProviderOutOfStock');
  });

  it('fails when the garden has given up after our retry', () => {
    const shoot = ran('Failed', { lastErrors: [{ codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }] });

    expect(verdictOf(updated({ retriedGeneration: 2 }), shoot)).toMatchObject({
      phase: 'Failed',
      operation: {
        to: 'failed',
        code: 'provider_quota_exceeded',
        message: 'A limit of the cloud project has been reached.',
      },
      nextPassMs: null,
    });
  });

  it('keeps running while a retry is due or another manager’s operation annotation blocks it', () => {
    const errors = { lastErrors: [{ codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }] };
    const taken = { annotations: { 'gardener.cloud/operation': 'rotate-ca-start' } };

    expect(verdictOf(updated({ retriedGeneration: 1 }), ran('Failed', errors)).operation.to).toBe('running');
    expect(verdictOf(updated({ retriedGeneration: 1 }), ran('Failed', { ...errors, ...taken }))).toMatchObject({
      operation: { to: 'running' },
      nextPassMs: 15_000,
    });
  });

  it('is checked again after the provider’s rate limit wait', () => {
    const shoot = ran('Failed', { lastErrors: [{ codes: ['ERR_INFRA_RATE_LIMITS_EXCEEDED'] }] });
    const now = new Date(minutesLater(5).getTime() + 10_000);

    expect(verdictOf(updated({ retriedGeneration: 2 }), shoot, now)).toMatchObject({
      operation: { to: 'running' },
      nextPassMs: 20_000,
    });
  });

  it('fails after ten minutes of an error that only the team can fix, although the garden would retry for hours', () => {
    const shoot = ran('Error', {
      lastErrors: [{ description: 'token is read-only (token_readonly)' }],
      retryCycleStartTime: minutesLater(1).toISOString(),
    });

    expect(verdictOf(updated(), shoot, minutesLater(10)).operation.to).toBe('running');
    expect(verdictOf(updated(), shoot, minutesLater(11)).operation).toMatchObject({
      to: 'failed',
      code: 'provider_permission_denied',
    });
  });

  it('does not fail after a single refusal of the token, which may be the provider’s fault', () => {
    const shoot = ran('Failed', { lastErrors: [{ codes: ['ERR_INFRA_UNAUTHENTICATED'] }] });

    expect(verdictOf(updated({ retriedGeneration: 1 }), shoot).operation.to).toBe('running');
    expect(verdictOf(updated({ retriedGeneration: 2 }), shoot).operation).toMatchObject({
      code: 'provider_token_rejected',
    });
  });

  it('has no deadline while the garden is working', () => {
    const hours = 12 * 60;
    const shoot = ran('Error', { retryCycleStartTime: noon.toISOString(), lastErrors: [{}] });

    expect(verdictOf(updated(), shoot, minutesLater(hours)).operation.to).toBe('running');
  });

  it('fails as an internal error when the cause is unknown', () => {
    const operation = verdictOf(updated({ retriedGeneration: 2 }), ran('Failed')).operation;

    expect(operation).toMatchObject({ to: 'failed', code: 'internal_error' });
  });

  it('stays null when there is none', () => {
    expect(verdictOf(aSteadyDesired(), aShoot(aSteadyDesired())).operation).toEqual({ to: 'stay' });
    expect(judge(aSteadyDesired(), absent, later).operation).toEqual({ to: 'stay' });
  });

  it('fails when the change needs a token that is rejected', () => {
    const desired = updated({ appliedGeneration: 1 });
    const rejected = { ...desired, connection: { ...desired.connection, phase: 'Rejected' as const } };

    expect(verdictOf(rejected, aShoot(aSteadyDesired(), { generation: 5 }))).toMatchObject({
      phase: 'Degraded',
      operation: { to: 'failed', code: 'provider_token_rejected' },
      nextPassMs: null,
    });
  });

  it.each<[string, Partial<Desired['connection']>, LastErrors]>([
    ['to us', { phase: 'Rejected' }, []],
    ['to the garden', {}, [{ codes: ['ERR_INFRA_UNAUTHENTICATED'] }]],
  ])('makes a running cluster Degraded and not Failed when its token is refused %s', (_to, connection, lastErrors) => {
    const desired = updated({ retriedGeneration: 2 });
    const without = { ...desired, connection: { ...desired.connection, ...connection } };

    for (const state of ['Failed', 'Error']) {
      expect(verdictOf(without, ran(state, { lastErrors })).phase).toBe('Degraded');
      expect(verdictOf({ ...without, operation: null }, ran(state, { lastErrors })).phase).toBe('Degraded');
    }
    const never = { ...without, known: { ...without.known, observedGeneration: 0 } };
    expect(verdictOf(never, ran('Failed', { lastErrors })).phase).toBe('Failed');
  });

  it('keeps running when the token is rejected after the change was applied', () => {
    const desired = updated();
    const rejected = { ...desired, connection: { ...desired.connection, phase: 'Rejected' as const } };

    expect(verdictOf(rejected, ran('Processing'))).toMatchObject({ phase: 'Updating', operation: { to: 'running' } });
    expect(verdictOf(rejected, ran('Failed')).operation.to).toBe('failed');
  });

  it('fails when the cluster is deleted by others', () => {
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
    ['Updating', 'a change is in progress', updated(), ran('Processing')],
    ['Updating', 'a change is about to start', updated(), ran('Succeeded', { observedGeneration: 4 })],
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
    ['Hibernating', 'it is being hibernated', updated({}, sleeps(true)), ran('Processing', asleep(true, false))],
    ['Hibernated', 'it is hibernated', updated({}, sleeps(true)), ran('Succeeded', asleep(true, true))],
    [
      'Hibernated',
      'it is hibernated with unhealthy nodes',
      updated({}, sleeps(true)),
      ran('Succeeded', { ...asleep(true, true), ...ill }),
    ],
    ['Resuming', 'it is being resumed', updated(), ran('Processing', asleep(false, true))],
    [
      'Resuming',
      'it cannot resume for lack of servers',
      updated(),
      ran('Error', { ...asleep(false, true), lastErrors: [{}] }),
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
    const { phase, conditions } = verdictOf(updated({ retriedGeneration: 2 }), ran('Failed'));

    expect(phase).toBe('Failed');
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'ControlPlaneReady', status: 'True' }));
  });
});

describe('a deletion', () => {
  const desired = aSteadyDesired({
    isDeleting: true,
    operation: {
      id: asOperationId('o3'),
      kind: 'cluster.delete',
      generation: 2,
      state: 'running',
      progress: 5,
      acceptedAt: noon,
    },
  });
  const going = (state: string, more: Parameters<typeof aShoot>[1] = {}) =>
    aShoot(desired, {
      generation: 2,
      deletionTimestamp: noon.toISOString(),
      lastOperation: { type: 'Delete', state, progress: 33 },
      ...more,
    });

  it('shows its own progress, not that of the previous run', () => {
    expect(verdictOf(desired, going('Processing')).operation).toEqual({ to: 'running', progress: 33 });
    expect(verdictOf(desired, aShoot(desired)).operation).toEqual({ to: 'running', progress: 5 });
  });

  it('never succeeds through a run, since it ends with the row', () => {
    expect(verdictOf(desired, going('Succeeded')).operation.to).toBe('running');
  });

  it('says what blocks it', () => {
    const blocked = going('Error', { lastErrors: [{ codes: ['ERR_CLEANUP_CLUSTER_RESOURCES'] }] });

    expect(reasonOf(verdictOf(desired, going('Processing')))).toBe('Deleting');
    expect(reasonOf(verdictOf(desired, blocked))).toBe('CleanupBlocked');
  });

  it('waits, and says so, when no Shoot was ever observed', () => {
    const unseen = aDesired({ isDeleting: true, operation: desired.operation });
    const first = judge(unseen, absent, noon);
    const second = judge(
      { ...unseen, known: { ...unseen.known, conditions: first.conditions } },
      absent,
      minutesLater(1),
    );

    expect(first).toMatchObject({ phase: 'Deleting', operation: { to: 'running' }, nextPassMs: 70_000 });
    expect(reasonOf(first, 'AbsenceConfirmed')).toBe('Waiting');
    expect(second.nextPassMs).toBe(10_000);
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
    const desired = updated({ conditions: [], seedName: 'seed-x', phase: 'Updating' });

    expect(verdictOf(desired, ran('Succeeded', { generation: 4 }))).toEqual({
      phase: 'Updating',
      conditions: [],
      seedName: 'seed-x',
      migrationPhase: null,
      observedGeneration: 1,
      observed: null,
      operation: { to: 'stay' },
      nextPassMs: 5_000,
    });
  });

  it('contains the seed and the migration phase', () => {
    const moving = ran('Succeeded', {
      lastOperation: { type: 'Migrate' },
      seedName: null,
      spec: { seedName: 'seed-b' },
    });

    expect(verdictOf(updated(), ran('Succeeded'))).toMatchObject({ seedName: 'seed-hel', migrationPhase: null });
    expect(verdictOf(updated(), moving)).toMatchObject({ seedName: null, migrationPhase: 'Restoring' });
  });

  it('says that a change waits for the control plane migration', () => {
    const desired = updated({ appliedGeneration: 1 });
    const shoot = aShoot(aSteadyDesired(), { generation: 5, lastOperation: { type: 'Restore', state: 'Processing' } });
    const verdict = verdictOf(desired, shoot);

    expect(verdict.operation.to).toBe('running');
    expect(reasonOf(verdict)).toBe('ControlPlaneMigrating');
  });

  it('never decreases observedGeneration', () => {
    expect(verdictOf(updated({ observedGeneration: 2 }), ran('Processing')).observedGeneration).toBe(2);
  });

  it('reports the observed generation of an older declaration while a newer one waits', () => {
    const desired = { ...updated(), generation: 3, desiredHash: 'sha256:03' };

    expect(verdictOf(desired, ran('Succeeded')).observedGeneration).toBe(2);
  });
});
