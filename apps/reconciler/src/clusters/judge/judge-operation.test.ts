import { asOperationId } from '@corral/contracts';
import type { LastError, Shoot } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import {
  absent,
  aDesired,
  anUpdate,
  anUpdatedDesired,
  anUpdatedShoot,
  aPool,
  aShoot,
  aSteadyDesired,
  minutesLater,
  noon,
  present,
} from '../../../test/support/a-cluster.js';
import { decide } from '../decide/decide.js';
import { learnedFrom } from '../decide/shoot-runs.js';
import type { Desired, Verdict } from '../model.js';
import { observedHash } from '../observe.js';
import { judge } from './judge.js';

type LastErrors = Partial<LastError>[];

const later = minutesLater(6);
const verdictOf = (desired: Desired, shoot: Shoot, now = later): Verdict => judge(desired, present(shoot), now);
const reasonOf = ({ conditions }: Verdict, type = 'Reconciled') =>
  conditions.find((each) => each.type === type)?.reason;

describe('an operation', () => {
  it('succeeds when a run that started after our write succeeded', () => {
    expect(verdictOf(anUpdatedDesired(), anUpdatedShoot('Succeeded'))).toMatchObject({
      phase: 'Ready',
      observedGeneration: 2,
      operation: { to: 'succeeded' },
      nextPassMs: null,
    });
  });

  it('succeeds with the write when the Shoot itself does not change, as for a pool of adopted servers', () => {
    const desired = anUpdatedDesired({ appliedGeneration: 1, appliedShootGeneration: 4, appliedAt: noon });
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
    [
      'the garden has not observed our write',
      anUpdatedDesired(),
      anUpdatedShoot('Succeeded', { observedGeneration: 4 }),
    ],
    [
      'the success is older than our write',
      anUpdatedDesired(),
      anUpdatedShoot('Succeeded', { lastOperation: { type: 'Reconcile', lastUpdateTime: noon.toISOString() } }),
    ],
    ['the run is in progress', anUpdatedDesired(), anUpdatedShoot('Processing')],
    [
      'the succeeded operation was a migration to another seed',
      anUpdatedDesired(),
      anUpdatedShoot('Succeeded', { lastOperation: { type: 'Migrate' } }),
    ],
    [
      'the Shoot carries another declaration',
      anUpdatedDesired(),
      anUpdatedShoot('Succeeded', { annotations: { 'corral.dev/generation': '1' } }),
    ],
    ['the response to our write was lost', anUpdatedDesired({ appliedGeneration: 1 }), anUpdatedShoot('Succeeded')],
    [
      'the Shoot was changed since',
      anUpdatedDesired(),
      anUpdatedShoot('Succeeded', { generation: 6, observedGeneration: 5 }),
    ],
    [
      'another manager has reverted it',
      anUpdatedDesired(),
      anUpdatedShoot('Succeeded', { generation: 6, spec: { hibernation: { enabled: true } }, hibernated: true }),
    ],
  ])('does not succeed while %s', (_, desired, shoot) => {
    const verdict = verdictOf(desired, shoot);

    expect(verdict.operation.to).toBe('running');
    expect(verdict.observedGeneration).toBe(1);
    expect(verdict.nextPassMs).toBe(15_000);
  });

  it('succeeds immediately when the declaration changes nothing in the Shoot', () => {
    const desired = anUpdatedDesired({ appliedShootGeneration: 1, appliedAt: noon });

    expect(verdictOf(desired, aShoot(desired, { generation: 1 })).operation).toEqual({ to: 'succeeded' });
  });

  it('compares the garden’s times in whole seconds', () => {
    const desired = anUpdatedDesired({ appliedAt: new Date('2026-11-21T12:05:00.900Z') });

    expect(verdictOf(desired, anUpdatedShoot('Succeeded')).operation).toEqual({ to: 'succeeded' });
  });

  it('shows the progress of its own run only', () => {
    expect(verdictOf(anUpdatedDesired(), anUpdatedShoot('Processing')).operation).toEqual({
      to: 'running',
      progress: 40,
    });
    expect(
      verdictOf(anUpdatedDesired(), anUpdatedShoot('Processing', { observedGeneration: 4 })).operation,
    ).toMatchObject({ progress: 0 });
  });

  it('keeps its progress when the garden starts another attempt', () => {
    expect(
      verdictOf(anUpdatedDesired({}, { operation: anUpdate(70) }), anUpdatedShoot('Processing')).operation,
    ).toMatchObject({
      progress: 70,
    });
  });

  it('keeps running while the garden retries, and says why', () => {
    const shoot = anUpdatedShoot('Error', { lastErrors: [{ description: 'resource_unavailable', codes: [] }] });
    const verdict = verdictOf(anUpdatedDesired(), shoot);

    expect(verdict.operation.to).toBe('running');
    expect(reasonOf(verdict)).toBe('ProviderOutOfStock');
  });

  it('fails when the garden has given up after our retry', () => {
    const shoot = anUpdatedShoot('Failed', { lastErrors: [{ codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }] });

    expect(verdictOf(anUpdatedDesired({ retriedGeneration: 2 }), shoot)).toMatchObject({
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

    expect(verdictOf(anUpdatedDesired({ retriedGeneration: 1 }), anUpdatedShoot('Failed', errors)).operation.to).toBe(
      'running',
    );
    expect(
      verdictOf(anUpdatedDesired({ retriedGeneration: 1 }), anUpdatedShoot('Failed', { ...errors, ...taken })),
    ).toMatchObject({
      operation: { to: 'running' },
      nextPassMs: 15_000,
    });
  });

  it('is checked again after the provider’s rate limit wait', () => {
    const shoot = anUpdatedShoot('Failed', { lastErrors: [{ codes: ['ERR_INFRA_RATE_LIMITS_EXCEEDED'] }] });
    const now = new Date(minutesLater(5).getTime() + 10_000);

    expect(verdictOf(anUpdatedDesired({ retriedGeneration: 2 }), shoot, now)).toMatchObject({
      operation: { to: 'running' },
      nextPassMs: 20_000,
    });
  });

  it('fails after ten minutes of an error that only the team can fix, although the garden would retry for hours', () => {
    const shoot = anUpdatedShoot('Error', {
      lastErrors: [{ description: 'token is read-only (token_readonly)' }],
      retryCycleStartTime: minutesLater(1).toISOString(),
    });

    expect(verdictOf(anUpdatedDesired(), shoot, minutesLater(10)).operation.to).toBe('running');
    expect(verdictOf(anUpdatedDesired(), shoot, minutesLater(11)).operation).toMatchObject({
      to: 'failed',
      code: 'provider_permission_denied',
    });
  });

  it('does not fail after a single refusal of the token, which may be the provider’s fault', () => {
    const shoot = anUpdatedShoot('Failed', { lastErrors: [{ codes: ['ERR_INFRA_UNAUTHENTICATED'] }] });

    expect(verdictOf(anUpdatedDesired({ retriedGeneration: 1 }), shoot).operation.to).toBe('running');
    expect(verdictOf(anUpdatedDesired({ retriedGeneration: 2 }), shoot).operation).toMatchObject({
      code: 'provider_token_rejected',
    });
  });

  it('has no deadline while the garden is working', () => {
    const hours = 12 * 60;
    const shoot = anUpdatedShoot('Error', { retryCycleStartTime: noon.toISOString(), lastErrors: [{}] });

    expect(verdictOf(anUpdatedDesired(), shoot, minutesLater(hours)).operation.to).toBe('running');
  });

  it('fails as an internal error when the cause is unknown', () => {
    const operation = verdictOf(anUpdatedDesired({ retriedGeneration: 2 }), anUpdatedShoot('Failed')).operation;

    expect(operation).toMatchObject({ to: 'failed', code: 'internal_error' });
  });

  it('stays null when there is none', () => {
    expect(verdictOf(aSteadyDesired(), aShoot(aSteadyDesired())).operation).toEqual({ to: 'stay' });
    expect(judge(aSteadyDesired(), absent, later).operation).toEqual({ to: 'stay' });
  });

  it('fails when the change needs a token that is rejected', () => {
    const desired = anUpdatedDesired({ appliedGeneration: 1 });
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
    const desired = anUpdatedDesired({ retriedGeneration: 2 });
    const without = { ...desired, connection: { ...desired.connection, ...connection } };

    for (const state of ['Failed', 'Error']) {
      expect(verdictOf(without, anUpdatedShoot(state, { lastErrors })).phase).toBe('Degraded');
      expect(verdictOf({ ...without, operation: null }, anUpdatedShoot(state, { lastErrors })).phase).toBe('Degraded');
    }
    const never = { ...without, known: { ...without.known, observedGeneration: 0 } };
    expect(verdictOf(never, anUpdatedShoot('Failed', { lastErrors })).phase).toBe('Failed');
  });

  it('keeps running when the token is rejected after the change was applied', () => {
    const desired = anUpdatedDesired();
    const rejected = { ...desired, connection: { ...desired.connection, phase: 'Rejected' as const } };

    expect(verdictOf(rejected, anUpdatedShoot('Processing'))).toMatchObject({
      phase: 'Updating',
      operation: { to: 'running' },
    });
    expect(verdictOf(rejected, anUpdatedShoot('Failed')).operation.to).toBe('failed');
  });

  it('fails when the cluster is deleted by others', () => {
    const shoot = anUpdatedShoot('Processing', {
      deletionTimestamp: noon.toISOString(),
      lastOperation: { type: 'Delete' },
    });

    expect(verdictOf(anUpdatedDesired(), shoot)).toMatchObject({
      phase: 'Deleting',
      operation: { to: 'failed', code: 'shoot_missing' },
    });
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
