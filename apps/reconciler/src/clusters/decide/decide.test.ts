import type { CatalogueVersion, Shoot } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
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
import { operationAnnotation } from '../model.js';
import { factsOf } from '../observe.js';
import { decide } from './decide.js';
import { isPinDue, resolveVersion, VersionUnavailable } from './resolve-version.js';
import { learnedFrom, retryOf } from './shoot-runs.js';

const foreign: Observed = { kind: 'foreign' };
const stepOf = (desired: Desired, seen: Observed, now = minutesLater(6)): Step => decide(desired, seen, now);

type Row = [what: string, desired: Desired, seen: Observed | Shoot, step: Step['do']];
const check = (...[, desired, seen, step]: Row) =>
  expect(stepOf(desired, 'kind' in seen ? seen : present(seen)).do).toBe(step);
const connected = (desired: Desired, connection: Partial<Desired['connection']>): Desired => ({
  ...desired,
  connection: { ...desired.connection, ...connection },
});
const newToken = { tokenVersion: 2 };
const rejected = { phase: 'Rejected' } as const;
const unverified = { phase: 'Unverified' } as const;
const runDue = { generation: 2, observedGeneration: 1 };
const steady = aSteadyDesired();
const changed = aSteadyDesired({ generation: 2, desiredHash: 'sha256:02', known: { appliedGeneration: 1 } });

describe('a cluster without a Shoot', () => {
  const uncredited = { gardenTokenVersion: 0 };

  it.each<Row>([
    ['gets its Project first', aDesired({ namespace: null, pinnedVersion: null }), absent, 'ensureProject'],
    ['then its credentials', aDesired({ connection: uncredited, pinnedVersion: null }), absent, 'applyCredentials'],
    ['then its version', aDesired({ pinnedVersion: null }), absent, 'pinVersion'],
    ['then its Shoot', aDesired(), absent, 'applyShoot'],
    // Nothing depends on its first token yet.
    ['gets it unverified', connected(aDesired(), { ...unverified, ...uncredited }), absent, 'applyCredentials'],
    ['waits while the provider rejects its token', connected(aDesired(), rejected), absent, 'finish'],
    ['waits for the check of a new token', connected(aDesired(), { ...unverified, ...newToken }), absent, 'finish'],
    ['gets another declared version', aDesired({ spec: { kubernetesVersion: '1.35' } }), absent, 'pinVersion'],
    ['gets no step when a foreign Shoot has its name', aDesired(), foreign, 'finish'],
    ['is not created a second time', steady, absent, 'finish'],
    ['is not created for a new token either', connected(steady, newToken), absent, 'finish'],
  ])('%s', check);
});

describe('a cluster with a Shoot', () => {
  const shoot = aShoot(steady);
  const running = aShoot(steady, { lastOperation: { type: 'Reconcile', state: 'Processing', progress: 20 } });
  const marked = (annotations: Record<string, string>) => aShoot(steady, { annotations });
  const written = aSteadyDesired({ known: { appliedShootGeneration: 4, appliedGeneration: 1 } });
  const old = aShoot(steady, { generation: 3, annotations: { 'corral.dev/generation': '0' } });
  const raised = aShoot(steady, { generation: 2, spec: { kubernetes: { version: '1.34.9' } } });
  const going = aShoot(steady, { deletionTimestamp: minutesLater(5).toISOString(), generation: 2 });
  const moving = aShoot(steady, { lastOperation: { type: 'Restore', state: 'Processing' } });
  const ill = aShoot(steady, { conditions: [aCondition('EveryNodeReady', 'False')] });

  it.each<Row>([
    ['gets no step when it matches the declaration', steady, shoot, 'finish'],
    ['gets no step for its health', steady, ill, 'finish'],
    ['is applied with another generation', steady, marked({ 'corral.dev/generation': '2' }), 'applyShoot'],
    ['is applied with an invalid generation', steady, marked({ 'corral.dev/generation': 'two' }), 'applyShoot'],
    ['is applied with another hash', steady, marked({ 'corral.dev/desired-hash': 'sha256:ff' }), 'applyShoot'],
    ['is applied without its labels', steady, aShoot(steady, { labels: {} }), 'applyShoot'],
    ['is applied after a new declaration', changed, shoot, 'applyShoot'],
    ['is applied even during a run', changed, running, 'applyShoot'],
    ['is applied after a lost response', aDesired({ known: { shootUid: 'uid-1' } }), aShoot(aDesired()), 'applyShoot'],
    ['is not changed while its token is rejected', connected(changed, rejected), shoot, 'finish'],
    ['is not changed with an unchecked token', connected(changed, { ...unverified, ...newToken }), shoot, 'finish'],
    ['is changed with a token that was checked before', connected(changed, unverified), shoot, 'applyShoot'],
    ['ignores a read that is older than the last write', written, old, 'finish'],
    ['ignores it during its deletion', { ...written, isDeleting: true }, old, 'finish'],
    ['follows a version that maintenance raised', steady, raised, 'pinVersion'],
    ['keeps it', { ...steady, pinnedVersion: '1.34.9' }, raised, 'finish'],
    ['gets no step while another party deletes it', changed, going, 'finish'],
    ['is not changed while its control plane migrates', changed, moving, 'finish'],
    ['is not deleted then', { ...changed, isDeleting: true }, moving, 'finish'],
    // It may be what the migration waits for.
    ['gets a token then', connected(changed, newToken), moving, 'applyCredentials'],
    ['gets it before its deletion', connected({ ...changed, isDeleting: true }, newToken), moving, 'applyCredentials'],
  ])('%s', check);
});

describe('a change by another manager', () => {
  const desired = aSteadyDesired({ pools: [aPool({ minimum: 0 })] });
  const available = aSteadyDesired({ spec: { controlPlaneHA: true } });
  const editedTo = (spec: Record<string, unknown>, generation = 2) => aShoot(desired, { generation, spec });
  const { workers } = aShoot(desired).spec.provider as { workers: object[] };
  const worker = (more: object) => ({ provider: { type: 'hcloud', workers: [{ ...workers[0], ...more }] } });

  it.each<Row>([
    ['of the hibernation is reverted', desired, editedTo({ hibernation: { enabled: true } }), 'applyShoot'],
    ['of a maximum', desired, editedTo(worker({ maximum: 9 })), 'applyShoot'],
    ['of a minimum', desired, editedTo(worker({ minimum: 2 })), 'applyShoot'],
    ['of a machine type', desired, editedTo(worker({ machine: { type: 'cpx51' } })), 'applyShoot'],
    ['of a pool that is gone', desired, editedTo({ provider: { workers: [] } }), 'applyShoot'],
    ['of high availability', available, aShoot(available, { generation: 2, spec: { controlPlane: {} } }), 'applyShoot'],
    ['of undeclared fields is left', desired, editedTo({ purpose: 'production', dns: { domain: 'x.test' } }), 'finish'],
    ['that adds a pool is left', desired, editedTo({ provider: { workers: [...workers, { name: 'x' }] } }), 'finish'],
    // Otherwise applies would never end.
    ['is not assumed when the garden altered what we applied', desired, editedTo(worker({ maximum: 9 }), 1), 'finish'],
  ])('%s', check);
});

describe('a new token', () => {
  const desired = aSteadyDesired({ connection: { tokenVersion: 2, gardenTokenVersion: 2 } });
  const ended = (state: string, operation?: string) =>
    aShoot(desired, {
      lastOperation: { type: 'Reconcile', state },
      ...(operation === undefined ? {} : { annotations: { [operationAnnotation]: operation } }),
    });

  it.each<Row>([
    ['is written to the garden first', connected(steady, newToken), aShoot(steady), 'applyCredentials'],
    ['reaches a Shoot whose last operation succeeded', desired, ended('Succeeded'), 'reconcileShoot'],
    ['reaches one with an error', desired, ended('Error'), 'reconcileShoot'],
    ['waits for a run', desired, ended('Processing'), 'finish'],
    ['waits for a pending one', desired, ended('Pending'), 'finish'],
    ['waits for one that is due', desired, aShoot(desired, runDue), 'finish'],
    ['is a reason to retry', desired, ended('Failed'), 'retryShoot'],
    ['waits for an operation of another manager', desired, ended('Succeeded', 'rotate-credentials-start'), 'finish'],
    ['waits for it after a failure, too', desired, ended('Failed', 'rotate-credentials-start'), 'finish'],
    ['replaces an annotation that ours includes', desired, ended('Succeeded', 'retry'), 'reconcileShoot'],
    ['is rolled out by an apply that is due', { ...desired, generation: 2 }, aShoot(desired), 'applyShoot'],
  ])('%s', check);
});

describe('a Shoot whose last operation failed for good', () => {
  const desired = aSteadyDesired({ known: { retriedGeneration: 0 } });
  const failed = aShoot(desired, {
    lastOperation: { type: 'Reconcile', state: 'Failed' },
    lastErrors: [{ codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }],
  });
  const failedBefore = aShoot(desired, { ...runDue, lastOperation: { state: 'Failed' } });

  it.each<Row>([
    ['is retried once per accepted generation', desired, failed, 'retryShoot'],
    ['is not retried twice', aSteadyDesired({ known: { retriedGeneration: 1 } }), failed, 'finish'],
    ['is not retried while a run is due', desired, failedBefore, 'finish'],
  ])('%s', check);
});

describe('a cluster under deletion', () => {
  const desired = aSteadyDesired({ isDeleting: true });
  const shoot = aShoot(desired);
  const tried = aSteadyDesired({ isDeleting: true, known: { retriedGeneration: 1 } });
  const written = { gardenTokenVersion: 2 };
  const unseen = aDesired({ isDeleting: true });
  const going = (state = 'Processing') =>
    aShoot(desired, {
      deletionTimestamp: minutesLater(5).toISOString(),
      generation: 2,
      lastOperation: { type: 'Delete', state },
    });

  it('is deleted by the observed UID', () => {
    expect(stepOf(desired, present(shoot))).toEqual({ do: 'deleteShoot', uid: 'uid-1' });
  });

  it.each<Row>([
    ['is deleted without its last change', { ...desired, generation: 5, desiredHash: 'x' }, shoot, 'deleteShoot'],
    ['is deleted with a rejected token', connected(desired, { ...rejected, ...newToken }), shoot, 'deleteShoot'],
    ['is deleted with an unchecked token', connected(desired, { ...unverified, ...newToken }), shoot, 'deleteShoot'],
    ['gets a newer token first', connected(desired, newToken), shoot, 'applyCredentials'],
    ['gets it during its deletion', connected(desired, newToken), going(), 'applyCredentials'],
    ['is left to the garden once that has begun', desired, going(), 'finish'],
    ['is retried after a failed deletion', desired, going('Failed'), 'retryShoot'],
    ['is retried once', tried, going('Failed'), 'finish'],
    ['is retried for a new token', connected(tried, { ...newToken, ...written }), going('Failed'), 'retryShoot'],
    ['is forgotten when its Shoot is gone', desired, absent, 'forget'],
    ['is forgotten when a foreign Shoot has its name', desired, foreign, 'forget'],
    // No Shoot can have been applied.
    ['is forgotten without a namespace', aDesired({ isDeleting: true, namespace: null }), absent, 'forget'],
    ['is forgotten without a version', aDesired({ isDeleting: true, pinnedVersion: null }), absent, 'forget'],
    ['is forgotten without credentials', connected(unseen, { gardenTokenVersion: 0 }), absent, 'forget'],
  ])('%s', check);

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
});
