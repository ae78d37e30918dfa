import {
  asOperationId,
  type ClusterErrorCode,
  type ClusterPhase,
  type Condition,
  conditionTypes,
  operationErrorCodes,
  serverErrorCodes,
} from '@corral/contracts';
import type { Shoot } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import {
  absent,
  aCondition,
  aDesired,
  allWell,
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
import type { Desired, Observed, OpenOperation, Verdict } from '../model.js';
import { factsOf } from '../observe.js';
import { judge } from './judge.js';
import { nextTimeOf, observedCluster } from './observed-cluster.js';
import { migrationOf, nextPassMsFor, progressOf } from './phase.js';
import { problemOf, remainingIn, sentenceFor, workersIn } from './provider-problems.js';

describe('the verdict', () => {
  const later = minutesLater(6);
  const verdictOf = (desired: Desired, shoot: Shoot, now = later): Verdict => judge(desired, present(shoot), now);
  const reasonOf = ({ conditions }: Verdict, type = 'Reconciled') =>
    conditions.find((each) => each.type === type)?.reason;

  describe('the phase', () => {
    const steady = aSteadyDesired();
    const operating = (type: string, state: string) => ({ lastOperation: { type, state } });
    const ill = { conditions: [aCondition('EveryNodeReady', 'False')] };
    const falling = anUpdatedDesired({}, { spec: { ...steady.spec, hibernated: true } });
    const tried = { retriedGeneration: 1 };

    it.each<[ClusterPhase, string, Desired, Shoot]>([
      [
        'Pending',
        'it has no seed',
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
        'its health is checked',
        steady,
        aShoot(steady, { conditions: [aCondition('EveryNodeReady', 'Progressing')] }),
      ],
      ['Updating', 'a change is in progress', anUpdatedDesired(), anUpdatedShoot('Processing')],
      ['Updating', 'a change is to start', anUpdatedDesired(), anUpdatedShoot('Succeeded', { observedGeneration: 4 })],
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
        'a regular run failed',
        steady,
        aShoot(steady, { ...operating('Reconcile', 'Error'), lastErrors: [{}] }),
      ],
      [
        'Failed',
        'its last run has failed for good',
        aSteadyDesired({ known: tried }),
        aShoot(steady, operating('Reconcile', 'Failed')),
      ],
      ['Hibernating', 'it is being hibernated', falling, anUpdatedShoot('Processing', asleep(true, false))],
      ['Hibernated', 'it is hibernated', falling, anUpdatedShoot('Succeeded', asleep(true, true))],
      [
        'Hibernated',
        'it is hibernated with unhealthy nodes',
        falling,
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
        aSteadyDesired({ isDeleting: true, known: tried }),
        going('Failed'),
      ],
    ])('is %s while %s', (phase, _, desired, shoot) => {
      expect(verdictOf(desired, shoot).phase).toBe(phase);
    });

    function asleep(desired: boolean, hibernated: boolean) {
      return { spec: { hibernation: { enabled: desired } }, hibernated };
    }
    function going(state: string): Shoot {
      return aShoot(steady, { generation: 2, deletionTimestamp: noon.toISOString(), ...operating('Delete', state) });
    }
  });

  describe('a cluster', () => {
    const failed = (code: string) => ({ phase: 'Failed', operation: { to: 'failed', code } });
    const pending = { phase: 'Pending', operation: { to: 'running' } };
    const unverified = aDesired({ connection: { phase: 'Unverified', tokenVersion: 2 } });
    const gone = aSteadyDesired({ operation: anUpdate() });
    const migrating = { lastOperation: { type: 'Migrate' }, seedName: null, spec: { seedName: 'seed-b' } };
    const restoring = { generation: 5, lastOperation: { type: 'Restore', state: 'Processing' } };
    const newer = { ...anUpdatedDesired(), generation: 3, desiredHash: 'sha256:03' };
    const done = present(anUpdatedShoot('Succeeded'));

    it.each<[what: string, desired: Desired, seen: Observed, verdict: object, reason?: string]>([
      ['is pending while it is prepared', aDesired(), absent, { ...pending, nextPassMs: 15_000 }, 'Pending'],
      ['waits for its connection to be verified', unverified, absent, pending, 'ConnectionNotReady'],
      [
        'fails when its connection is rejected',
        aDesired({ connection: { phase: 'Rejected' } }),
        absent,
        { ...failed('provider_token_rejected'), nextPassMs: null },
      ],
      [
        'fails when its Shoot existed before',
        gone,
        absent,
        { ...failed('shoot_missing'), seedName: null },
        'ShootMissing',
      ],
      [
        'fails when a foreign Shoot has its name',
        aDesired(),
        { kind: 'foreign' },
        failed('name_collision'),
        'NameCollision',
      ],
      ['has a seed', anUpdatedDesired(), done, { seedName: 'seed-hel', migrationPhase: null }],
      [
        'has none between two seeds',
        anUpdatedDesired(),
        present(anUpdatedShoot('Succeeded', migrating)),
        { seedName: null, migrationPhase: 'Restoring' },
      ],
      [
        'waits for the migration of its control plane',
        anUpdatedDesired({ appliedGeneration: 1 }),
        present(aShoot(aSteadyDesired(), restoring)),
        { operation: { to: 'running' } },
        'ControlPlaneMigrating',
      ],
      [
        'never returns to an earlier generation',
        anUpdatedDesired({ observedGeneration: 2 }),
        present(anUpdatedShoot('Processing')),
        { observedGeneration: 2 },
      ],
      ['reports an older generation while a newer one waits', newer, done, { observedGeneration: 2 }],
    ])('%s', (...[, desired, seen, expected, reason]) => {
      const verdict = judge(desired, seen, later);

      expect(verdict).toMatchObject(expected);
      if (reason !== undefined) expect(reasonOf(verdict)).toBe(reason);
    });

    it('that failed has the condition of a missing Shoot, or of its healthy control plane', () => {
      const stopped = verdictOf(anUpdatedDesired({ retriedGeneration: 2 }), anUpdatedShoot('Failed'));
      const conditions = [...judge(gone, absent, later).conditions, ...stopped.conditions];

      for (const type of ['ShootMissing', 'ControlPlaneReady']) {
        expect(conditions).toContainEqual(expect.objectContaining({ type, status: 'True' }));
      }
    });

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
  });
});

describe('conditions', () => {
  const steady = aSteadyDesired();
  const conditionsOf = (desired: Desired, seen: Observed, now = noon): Condition[] => [
    ...judge(desired, seen, now).conditions,
  ];
  const one = (type: string, desired: Desired, seen: Observed) =>
    conditionsOf(desired, seen).find((each) => each.type === type);

  describe('conditions', () => {
    it.each<[string, Desired, Observed]>([
      ['before there is a Shoot', aDesired(), absent],
      ['when a foreign Shoot has the name', aDesired(), { kind: 'foreign' }],
      ['when the Shoot was removed by others', steady, absent],
      ['before the first run', aDesired(), present(aShoot(aDesired(), { lastOperation: null, conditions: [] }))],
      ['when everything is healthy', steady, present(aShoot(steady))],
      ['during the deletion', { ...steady, isDeleting: true }, present(aShoot(steady))],
      ['during the deletion of a cluster without an observed Shoot', aDesired({ isDeleting: true }), absent],
    ])('include the five types of every cluster %s', (_, desired, seen) => {
      const types = conditionsOf(desired, seen).map(({ type }) => type);

      expect(types.slice(0, 5)).toEqual(conditionTypes);
      expect(new Set(types).size).toBe(types.length);
    });

    it('are all true when everything is healthy', () => {
      expect(conditionsOf(steady, present(aShoot(steady))).map(({ type, status }) => [type, status])).toEqual(
        [...conditionTypes, ...allWell.map(({ type }) => type)].map((type) => [type, 'True']),
      );
    });

    it('keep the time of their last status change', () => {
      const first = conditionsOf(steady, present(aShoot(steady)), noon);
      const known = { ...steady, known: { ...steady.known, conditions: first } };
      const ill = aShoot(steady, { conditions: [aCondition('EveryNodeReady', 'False')] });
      const second = conditionsOf(known, present(ill), minutesLater(9));
      const since = Object.fromEntries(second.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]));

      expect(since).toMatchObject({ Reconciled: noon.toISOString(), NodesReady: minutesLater(9).toISOString() });
    });

    it('contain no internals of the garden', () => {
      const shoot = aShoot(steady, {
        conditions: [aCondition('EveryNodeReady', 'False', 'see node 10.0.0.7')],
        lastErrors: [{ description: 'shoot--t1a2b3c4--c9f8e7d6 in seed namespace: token abc' }],
      });

      expect(JSON.stringify(conditionsOf(steady, present(shoot)))).not.toMatch(
        /gardenlet|10\.0\.0\.7|shoot--|token abc/,
      );
    });
  });

  describe('conditions of the garden', () => {
    it.each([
      ['True', 'True'],
      ['False', 'False'],
      ['Unknown', 'Unknown'],
      ['Progressing', 'Unknown'],
      ['', 'Unknown'],
    ])('with status %s are reported as %s', (status, passedOn) => {
      const shoot = aShoot(steady, { conditions: [aCondition('SystemComponentsHealthy', status, 'PodsCounted')] });

      expect(one('SystemComponentsHealthy', steady, present(shoot))).toMatchObject({
        status: passedOn,
        reason: 'PodsCounted',
      });
    });

    it('are reported even when their type is unknown', () => {
      const shoot = aShoot(steady, { conditions: [aCondition('BackupsHealthy', 'False')] });

      expect(one('BackupsHealthy', steady, present(shoot))).toMatchObject({
        status: 'False',
        message: 'This part of the cluster is reported as unhealthy.',
      });
    });

    it('are unknown during hibernation, although the garden reports them as true', () => {
      const sleeping = aSteadyDesired({ spec: { hibernated: true } });
      const shoot = aShoot(sleeping, {
        hibernated: true,
        conditions: allWell.map(({ type }) => aCondition(type, 'True', 'ConditionNotChecked')),
      });
      const conditions = conditionsOf(sleeping, present(shoot)).filter(({ reason }) => reason === 'Hibernated');

      expect(conditions.map(({ type }) => type)).toEqual([
        'ControlPlaneReady',
        'NodesReady',
        ...allWell.map(({ type }) => type),
      ]);
      expect(conditions.every(({ status }) => status === 'Unknown')).toBe(true);
    });

    it('are unknown when the garden reports them as not checked', () => {
      const shoot = aShoot(steady, { conditions: [aCondition('APIServerAvailable', 'True', 'ConditionNotChecked')] });

      expect(one('ControlPlaneReady', steady, present(shoot))?.status).toBe('Unknown');
      expect(one('APIServerAvailable', steady, present(shoot))?.status).toBe('Unknown');
    });

    it('include constraints that a team can resolve, which do not degrade the cluster', () => {
      const constraints = [
        aCondition('HibernationPossible', 'False', 'ProblematicWebhooks'),
        aCondition('ManagedResourcesHonored', 'False'),
      ];
      const verdict = judge(steady, present(aShoot(steady, { constraints })), noon);
      const types = verdict.conditions.map(({ type }) => type);

      expect(types).toContain('HibernationPossible');
      expect(types).not.toContain('ManagedResourcesHonored');
      expect(verdict.phase).toBe('Ready');
    });
  });

  describe('ControlPlaneReady', () => {
    it.each([
      ['True', 'True', 'True'],
      ['True', 'False', 'False'],
      ['False', 'True', 'False'],
      ['Progressing', 'True', 'Unknown'],
      ['Unknown', 'False', 'False'],
    ])('with an API server %s and a control plane %s is %s', (apiServer, controlPlane, status) => {
      const conditions = [aCondition('APIServerAvailable', apiServer), aCondition('ControlPlaneHealthy', controlPlane)];

      expect(one('ControlPlaneReady', steady, present(aShoot(steady, { conditions })))?.status).toBe(status);
    });

    it('is unknown while the garden reports nothing', () => {
      expect(one('ControlPlaneReady', steady, present(aShoot(steady, { conditions: [] })))?.status).toBe('Unknown');
    });
  });

  describe('NodesReady', () => {
    it('names the pools that the provider has no capacity for', () => {
      const shoot = aShoot(steady, {
        lastOperation: { type: 'Reconcile', state: 'Error' },
        lastErrors: [
          { description: 'machine shoot--t1a2b3c4--c9f8e7d6-p1a2b3-hel1-dc2-7d9f4-x2x: resource_unavailable' },
        ],
      });

      expect(one('NodesReady', steady, present(shoot))).toMatchObject({
        status: 'False',
        reason: 'ProviderOutOfStock',
        message: 'The provider has no capacity left for a machine type in hel1. Concerned: node pool general (cpx31).',
      });
    });

    it('says why a hibernated cluster cannot resume', () => {
      const shoot = aShoot(steady, {
        hibernated: true,
        lastOperation: { type: 'Reconcile', state: 'Error' },
        lastErrors: [{ codes: ['ERR_INFRA_RESOURCES_DEPLETED'] }],
      });

      expect(one('NodesReady', steady, present(shoot))).toMatchObject({
        status: 'False',
        reason: 'ProviderOutOfStock',
      });
    });
  });

  describe('ConnectionReady', () => {
    const connected = (connection: Partial<Desired['connection']>, known: Partial<Desired['known']> = {}) =>
      aSteadyDesired({ connection, known });
    const refused = (lastUpdateTime = minutesLater(5)) =>
      aShoot(steady, {
        lastOperation: { type: 'Reconcile', state: 'Failed' },
        lastErrors: [{ codes: ['ERR_INFRA_UNAUTHORIZED'], lastUpdateTime: lastUpdateTime.toISOString() }],
      });

    it.each<[string, Desired, Condition['status'], string]>([
      ['verified', connected({}), 'True', 'Verified'],
      ['not verified yet', connected({ phase: 'Unverified' }), 'Unknown', 'Unverified'],
      ['rejected', connected({ phase: 'Rejected' }), 'False', 'ProviderTokenRejected'],
      ['replaced', connected({ tokenVersion: 2 }), 'True', 'TokenRollingOut'],
      ['replaced on the garden', connected({ tokenVersion: 2, gardenTokenVersion: 2 }), 'True', 'TokenRollingOut'],
    ])('of a connection that is %s', (_, desired, status, reason) => {
      expect(one('ConnectionReady', desired, present(aShoot(steady)))).toMatchObject({ status, reason });
    });

    it('is false when the token in use lacks rights, even if its verification succeeded', () => {
      expect(one('ConnectionReady', steady, present(refused()))).toMatchObject({
        status: 'False',
        reason: 'ProviderPermissionDenied',
      });
    });

    it('ignores the refusal of an older token', () => {
      const renewed = connected({ tokenVersion: 2, gardenTokenVersion: 2 });

      expect(one('ConnectionReady', renewed, present(refused()))?.status).toBe('True');
    });
  });

  describe('SpecAccepted', () => {
    it('names the pools whose minimum was raised to one node', () => {
      const pools = [
        aPool({ minimum: 0 }),
        aPool({ name: 'batch', workerName: 'p2', minimum: 0 }),
        aPool({ name: 'idle', workerName: 'p3', minimum: 0, maximum: 0 }),
      ];

      expect(one('SpecAccepted', aDesired({ pools }), absent)).toMatchObject({
        status: 'True',
        reason: 'MinimumRaised',
        message:
          'The provider keeps at least one node in each pool with a maximum above zero: node pools general, batch.',
      });
    });
  });

  describe('Reconciled', () => {
    const operating = (type: string, state: string) => ({ lastOperation: { type, state } });

    it('stays true during the garden’s own regular run', () => {
      expect(one('Reconciled', steady, present(aShoot(steady, operating('Reconcile', 'Processing'))))?.status).toBe(
        'True',
      );
    });

    it('names a problem of this attempt, and reports an earlier one only as a retry', () => {
      const errors = {
        lastErrors: [{ codes: ['ERR_INFRA_QUOTA_EXCEEDED'], lastUpdateTime: minutesLater(2).toISOString() }],
      };
      const since = (minutes: number) => ({ retryCycleStartTime: minutesLater(minutes).toISOString() });
      const reason = (more: object) =>
        one(
          'Reconciled',
          steady,
          present(aShoot(steady, { ...operating('Reconcile', 'Processing'), ...errors, ...more })),
        )?.reason;

      expect(reason(since(1))).toBe('ProviderQuotaExceeded');
      expect(reason(since(3))).toBe('Retrying');
      expect(reason({ generation: 2, observedGeneration: 1 })).toBe('Retrying');
    });

    it.each([
      ['Pending', 'Create', 'Pending'],
      ['Creating', 'Create', 'Processing'],
      ['Updating', 'Reconcile', 'Processing'],
    ])('is false for %s', (reason, type, state) => {
      const desired = aSteadyDesired({ known: { observedGeneration: 0 } });

      expect(one('Reconciled', desired, present(aShoot(desired, operating(type, state))))).toMatchObject({
        status: 'False',
        reason,
      });
    });

    it('says when the cluster is deleted by others', () => {
      const going = aShoot(steady, { deletionTimestamp: noon.toISOString(), ...operating('Delete', 'Processing') });

      expect(one('Reconciled', steady, present(going))).toMatchObject({ status: 'False', reason: 'DeletedExternally' });
    });
  });
});

describe('migration', () => {
  type Row = [
    step: string,
    desired: string | undefined,
    actual: string | null,
    type: string,
    state: string,
    phase: string | null,
  ];

  describe('the migration phase of a control plane that', () => {
    it.each<Row>([
      ['is steady', 'a', 'a', 'Reconcile', 'Succeeded', null],
      ['is about to migrate', 'b', 'a', 'Reconcile', 'Succeeded', 'Preparing'],
      ['is about to migrate during a run', 'b', 'a', 'Reconcile', 'Processing', 'Preparing'],
      ['is leaving its seed', 'b', 'a', 'Migrate', 'Processing', 'Migrating'],
      ['fails to leave its seed', 'b', 'a', 'Migrate', 'Error', 'Migrating'],
      ['is between two seeds', 'b', null, 'Migrate', 'Succeeded', 'Restoring'],
      ['is restored on the new seed', 'b', 'b', 'Restore', 'Processing', 'Restoring'],
      ['fails to be restored', 'b', 'b', 'Restore', 'Failed', 'Restoring'],
      ['was restored', 'b', 'b', 'Restore', 'Succeeded', null],
      ['is live migrating', 'b', 'a', 'LiveMigrate', 'Processing', 'Migrating'],
      ['was live migrated', 'b', 'b', 'LiveMigrate', 'Succeeded', null],
      ['has no seed yet', undefined, null, 'Create', 'Pending', null],
      ['was given its first seed', 'a', null, 'Create', 'Pending', null],
    ])('%s', (_, desired, actual, type, state, phase) => {
      const shoot = aShoot(aSteadyDesired(), {
        spec: { seedName: desired },
        seedName: actual,
        lastOperation: { type, state },
      });

      expect(migrationOf(factsOf(shoot))).toBe(phase);
    });

    it('has no last operation is Restoring while the garden reports a migration start', () => {
      const shoot = aShoot(aSteadyDesired(), {
        spec: { seedName: 'b' },
        seedName: null,
        lastOperation: null,
        migrationStartTime: '2026-11-21T12:00:00Z',
      });

      expect(migrationOf(factsOf(shoot))).toBe('Restoring');
    });
  });
});

describe('what is observed', () => {
  const desired = aSteadyDesired({ pools: [aPool(), aPool({ name: 'own', workerName: 'p9', source: 'pooled' })] });
  const aTellingShoot = (version = '1.34.3') => {
    const { spec } = aShoot(desired);
    const provider = spec.provider as { workers: { machine: object }[] };
    const image = { name: 'ubuntu', version: '24.4.0' };
    const workers = provider.workers.map((worker) => ({ ...worker, machine: { ...worker.machine, image } }));
    return aShoot(desired, {
      spec: {
        kubernetes: { version },
        provider: { ...provider, workers },
        maintenance: { timeWindow: { begin: '220000+0100', end: '230000+0100' } },
      },
      advertisedAddresses: [
        { name: 'internal', url: 'https://api.internal.example' },
        { name: 'external', url: 'https://api.web.example' },
      ],
      lastMaintenance: { triggeredTime: '2026-11-20T21:03:00Z', state: 'Succeeded' },
    });
  };

  describe('the observed cluster', () => {
    it('contains version, API server, images and maintenance under the team’s names', () => {
      expect(observedCluster(desired, factsOf(aTellingShoot()), noon)).toEqual({
        kubernetes: { version: '1.34.3', supportedUntil: null },
        apiServer: { url: 'https://api.web.example', certificateAuthorityData: null },
        nodePools: [{ name: 'general', image: { name: 'ubuntu', version: '24.4.0' } }],
        maintenance: {
          next: '2026-11-21T21:00:00.000Z',
          last: { at: '2026-11-20T21:03:00.000Z', state: 'Succeeded' },
        },
      });
    });

    it('is part of every verdict on a Shoot, without what the garden does not report', () => {
      expect(judge(desired, present(aShoot(desired)), noon).observed).toEqual({
        kubernetes: { version: '1.34.3', supportedUntil: null },
        apiServer: null,
        nodePools: [],
        maintenance: { next: null, last: null },
      });
    });

    it('keeps the end of support while the version stays the same', () => {
      const observed = observedCluster(desired, factsOf(aTellingShoot()), noon);
      const kubernetes = { version: '1.34.3', supportedUntil: '2027-01-01T00:00:00.000Z' };
      const later = { ...desired, known: { ...desired.known, observed: { ...observed, kubernetes } } };

      expect(observedCluster(later, factsOf(aTellingShoot()), noon).kubernetes).toEqual(kubernetes);
      expect(observedCluster(later, factsOf(aTellingShoot('1.34.4')), noon).kubernetes?.supportedUntil).toBeNull();
    });
  });

  describe('the certificate authority of a cluster', () => {
    it('is kept until another one is read, even when the API server address changes', () => {
      const observed = observedCluster(desired, factsOf(aTellingShoot()), noon);
      const apiServer = { url: 'https://api.old.example', certificateAuthorityData: 'UEVN' };
      const later = { ...desired, known: { ...desired.known, observed: { ...observed, apiServer } } };

      expect(observedCluster(later, factsOf(aTellingShoot()), noon).apiServer).toEqual({
        url: 'https://api.web.example',
        certificateAuthorityData: 'UEVN',
      });
      expect(observedCluster(later, factsOf(aShoot(desired)), noon).apiServer).toBeNull();
    });
  });

  describe('the next time of a daily window', () => {
    it.each([
      ['later today', '130000+0000', '2026-11-21T13:00:00.000Z'],
      ['tomorrow when it has already begun', '120000+0000', '2026-11-22T12:00:00.000Z'],
      ['in a zone ahead', '003000+0200', '2026-11-21T22:30:00.000Z'],
      ['in a zone behind', '233000-0500', '2026-11-22T04:30:00.000Z'],
      ['is null for an invalid time', '256000+0000', null],
    ])('%s', (_what, begin, next) => {
      expect(nextTimeOf(begin, noon)).toBe(next);
    });
  });
});

describe('progress and next pass', () => {
  const operation = (progress: number): OpenOperation => ({
    id: asOperationId('o1'),
    kind: 'cluster.update',
    generation: 1,
    state: 'running',
    progress,
    acceptedAt: noon,
  });
  const runAt = (progress: number) =>
    factsOf(aShoot(aSteadyDesired(), { lastOperation: { state: 'Processing', progress } }));

  describe('progress', () => {
    it.each([
      ['follows its run', 10, 43, 43],
      ['never decreases when the garden starts another attempt', 70, 5, 70],
      ['reaches 100 only with success', 0, 100, 99],
      ['is never negative', 0, -4, 0],
    ])('%s', (_, shown, ran, expected) => {
      expect(progressOf(operation(shown), runAt(ran))).toBe(expected);
    });

    it('stays the same while no run is in progress', () => {
      expect(progressOf(operation(12), null)).toBe(12);
    });
  });

  describe('the next pass', () => {
    it('is sooner while an operation is open', () => {
      expect(nextPassMsFor({ ...aSteadyDesired(), operation: operation(3) })).toBe(15_000);
      expect(nextPassMsFor(aSteadyDesired())).toBe(60_000);
    });
  });
});

describe('problems of the provider', () => {
  describe('a failure with a Gardener error code', () => {
    it.each([
      ['ERR_INFRA_UNAUTHENTICATED', 'provider_token_rejected', true],
      ['ERR_INFRA_UNAUTHORIZED', 'provider_permission_denied', true],
      ['ERR_INFRA_QUOTA_EXCEEDED', 'provider_quota_exceeded', true],
      ['ERR_INFRA_RATE_LIMITS_EXCEEDED', 'provider_rate_limited', false],
      ['ERR_INFRA_DEPENDENCIES', 'provider_dependency', true],
      ['ERR_RETRYABLE_INFRA_DEPENDENCIES', 'provider_dependency', false],
      ['ERR_INFRA_RESOURCES_DEPLETED', 'provider_capacity', false],
      ['ERR_CLEANUP_CLUSTER_RESOURCES', 'cleanup_blocked', false],
      ['ERR_CONFIGURATION_PROBLEM', 'configuration_problem', true],
      ['ERR_RETRYABLE_CONFIGURATION_PROBLEM', 'configuration_problem', false],
      ['ERR_PROBLEMATIC_WEBHOOK', 'webhook_blocks', true],
    ])('%s is classified as %s', (code, expected, needsUser) => {
      expect(problemOf([code], 'rate_limit_exceeded')).toMatchObject({ code: expected, needsUser });
    });

    it('uses the most specific of several codes', () => {
      const codes = ['ERR_CLEANUP_CLUSTER_RESOURCES', 'ERR_INFRA_UNAUTHENTICATED'];

      expect(problemOf(codes, '').code).toBe('provider_token_rejected');
    });
  });

  describe('a failure without a code', () => {
    it.each([
      ['could not create server: error during placement (resource_unavailable, 8be1)', 'provider_capacity'],
      ['server type cpx31 is currently unavailable in hel1', 'provider_capacity'],
      ['hcloud: unable to authenticate (unauthorized)', 'provider_token_rejected'],
      ['hcloud: token is read-only (token_readonly)', 'provider_permission_denied'],
      ['insufficient permissions for this request (forbidden)', 'provider_permission_denied'],
      ['server limit reached (resource_limit_exceeded)', 'provider_quota_exceeded'],
      ['core limit exceeded', 'provider_quota_exceeded'],
      ['limit of 3600 requests per hour reached (rate_limit_exceeded)', 'provider_rate_limited'],
      ['server type "cx11" does not exist', 'configuration_problem'],
      ['unsupported location for server type', 'configuration_problem'],
      ['image "ubuntu-18.04" not found', 'configuration_problem'],
      ['network is still in use by server 4711', 'provider_dependency'],
      ['SSH key not unique (uniqueness_error)', 'provider_dependency'],
      ['context deadline exceeded', 'internal_error'],
      ['', 'internal_error'],
    ])('"%s" is classified as %s', (description, code) => {
      expect(problemOf([], description).code).toBe(code);
    });

    it('is classified by its text when its code is unknown', () => {
      expect(problemOf(['ERR_NEW'], 'resource_unavailable').code).toBe('provider_capacity');
    });
  });

  describe('what a failure is about', () => {
    const workers = [
      { name: 'p1', machineType: 'cpx31' },
      { name: 'p2', machineType: 'cpx31' },
      { name: 'p3', machineType: 'cpx3' },
    ];

    it.each([
      ['machine shoot--t--c-p2-hel1-dc2-7d9f4: server type cpx31 is unavailable', ['p2']],
      ['server type "cpx31" is currently unavailable', ['p1', 'p2']],
      ['no more cpx3.', ['p3']],
      ['no capacity', []],
    ])('is the pools that it names, or else those of its machine type: %s', (description, names) => {
      expect(workersIn(description, workers)).toEqual(names);
    });

    it.each<[string, readonly string[], string, readonly string[]]>([
      [
        'of the cluster, without internals',
        ['ERR_CLEANUP_CLUSTER_RESOURCES'],
        '[*v1beta1.CustomResourceDefinition /installs.kyma.org apps/v1, Kind=Deployment web/shop]',
        ['CustomResourceDefinition installs.kyma.org', 'Deployment web/shop'],
      ],
      ['of the garden, which are none of the team', [], '[*v1alpha1.Machine shoot--t--c/m-1]', []],
      [
        'no more than five of them',
        ['ERR_CLEANUP_CLUSTER_RESOURCES'],
        `[${Array.from({ length: 9 }, (_, n) => `*v1.Namespace /n${n}`).join(' ')}]`,
        ['n0', 'n1', 'n2', 'n3', 'n4'].map((name) => `Namespace ${name}`),
      ],
    ])('is the objects that remain: %s', (_whose, codes, listed, names) => {
      const description = `task "Cleaning" failed: 1 error occurred: remaining objects are still present: ${listed}`;

      expect(remainingIn(codes, description)).toEqual(names);
    });
  });

  describe('the message for a team', () => {
    const codes = Object.keys(operationErrorCodes).filter((code) => !(code in serverErrorCodes));

    it.each(codes as ClusterErrorCode[])('for %s is a sentence', (code) => {
      expect(sentenceFor(code, aDesired())).toMatch(/^[A-Z].*\.$/);
    });

    it('names pools by the team’s names', () => {
      const desired = aDesired({
        pools: [aPool(), aPool({ name: 'gpu', workerName: 'p9' }), aPool({ workerName: 'p8' })],
      });

      expect(sentenceFor('provider_capacity', desired, { workers: ['p9'] })).toBe(
        'The provider has no capacity left for a machine type in hel1. Concerned: node pool gpu (cpx31).',
      );
      expect(sentenceFor('provider_capacity', desired, { workers: ['p1a2b3', 'p9'] })).toMatch(
        / Concerned: node pools general \(cpx31\), gpu \(cpx31\)\.$/,
      );
    });

    it('names objects that a clean-up has left', () => {
      expect(sentenceFor('cleanup_blocked', aDesired(), { remaining: ['Namespace web', 'Deployment web/shop'] })).toBe(
        'Objects in the cluster cannot be deleted. Concerned: Namespace web, Deployment web/shop.',
      );
    });
  });
});
