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
import type { Desired, Observed, Step } from '../model.js';
import { operationAnnotation } from '../shoot-labels.js';
import { decide } from './decide.js';

const foreign: Observed = { kind: 'foreign' };
const stepOf = (desired: Desired, seen: Observed, now = minutesLater(6)): Step => decide(desired, seen, now);

describe('a cluster without a Shoot', () => {
  it.each<[string, Desired, Step['do']]>([
    ['gets its Project first', aDesired({ namespace: null, pinnedVersion: null }), 'ensureProject'],
    [
      'then its credentials',
      aDesired({ connection: { gardenTokenVersion: 0 }, pinnedVersion: null }),
      'applyCredentials',
    ],
    ['then its version', aDesired({ pinnedVersion: null }), 'pinVersion'],
    ['then its Shoot', aDesired(), 'applyShoot'],
    [
      'gets its first token even unverified, since nothing depends on it yet',
      aDesired({ connection: { phase: 'Unverified', gardenTokenVersion: 0 } }),
      'applyCredentials',
    ],
    ['waits while the provider rejects its token', aDesired({ connection: { phase: 'Rejected' } }), 'finish'],
    [
      'waits while a replaced token is not verified',
      aDesired({ connection: { phase: 'Unverified', tokenVersion: 2 } }),
      'finish',
    ],
    [
      'gets another version when another one was declared',
      aDesired({ spec: { kubernetesVersion: '1.35' } }),
      'pinVersion',
    ],
  ])('%s', (_, desired, step) => {
    expect(stepOf(desired, absent)).toEqual({ do: step });
  });

  it('gets no step when a foreign Shoot has its name', () => {
    expect(stepOf(aDesired(), foreign)).toEqual({ do: 'finish' });
  });

  it('is not created a second time after it existed', () => {
    expect(stepOf(aSteadyDesired(), absent)).toEqual({ do: 'finish' });
    expect(stepOf(aSteadyDesired({ namespace: 'garden-x', connection: { tokenVersion: 2 } }), absent)).toEqual({
      do: 'finish',
    });
  });
});

describe('a cluster with a Shoot', () => {
  const changed = aSteadyDesired({ generation: 2, desiredHash: 'sha256:02', known: { appliedGeneration: 1 } });
  const before = aSteadyDesired();

  it('gets no step when it matches the declaration', () => {
    expect(stepOf(before, present(aShoot(before)))).toEqual({ do: 'finish' });
  });

  it.each([
    ['the generation', { 'corral.dev/generation': '2' }],
    ['the hash', { 'corral.dev/desired-hash': 'sha256:ff' }],
    ['removed labels', {}, {}],
    ['an invalid generation', { 'corral.dev/generation': 'two' }],
  ])(
    'is applied when its labels or annotations differ: %s',
    (_, annotations, labels = aShoot(before).metadata.labels) => {
      expect(stepOf(before, present(aShoot(before, { annotations, labels })))).toEqual({ do: 'applyShoot' });
    },
  );

  it('is applied after a new declaration, even during a run', () => {
    const running = aShoot(before, { lastOperation: { type: 'Reconcile', state: 'Processing', progress: 20 } });

    expect(stepOf(changed, present(aShoot(before)))).toEqual({ do: 'applyShoot' });
    expect(stepOf(changed, present(running))).toEqual({ do: 'applyShoot' });
  });

  it('is applied again when the response to the last apply was lost', () => {
    const unrecorded = aDesired({ known: { shootUid: 'uid-1' } });

    expect(stepOf(unrecorded, present(aShoot(unrecorded)))).toEqual({ do: 'applyShoot' });
  });

  it('is not changed while its token is rejected, or replaced and not verified', () => {
    const rejected = { ...changed, connection: { ...changed.connection, phase: 'Rejected' as const } };
    const replaced = {
      ...changed,
      connection: { ...changed.connection, phase: 'Unverified' as const, tokenVersion: 2 },
    };

    expect(stepOf(rejected, present(aShoot(before)))).toEqual({ do: 'finish' });
    expect(stepOf(replaced, present(aShoot(before)))).toEqual({ do: 'finish' });
  });

  it('is changed with a verified token whose repeated verification failed', () => {
    const unverified = { ...changed, connection: { ...changed.connection, phase: 'Unverified' as const } };

    expect(stepOf(unverified, present(aShoot(before)))).toEqual({ do: 'applyShoot' });
  });

  it('ignores a read that is older than the last write', () => {
    const desired = aSteadyDesired({ known: { appliedShootGeneration: 4, appliedGeneration: 1 } });
    const old = aShoot(before, { generation: 3, annotations: { 'corral.dev/generation': '0' } });

    expect(stepOf(desired, present(old))).toEqual({ do: 'finish' });
    expect(stepOf({ ...desired, isDeleting: true }, present(old))).toEqual({ do: 'finish' });
  });

  it('keeps a version that maintenance raised', () => {
    const raised = aShoot(before, { generation: 2, spec: { kubernetes: { version: '1.34.9' } } });

    expect(stepOf(before, present(raised))).toEqual({ do: 'pinVersion' });
    expect(stepOf({ ...before, pinnedVersion: '1.34.9' }, present(raised))).toEqual({ do: 'finish' });
  });

  it('gets no step while another party deletes it', () => {
    const going = aShoot(before, { deletionTimestamp: minutesLater(5).toISOString(), generation: 2 });

    expect(stepOf(changed, present(going))).toEqual({ do: 'finish' });
  });
});

describe('a change by another manager', () => {
  const desired = aSteadyDesired({ pools: [aPool({ minimum: 0 })] });
  const editedTo = (spec: Record<string, unknown>, generation = 2) => present(aShoot(desired, { generation, spec }));
  const worker = (more: object) => {
    const [rendered] = (aShoot(desired).spec.provider as { workers: object[] }).workers;
    return { provider: { type: 'hcloud', workers: [{ ...rendered, ...more }] } };
  };

  it.each([
    ['of the hibernation', { hibernation: { enabled: true } }],
    ['of a maximum', worker({ maximum: 9 })],
    ['of a minimum', worker({ minimum: 2 })],
    ['of a machine type', worker({ machine: { type: 'cpx51' } })],
    ['of a pool that is gone', { provider: { workers: [] } }],
  ])('%s without a field owner is reverted by an apply', (_, spec) => {
    expect(stepOf(desired, editedTo(spec))).toEqual({ do: 'applyShoot' });
  });

  it('that removes declared high availability is reverted by an apply', () => {
    const available = aSteadyDesired({ spec: { controlPlaneHA: true } });

    expect(stepOf(available, present(aShoot(available, { generation: 2, spec: { controlPlane: {} } })))).toEqual({
      do: 'applyShoot',
    });
  });

  it.each([
    ['of undeclared fields', { purpose: 'production', dns: { domain: 'x.example' } }],
    ['that adds a pool', { provider: { workers: [...workersOf(aShoot(desired).spec), { name: 'theirs' }] } }],
  ])('%s gets no step', (_, spec) => {
    expect(stepOf(desired, editedTo(spec))).toEqual({ do: 'finish' });
  });

  it('is not assumed when the garden itself altered the applied values, which would cause endless applies', () => {
    expect(stepOf(desired, editedTo(worker({ maximum: 9 }), 1))).toEqual({ do: 'finish' });
  });

  function workersOf(spec: Record<string, unknown>): object[] {
    return (spec.provider as { workers: object[] }).workers;
  }
});

describe('a migrating control plane', () => {
  const desired = aSteadyDesired({ generation: 2, desiredHash: 'sha256:02', known: { appliedGeneration: 1 } });
  const moving = present(aShoot(aSteadyDesired(), { lastOperation: { type: 'Restore', state: 'Processing' } }));

  it('delays changes and the deletion', () => {
    expect(stepOf(desired, moving)).toEqual({ do: 'finish' });
    expect(stepOf({ ...desired, isDeleting: true }, moving)).toEqual({ do: 'finish' });
  });

  it('does not delay a token, which may be what the migration waits for', () => {
    const connection = { ...desired.connection, tokenVersion: 2 };

    expect(stepOf({ ...desired, connection }, moving)).toEqual({ do: 'applyCredentials' });
    expect(stepOf({ ...desired, connection, isDeleting: true }, moving)).toEqual({ do: 'applyCredentials' });
  });
});

describe('a new token', () => {
  const desired = aSteadyDesired({ connection: { tokenVersion: 2, gardenTokenVersion: 2 } });

  it('is written to the garden first', () => {
    const fresh = aSteadyDesired({ connection: { tokenVersion: 2 } });

    expect(stepOf(fresh, present(aShoot(fresh)))).toEqual({ do: 'applyCredentials' });
  });

  it.each([
    ['Succeeded', 'reconcileShoot'],
    ['Error', 'reconcileShoot'],
    ['Processing', 'finish'],
    ['Pending', 'finish'],
    ['Failed', 'retryShoot'],
  ])('reaches a Shoot whose last operation is %s through: %s', (state, step) => {
    expect(stepOf(desired, present(aShoot(desired, { lastOperation: { type: 'Reconcile', state } })))).toEqual({
      do: step,
    });
  });

  it('waits for a run that is already due', () => {
    expect(stepOf(desired, present(aShoot(desired, { generation: 2, observedGeneration: 1 })))).toEqual({
      do: 'finish',
    });
  });

  it('waits while another manager’s operation annotation is set', () => {
    const annotations = { [operationAnnotation]: 'rotate-credentials-start' };
    const failed = { type: 'Reconcile', state: 'Failed' };

    expect(stepOf(desired, present(aShoot(desired, { annotations })))).toEqual({ do: 'finish' });
    expect(stepOf(desired, present(aShoot(desired, { annotations, lastOperation: failed })))).toEqual({ do: 'finish' });
  });

  it('replaces an operation annotation that ours includes', () => {
    const shoot = aShoot(desired, { annotations: { [operationAnnotation]: 'retry' } });

    expect(stepOf(desired, present(shoot))).toEqual({ do: 'reconcileShoot' });
  });

  it('is rolled out by an apply that is due as well', () => {
    const changed = { ...desired, generation: 2, desiredHash: 'sha256:02' };

    expect(stepOf(changed, present(aShoot(desired)))).toEqual({ do: 'applyShoot' });
  });
});

describe('a Shoot whose last operation failed for good', () => {
  const desired = aSteadyDesired({ known: { retriedGeneration: 0 } });
  const failed = aShoot(desired, {
    lastOperation: { type: 'Reconcile', state: 'Failed' },
    lastErrors: [{ codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }],
  });

  it('is retried once per accepted generation', () => {
    expect(stepOf(desired, present(failed))).toEqual({ do: 'retryShoot' });
    expect(stepOf(aSteadyDesired({ known: { retriedGeneration: 1 } }), present(failed))).toEqual({ do: 'finish' });
  });

  it('is not retried twice while the first retry is pending', () => {
    const retried = aShoot(desired, { generation: 2, observedGeneration: 1, lastOperation: { state: 'Failed' } });

    expect(stepOf(desired, present(retried))).toEqual({ do: 'finish' });
  });
});

describe('a cluster under deletion', () => {
  const desired = aSteadyDesired({ isDeleting: true });
  const shoot = aShoot(desired);
  const going = (more: Parameters<typeof aShoot>[1] = {}) =>
    aShoot(desired, {
      deletionTimestamp: minutesLater(5).toISOString(),
      generation: 2,
      lastOperation: { type: 'Delete', state: 'Processing' },
      ...more,
    });

  it('is deleted by the observed UID', () => {
    expect(stepOf(desired, present(shoot))).toEqual({ do: 'deleteShoot', uid: 'uid-1' });
  });

  it('is deleted even if its last change was never applied', () => {
    const changed = { ...desired, generation: 5, desiredHash: 'sha256:05' };

    expect(stepOf(changed, present(shoot))).toMatchObject({ do: 'deleteShoot' });
  });

  it.each(['Rejected', 'Unverified'] as const)('is deleted even if its connection is %s', (phase) => {
    const connection = { ...desired.connection, phase, tokenVersion: 2 };

    expect(stepOf({ ...desired, connection }, present(shoot))).toMatchObject({ do: 'deleteShoot' });
  });

  it('gets a newer token first, and also during its deletion', () => {
    const connection = { ...desired.connection, tokenVersion: 2 };

    expect(stepOf({ ...desired, connection }, present(shoot))).toEqual({ do: 'applyCredentials' });
    expect(stepOf({ ...desired, connection }, present(going()))).toEqual({ do: 'applyCredentials' });
  });

  it('is left to the garden once its deletion has begun', () => {
    expect(stepOf(desired, present(going()))).toEqual({ do: 'finish' });
  });

  it('is retried after a failed deletion: once, and again for a new token', () => {
    const failed = present(going({ lastOperation: { type: 'Delete', state: 'Failed' } }));
    const tried = aSteadyDesired({ isDeleting: true, known: { retriedGeneration: 1 } });
    const renewed = { ...tried, connection: { ...tried.connection, tokenVersion: 2, gardenTokenVersion: 2 } };

    expect(stepOf(desired, failed)).toEqual({ do: 'retryShoot' });
    expect(stepOf(tried, failed)).toEqual({ do: 'finish' });
    expect(stepOf(renewed, failed)).toEqual({ do: 'retryShoot' });
  });

  it('is forgotten when its Shoot is gone', () => {
    expect(stepOf(desired, absent)).toEqual({ do: 'forget' });
  });

  it('is forgotten when a foreign Shoot has its name', () => {
    expect(stepOf(desired, foreign)).toEqual({ do: 'forget' });
  });

  it.each([
    ['no namespace', aDesired({ isDeleting: true, namespace: null })],
    ['no version', aDesired({ isDeleting: true, pinnedVersion: null })],
    ['no credentials', aDesired({ isDeleting: true, connection: { gardenTokenVersion: 0 } })],
  ])('is forgotten immediately when it had %s, since no Shoot can have been applied', (_, unapplied) => {
    expect(stepOf(unapplied, absent)).toEqual({ do: 'forget' });
  });

  it('is forgotten without an observed Shoot only when a late one can no longer appear', () => {
    const since = { type: 'AbsenceConfirmed', status: 'Unknown' as const, reason: 'Waiting', message: '' };
    const waiting = aDesired({
      isDeleting: true,
      known: { conditions: [{ ...since, lastTransitionTime: noon.toISOString() }] },
    });

    expect(stepOf(aDesired({ isDeleting: true }), absent)).toEqual({ do: 'finish' });
    expect(stepOf(waiting, absent, minutesLater(1))).toEqual({ do: 'finish' });
    expect(stepOf(waiting, absent, minutesLater(2))).toEqual({ do: 'forget' });
  });
});

describe('health', () => {
  it('never causes a write', () => {
    const desired = aSteadyDesired();
    const ill = aShoot(desired, { conditions: [aCondition('EveryNodeReady', 'False')] });

    expect(stepOf(desired, present(ill))).toEqual({ do: 'finish' });
  });
});
