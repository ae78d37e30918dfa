import type { CatalogueVersion, Shoot } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  absent,
  aDesired,
  aPool,
  aShoot,
  aSteadyDesired,
  minutesLater,
  noon,
  present,
} from '../../../test/support/a-cluster.js';
import type { Desired, Observed, Step } from '../model.js';
import { operationAnnotation } from '../model.js';
import { factsOf } from '../observe.js';
import { decide } from './decide.js';
import { isPinDue, resolveVersion, VersionUnavailable } from './resolve-version.js';
import { learnedFrom, learnedFromRead, retryOf } from './shoot-runs.js';

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

describe('resolving a version', () => {
  const offered = (version: string, classification = 'supported', expirationDate: string | null = null) => ({
    version,
    classification,
    expirationDate,
  });
  const catalogue: CatalogueVersion[] = [
    offered('1.34.10'),
    offered('1.34.9', 'deprecated', '2027-01-01T00:00:00Z'),
    offered('1.34.11', 'preview'),
    offered('1.34.12', 'unavailable'),
    offered('1.34.13', 'supported', '2026-11-21T12:00:00Z'),
    offered('1.35.0'),
    offered('1.3.99'),
    offered('1.33.7', 'deprecated', '2026-11-20T00:00:00Z'),
  ];

  describe('a declared version', () => {
    it.each([
      ['resolves a minor to its newest patch that is neither preview nor expired', '1.34', null, '1.34.10'],
      ['resolves a minor exactly and not by prefix', '1.3', null, '1.3.99'],
      ['resolves a full version to itself, offered or not', '1.34.2', null, '1.34.2'],
      ['follows the running version when that is a newer patch', '1.34', '1.34.14', '1.34.14'],
      ['follows the running version when maintenance raised the minor', '1.34', '1.35.0', '1.35.0'],
      ['never goes below the running version, even for a full version', '1.34.2', '1.34.5', '1.34.5'],
      ['is raised above the running version', '1.35', '1.34.3', '1.35.0'],
      ['resolves an expired minor to the running patch', '1.33', '1.33.7', '1.33.7'],
    ])('%s', (_, declared, running, resolved) => {
      expect(resolveVersion(declared, catalogue, running, noon)).toBe(resolved);
    });

    it('fails when the catalogue offers no patch of it', () => {
      expect(() => resolveVersion('1.33', catalogue, null, noon)).toThrow(VersionUnavailable);
      expect(() => resolveVersion('1.40', catalogue, '1.35.0', noon)).toThrow(VersionUnavailable);
    });
  });

  describe('pinning', () => {
    it.each([
      ['is due when no version is pinned', '1.34', null, null, true],
      ['is not due for a patch of the declared minor', '1.34', '1.34.3', '1.34.3', false],
      ['is due when another version was declared', '1.35', '1.34.3', '1.34.3', true],
      ['is not due when the pinned patch is declared in full', '1.34.3', '1.34.3', '1.34.3', false],
      ['is due when maintenance raised the patch', '1.34', '1.34.3', '1.34.5', true],
      ['is not due once the raised version is pinned', '1.34', '1.35.0', '1.35.0', false],
      ['is due when the pinned version is neither declared nor running', '1.34', '1.35.0', '1.34.3', true],
    ])('%s', (_, declared, pinned, running, isDue) => {
      expect(isPinDue(declared, pinned, running)).toBe(isDue);
    });

    it('is never due directly after a pin', () => {
      const version = fc.tuple(fc.integer({ min: 30, max: 36 }), fc.integer({ min: 0, max: 12 }));
      const full = version.map(([minor, patch]) => `1.${minor}.${patch}`);
      const declared = fc.oneof(
        full,
        version.map(([minor]) => `1.${minor}`),
      );
      fc.assert(
        fc.property(declared, fc.array(full), fc.option(full), (wanted, versions, running) => {
          let pinned: string;
          try {
            pinned = resolveVersion(
              wanted,
              versions.map((each) => offered(each)),
              running,
              noon,
            );
          } catch {
            return;
          }
          expect(isPinDue(wanted, pinned, running)).toBe(false);
        }),
      );
    });
  });
});

describe('a failed Shoot', () => {
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
      const facts = slowedDownAt(desired, minutesLater(0), {
        annotations: { [operationAnnotation]: 'rotate-ca-start' },
      });

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
});

describe('runs of a Shoot', () => {
  const changed = aSteadyDesired({
    generation: 2,
    connection: { tokenVersion: 2, gardenTokenVersion: 2 },
    known: { appliedGeneration: 1, appliedShootGeneration: 4, appliedAt: noon },
  });
  const begun = aShoot(changed, { generation: 5, observedGeneration: 4 });
  const idle = aShoot(changed, { generation: 4, observedGeneration: 4 });

  it.each<[string, Parameters<typeof learnedFrom>[0], Shoot, Partial<Desired['known']>]>([
    ['of an apply that a run follows', 'applyShoot', begun, { appliedGeneration: 2, appliedAt: minutesLater(1) }],
    ['the token, too', 'applyShoot', begun, { shootUid: 'uid-1', appliedShootGeneration: 5, appliedTokenVersion: 2 }],
    ['of an apply that no run follows', 'applyShoot', idle, { appliedGeneration: 2, appliedAt: noon }],
    ['no token then', 'applyShoot', idle, { appliedShootGeneration: 4, appliedTokenVersion: 1 }],
    ['of a retry', 'retryShoot', begun, { retriedGeneration: 2, appliedGeneration: 1, appliedTokenVersion: 2 }],
    ['of an ignored annotation', 'reconcileShoot', idle, { retriedGeneration: 0, appliedTokenVersion: 1 }],
  ])('teach %s', (_what, step, answered, learned) => {
    expect(learnedFrom(step, changed, answered, minutesLater(1))).toMatchObject(learned);
  });

  describe('what is learned from a read', () => {
    it('records the UID of a Shoot created by an apply with a lost response', () => {
      expect(learnedFromRead(aDesired(), present(aShoot(aDesired())))).toMatchObject({
        shootUid: 'uid-1',
        appliedGeneration: 0,
        appliedShootGeneration: null,
      });
    });

    it('keeps a known UID, and records none for an absent or foreign Shoot', () => {
      const { shootUid } = learnedFromRead(changed, present(aShoot(changed, { uid: 'uid-2' })));

      expect(shootUid).toBe('uid-1');
      expect(learnedFromRead(aDesired(), absent).shootUid).toBeNull();
      expect(learnedFromRead(aDesired(), { kind: 'foreign' }).shootUid).toBeNull();
    });
  });
});
