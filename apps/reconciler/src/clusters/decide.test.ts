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
import { decide } from './decide.js';
import { operationAnnotation } from './marks.js';
import type { Desired, Observed, Step } from './model.js';

const foreign: Observed = { kind: 'foreign' };
const stepOf = (desired: Desired, seen: Observed, now = minutesLater(6)): Step => decide(desired, seen, now);

describe('a cluster that is not there yet', () => {
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
      'gets the first token though nobody has verified it: there is nothing that it could break',
      aDesired({ connection: { phase: 'Unverified', gardenTokenVersion: 0 } }),
      'applyCredentials',
    ],
    ['waits while the provider rejects its token', aDesired({ connection: { phase: 'Rejected' } }), 'settle'],
    [
      'waits while a replaced token is not verified',
      aDesired({ connection: { phase: 'Unverified', tokenVersion: 2 } }),
      'settle',
    ],
    [
      'gets another version when another one was declared',
      aDesired({ spec: { kubernetesVersion: '1.35' } }),
      'pinVersion',
    ],
  ])('%s', (_, desired, step) => {
    expect(stepOf(desired, absent)).toEqual({ do: step });
  });

  it('is left alone when its name is taken', () => {
    expect(stepOf(aDesired(), foreign)).toEqual({ do: 'settle' });
  });

  it('is not made again once it was there', () => {
    expect(stepOf(aSteadyDesired(), absent)).toEqual({ do: 'settle' });
    expect(stepOf(aSteadyDesired({ namespace: 'garden-x', connection: { tokenVersion: 2 } }), absent)).toEqual({
      do: 'settle',
    });
  });
});

describe('a cluster that is there', () => {
  const changed = aSteadyDesired({ generation: 2, desiredHash: 'sha256:02', known: { appliedGeneration: 1 } });
  const before = aSteadyDesired();

  it('is left alone when it has what is declared', () => {
    expect(stepOf(before, present(aShoot(before)))).toEqual({ do: 'settle' });
  });

  it.each([
    ['the generation', { 'corral.dev/generation': '2' }],
    ['the hash', { 'corral.dev/desired-hash': 'sha256:ff' }],
    ['labels that somebody took off', {}, {}],
    ['a generation that is none', { 'corral.dev/generation': 'two' }],
  ])('is applied when it tells another story by %s', (_, annotations, labels = aShoot(before).metadata.labels) => {
    expect(stepOf(before, present(aShoot(before, { annotations, labels })))).toEqual({ do: 'applyShoot' });
  });

  it('is applied when something new was declared, also while a run is under way', () => {
    const running = aShoot(before, { lastOperation: { type: 'Reconcile', state: 'Processing', progress: 20 } });

    expect(stepOf(changed, present(aShoot(before)))).toEqual({ do: 'applyShoot' });
    expect(stepOf(changed, present(running))).toEqual({ do: 'applyShoot' });
  });

  it('is applied again when the answer to the last apply was lost', () => {
    const unrecorded = aDesired({ known: { shootUid: 'uid-1' } });

    expect(stepOf(unrecorded, present(aShoot(unrecorded)))).toEqual({ do: 'applyShoot' });
  });

  it('is not changed with a token that the provider rejects, nor before a replaced one is verified', () => {
    const rejected = { ...changed, connection: { ...changed.connection, phase: 'Rejected' as const } };
    const replaced = {
      ...changed,
      connection: { ...changed.connection, phase: 'Unverified' as const, tokenVersion: 2 },
    };

    expect(stepOf(rejected, present(aShoot(before)))).toEqual({ do: 'settle' });
    expect(stepOf(replaced, present(aShoot(before)))).toEqual({ do: 'settle' });
  });

  it('is changed with a token that could only not be verified again', () => {
    const unverified = { ...changed, connection: { ...changed.connection, phase: 'Unverified' as const } };

    expect(stepOf(unverified, present(aShoot(before)))).toEqual({ do: 'applyShoot' });
  });

  it('is not acted on by a read that is older than our last write', () => {
    const desired = aSteadyDesired({ known: { appliedShootGeneration: 4, appliedGeneration: 1 } });
    const old = aShoot(before, { generation: 3, annotations: { 'corral.dev/generation': '0' } });

    expect(stepOf(desired, present(old))).toEqual({ do: 'settle' });
    expect(stepOf({ ...desired, isDeleting: true }, present(old))).toEqual({ do: 'settle' });
  });

  it('keeps a version that maintenance has raised', () => {
    const raised = aShoot(before, { generation: 2, spec: { kubernetes: { version: '1.34.9' } } });

    expect(stepOf(before, present(raised))).toEqual({ do: 'pinVersion' });
    expect(stepOf({ ...before, pinnedVersion: '1.34.9' }, present(raised))).toEqual({ do: 'settle' });
  });

  it('is left to whoever deletes it', () => {
    const going = aShoot(before, { deletionTimestamp: minutesLater(5).toISOString(), generation: 2 });

    expect(stepOf(changed, present(going))).toEqual({ do: 'settle' });
  });
});

describe('a change by somebody else', () => {
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
  ])('%s that nobody stands for is met by applying what is declared', (_, spec) => {
    expect(stepOf(desired, editedTo(spec))).toEqual({ do: 'applyShoot' });
  });

  it('to high availability that is declared is met by applying it', () => {
    const available = aSteadyDesired({ spec: { controlPlaneHA: true } });

    expect(stepOf(available, present(aShoot(available, { generation: 2, spec: { controlPlane: {} } })))).toEqual({
      do: 'applyShoot',
    });
  });

  it.each([
    ['of what nobody declares', { purpose: 'production', dns: { domain: 'x.example' } }],
    ['that adds a pool', { provider: { workers: [...workersOf(aShoot(desired).spec), { name: 'theirs' }] } }],
  ])('%s is left alone', (_, spec) => {
    expect(stepOf(desired, editedTo(spec))).toEqual({ do: 'settle' });
  });

  it('is not seen in what the garden itself made of our write, so that applies do not follow each other for ever', () => {
    expect(stepOf(desired, editedTo(worker({ maximum: 9 }), 1))).toEqual({ do: 'settle' });
  });

  function workersOf(spec: Record<string, unknown>): object[] {
    return (spec.provider as { workers: object[] }).workers;
  }
});

describe('a control plane that moves', () => {
  const desired = aSteadyDesired({ generation: 2, desiredHash: 'sha256:02', known: { appliedGeneration: 1 } });
  const moving = present(aShoot(aSteadyDesired(), { lastOperation: { type: 'Restore', state: 'Processing' } }));

  it('holds back changes and the deletion', () => {
    expect(stepOf(desired, moving)).toEqual({ do: 'settle' });
    expect(stepOf({ ...desired, isDeleting: true }, moving)).toEqual({ do: 'settle' });
  });

  it('does not hold back a token, which it may be waiting for', () => {
    const connection = { ...desired.connection, tokenVersion: 2 };

    expect(stepOf({ ...desired, connection }, moving)).toEqual({ do: 'applyCredentials' });
    expect(stepOf({ ...desired, connection, isDeleting: true }, moving)).toEqual({ do: 'applyCredentials' });
  });
});

describe('a new token', () => {
  const desired = aSteadyDesired({ connection: { tokenVersion: 2, gardenTokenVersion: 2 } });

  it('goes to the garden first', () => {
    const fresh = aSteadyDesired({ connection: { tokenVersion: 2 } });

    expect(stepOf(fresh, present(aShoot(fresh)))).toEqual({ do: 'applyCredentials' });
  });

  it.each([
    ['Succeeded', 'reconcileShoot'],
    ['Error', 'reconcileShoot'],
    ['Processing', 'settle'],
    ['Pending', 'settle'],
    ['Failed', 'retryShoot'],
  ])('reaches a Shoot whose last operation is %s by: %s', (state, step) => {
    expect(stepOf(desired, present(aShoot(desired, { lastOperation: { type: 'Reconcile', state } })))).toEqual({
      do: step,
    });
  });

  it('waits for a run that is due anyway', () => {
    expect(stepOf(desired, present(aShoot(desired, { generation: 2, observedGeneration: 1 })))).toEqual({
      do: 'settle',
    });
  });

  it('waits while somebody else’s order is in the slot', () => {
    const annotations = { [operationAnnotation]: 'rotate-credentials-start' };
    const failed = { type: 'Reconcile', state: 'Failed' };

    expect(stepOf(desired, present(aShoot(desired, { annotations })))).toEqual({ do: 'settle' });
    expect(stepOf(desired, present(aShoot(desired, { annotations, lastOperation: failed })))).toEqual({ do: 'settle' });
  });

  it('takes the place of an order that says no more than ours', () => {
    const shoot = aShoot(desired, { annotations: { [operationAnnotation]: 'retry' } });

    expect(stepOf(desired, present(shoot))).toEqual({ do: 'reconcileShoot' });
  });

  it('is taken up with a change that is due as well', () => {
    const changed = { ...desired, generation: 2, desiredHash: 'sha256:02' };

    expect(stepOf(changed, present(aShoot(desired)))).toEqual({ do: 'applyShoot' });
  });
});

describe('a Shoot that the garden has given up', () => {
  const desired = aSteadyDesired({ known: { retriedGeneration: 0 } });
  const failed = aShoot(desired, {
    lastOperation: { type: 'Reconcile', state: 'Failed' },
    lastErrors: [{ codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }],
  });

  it('is told to try again once for each accepted generation', () => {
    expect(stepOf(desired, present(failed))).toEqual({ do: 'retryShoot' });
    expect(stepOf(aSteadyDesired({ known: { retriedGeneration: 1 } }), present(failed))).toEqual({ do: 'settle' });
  });

  it('is not told twice while the first order is on its way', () => {
    const told = aShoot(desired, { generation: 2, observedGeneration: 1, lastOperation: { state: 'Failed' } });

    expect(stepOf(desired, present(told))).toEqual({ do: 'settle' });
  });
});

describe('a cluster that is to be deleted', () => {
  const desired = aSteadyDesired({ isDeleting: true });
  const shoot = aShoot(desired);
  const going = (more: Parameters<typeof aShoot>[1] = {}) =>
    aShoot(desired, {
      ...{ deletionTimestamp: minutesLater(5).toISOString(), generation: 2 },
      ...{ lastOperation: { type: 'Delete', state: 'Processing' }, ...more },
    });

  it('is deleted by the identity that was seen', () => {
    expect(stepOf(desired, present(shoot))).toEqual({ do: 'deleteShoot', uid: 'uid-1' });
  });

  it('is deleted although its last change was never handed over', () => {
    const changed = { ...desired, generation: 5, desiredHash: 'sha256:05' };

    expect(stepOf(changed, present(shoot))).toMatchObject({ do: 'deleteShoot' });
  });

  it.each(['Rejected', 'Unverified'] as const)('is deleted although its connection is %s', (phase) => {
    const connection = { ...desired.connection, phase, tokenVersion: 2 };

    expect(stepOf({ ...desired, connection }, present(shoot))).toMatchObject({ do: 'deleteShoot' });
  });

  it('gets a better token first, and while it is being deleted', () => {
    const connection = { ...desired.connection, tokenVersion: 2 };

    expect(stepOf({ ...desired, connection }, present(shoot))).toEqual({ do: 'applyCredentials' });
    expect(stepOf({ ...desired, connection }, present(going()))).toEqual({ do: 'applyCredentials' });
  });

  it('is left to the garden once that has begun', () => {
    expect(stepOf(desired, present(going()))).toEqual({ do: 'settle' });
  });

  it('is told to try again when its deletion has failed: once, and for a new token', () => {
    const failed = present(going({ lastOperation: { type: 'Delete', state: 'Failed' } }));
    const tried = aSteadyDesired({ isDeleting: true, known: { retriedGeneration: 1 } });
    const renewed = { ...tried, connection: { ...tried.connection, tokenVersion: 2, gardenTokenVersion: 2 } };

    expect(stepOf(desired, failed)).toEqual({ do: 'retryShoot' });
    expect(stepOf(tried, failed)).toEqual({ do: 'settle' });
    expect(stepOf(renewed, failed)).toEqual({ do: 'retryShoot' });
  });

  it('is forgotten when it is gone', () => {
    expect(stepOf(desired, absent)).toEqual({ do: 'forget' });
  });

  it('is forgotten when its name is another’s', () => {
    expect(stepOf(desired, foreign)).toEqual({ do: 'forget' });
  });

  it.each([
    ['no namespace', aDesired({ isDeleting: true, namespace: null })],
    ['no version', aDesired({ isDeleting: true, pinnedVersion: null })],
    ['no credentials', aDesired({ isDeleting: true, connection: { gardenTokenVersion: 0 } })],
  ])('is forgotten at once while it had %s, so that none can have been applied', (_, unapplied) => {
    expect(stepOf(unapplied, absent)).toEqual({ do: 'forget' });
  });

  it('is forgotten, when no Shoot was ever seen, only after one could not appear any more', () => {
    const since = { type: 'AbsenceConfirmed', status: 'Unknown' as const, reason: 'Waiting', message: '' };
    const waiting = aDesired({
      isDeleting: true,
      known: { conditions: [{ ...since, lastTransitionTime: noon.toISOString() }] },
    });

    expect(stepOf(aDesired({ isDeleting: true }), absent)).toEqual({ do: 'settle' });
    expect(stepOf(waiting, absent, minutesLater(1))).toEqual({ do: 'settle' });
    expect(stepOf(waiting, absent, minutesLater(2))).toEqual({ do: 'forget' });
  });
});

describe('health', () => {
  it('is no reason to write', () => {
    const desired = aSteadyDesired();
    const ill = aShoot(desired, { conditions: [aCondition('EveryNodeReady', 'False')] });

    expect(stepOf(desired, present(ill))).toEqual({ do: 'settle' });
  });
});
