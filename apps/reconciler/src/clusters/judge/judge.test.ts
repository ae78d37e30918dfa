import {
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
  type ShootParts as Parts,
  present,
} from '../../../test/support/a-cluster.js';
import type { Desired, Observed, Verdict } from '../model.js';
import { factsOf } from '../observe.js';
import { judge } from './judge.js';
import { nextTimeOf, observedCluster } from './observed-cluster.js';
import { migrationOf, nextPassMsFor, progressOf } from './phase.js';
import { problemOf, remainingIn, sentenceFor, workersIn } from './provider-problems.js';

const steady = aSteadyDesired();
const updated = anUpdatedDesired();
const unhealthy = { conditions: [aCondition('EveryNodeReady', 'False')] };
const operating = (type: string, state: string, codes?: string[]) => ({
  lastOperation: { type, state },
  ...(codes && { lastErrors: [{ codes }] }),
});
const deletedAtNoon = { deletionTimestamp: noon.toISOString() };
const reasonOf = ({ conditions }: Verdict, type = 'Reconciled') =>
  conditions.find((each) => each.type === type)?.reason;

describe('the verdict', () => {
  const later = minutesLater(6);

  describe('the phase', () => {
    const tried = { retriedGeneration: 1 };
    const unseen = { observedGeneration: 0 };
    const deleting = aSteadyDesired({ isDeleting: true });
    const updating = aSteadyDesired({ known: { phase: 'Updating' } });
    const createdInVain = aDesired({ known: { ...tried, appliedTokenVersion: 1 } });
    const deletedInVain = aSteadyDesired({ isDeleting: true, known: tried });
    const beingChecked = { conditions: [aCondition('EveryNodeReady', 'Progressing')] };
    const falling = anUpdatedDesired({}, { spec: { ...steady.spec, hibernated: true } });
    const creating = (state: string) => aShoot(aDesired(), operating('Create', state));
    const running = (state: string, more: Parts = {}) => aShoot(steady, { ...operating('Reconcile', state), ...more });
    const sleepy = (state: string, desired: boolean, hibernated: boolean, more: Parts = {}) =>
      anUpdatedShoot(state, { spec: { hibernation: { enabled: desired } }, hibernated, ...more });
    const going = (state: string) => aShoot(steady, { generation: 2, ...deletedAtNoon, ...operating('Delete', state) });

    it.each<[ClusterPhase, string, Desired, Shoot]>([
      ['Pending', 'it has no seed', aDesired(), aShoot(aDesired(), { ...unseen, ...operating('Create', 'Pending') })],
      ['Pending', 'no run has started', aDesired(), aShoot(aDesired(), { ...unseen, lastOperation: null })],
      ['Provisioning', 'it is being created', aDesired(), creating('Processing')],
      ['Provisioning', 'its creation is retried', aDesired(), creating('Error')],
      ['Provisioning', 'a retry is due', aDesired(), creating('Failed')],
      ['Failed', 'its creation has failed for good', createdInVain, creating('Failed')],
      ['Ready', 'everything is healthy', steady, aShoot(steady)],
      ['Ready', 'the garden does its regular run', steady, running('Processing')],
      ['Ready', 'its health is checked', steady, aShoot(steady, beingChecked)],
      ['Updating', 'a change is in progress', updated, anUpdatedShoot('Processing')],
      ['Updating', 'a change is to start', updated, anUpdatedShoot('Succeeded', { observedGeneration: 4 })],
      ['Updating', 'another manager changes it', steady, aShoot(steady, { generation: 2, observedGeneration: 1 })],
      ['Updating', 'another manager’s change goes on', updating, running('Processing', { generation: 2 })],
      ['Updating', 'its control plane migrates', steady, aShoot(steady, operating('Restore', 'Processing'))],
      ['Degraded', 'a node is not ready', steady, aShoot(steady, unhealthy)],
      ['Degraded', 'a regular run failed', steady, running('Error', { lastErrors: [{}] })],
      ['Failed', 'its last run has failed for good', aSteadyDesired({ known: tried }), running('Failed')],
      ['Hibernating', 'it is being hibernated', falling, sleepy('Processing', true, false)],
      ['Hibernated', 'it is hibernated', falling, sleepy('Succeeded', true, true)],
      ['Hibernated', 'it is hibernated with unhealthy nodes', falling, sleepy('Succeeded', true, true, unhealthy)],
      ['Resuming', 'it is being resumed', updated, sleepy('Processing', false, true)],
      ['Resuming', 'it cannot resume for lack of servers', updated, sleepy('Error', false, true, { lastErrors: [{}] })],
      ['Deleting', 'its deletion was requested', deleting, aShoot(steady)],
      ['Deleting', 'its deletion is retried', deleting, going('Error')],
      ['Failed', 'its deletion has failed for good', deletedInVain, going('Failed')],
    ])('is %s while %s', (phase, _, desired, shoot) => {
      expect(judge(desired, present(shoot), later).phase).toBe(phase);
    });
  });

  describe('a cluster', () => {
    const failed = (code: string, more = {}) => ({ phase: 'Failed', operation: { to: 'failed', code }, ...more });
    const pending = { phase: 'Pending', operation: { to: 'running' } };
    const unverified = aDesired({ connection: { phase: 'Unverified', tokenVersion: 2 } });
    const rejected = aDesired({ connection: { phase: 'Rejected' } });
    const gone = aSteadyDesired({ operation: anUpdate() });
    const unapplied = anUpdatedDesired({ appliedGeneration: 1 });
    const ahead = anUpdatedDesired({ observedGeneration: 2 });
    const processing = present(anUpdatedShoot('Processing'));
    const between = { lastOperation: { type: 'Migrate' }, seedName: null, spec: { seedName: 'seed-b' } };
    const migrating = present(anUpdatedShoot('Succeeded', between));
    const restoring = present(aShoot(steady, { generation: 5, ...operating('Restore', 'Processing') }));
    const newer = { ...updated, generation: 3, desiredHash: 'sha256:03' };
    const done = present(anUpdatedShoot('Succeeded'));

    it.each<[what: string, desired: Desired, seen: Observed, verdict: object, reason?: string]>([
      ['is pending while it is prepared', aDesired(), absent, { ...pending, nextPassMs: 15_000 }, 'Pending'],
      ['waits for its connection to be verified', unverified, absent, pending, 'ConnectionNotReady'],
      ['fails with a rejected connection', rejected, absent, failed('provider_token_rejected', { nextPassMs: null })],
      ['fails when its Shoot is gone', gone, absent, failed('shoot_missing', { seedName: null }), 'ShootMissing'],
      ['fails when its name is taken', aDesired(), { kind: 'foreign' }, failed('name_collision'), 'NameCollision'],
      ['has a seed', updated, done, { seedName: 'seed-hel', migrationPhase: null }],
      ['has none between two seeds', updated, migrating, { seedName: null, migrationPhase: 'Restoring' }],
      ['waits for a migration', unapplied, restoring, { operation: { to: 'running' } }, 'ControlPlaneMigrating'],
      ['never returns to an earlier generation', ahead, processing, { observedGeneration: 2 }],
      ['reports an older generation while a newer one waits', newer, done, { observedGeneration: 2 }],
    ])('%s', (...[, desired, seen, expected, reason]) => {
      const verdict = judge(desired, seen, later);

      expect(verdict).toMatchObject(expected);
      if (reason !== undefined) expect(reasonOf(verdict)).toBe(reason);
    });

    it('that failed has the condition of a missing Shoot, or of its healthy control plane', () => {
      const stopped = judge(anUpdatedDesired({ retriedGeneration: 2 }), present(anUpdatedShoot('Failed')), later);
      const conditions = [...judge(gone, absent, later).conditions, ...stopped.conditions];

      for (const type of ['ShootMissing', 'ControlPlaneReady']) {
        expect(conditions).toContainEqual(expect.objectContaining({ type, status: 'True' }));
      }
    });

    it('stays unchanged after a read that is older than the last write', () => {
      const desired = anUpdatedDesired({ conditions: [], seedName: 'seed-x', phase: 'Updating' });

      expect(judge(desired, present(anUpdatedShoot('Succeeded', { generation: 4 })), later)).toEqual({
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
  const conditionsOf = (desired: Desired, seen: Observed, now = noon): Condition[] => [
    ...judge(desired, seen, now).conditions,
  ];
  /** A condition of a steady cluster, unless another is given. */
  const one = (type: string, parts: Parts, desired = steady) =>
    conditionsOf(desired, present(aShoot(steady, parts))).find((each) => each.type === type);

  it.each<[string, Desired, Observed]>([
    ['before there is a Shoot', aDesired(), absent],
    ['when a foreign Shoot has the name', aDesired(), { kind: 'foreign' }],
    ['when the Shoot was removed by others', steady, absent],
    ['before the first run', aDesired(), present(aShoot(aDesired(), { lastOperation: null, conditions: [] }))],
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
    const second = conditionsOf(known, present(aShoot(steady, unhealthy)), minutesLater(9));
    const since = Object.fromEntries(second.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]));

    expect(since).toMatchObject({ Reconciled: noon.toISOString(), NodesReady: minutesLater(9).toISOString() });
  });

  it('contain no internals of the garden', () => {
    const shoot = aShoot(steady, {
      conditions: [aCondition('EveryNodeReady', 'False', 'see node 10.0.0.7')],
      lastErrors: [{ description: 'shoot--t1a2b3c4--c9f8e7d6 in seed namespace: token abc' }],
    });

    expect(JSON.stringify(conditionsOf(steady, present(shoot)))).not.toMatch(/gardenlet|10\.0\.0\.7|shoot--|token abc/);
  });

  describe('of the garden', () => {
    it.each([
      ['SystemComponentsHealthy', 'True', 'True'],
      ['SystemComponentsHealthy', 'Unknown', 'Unknown'],
      ['SystemComponentsHealthy', 'Progressing', 'Unknown'],
      ['SystemComponentsHealthy', '', 'Unknown'],
      ['BackupsHealthy', 'False', 'False'],
    ])('are passed on, also of unknown types: %s %s is %s', (type, status, passedOn) => {
      expect(one(type, { conditions: [aCondition(type, status, 'PodsCounted')] })).toMatchObject({
        status: passedOn,
        reason: 'PodsCounted',
        message: expect.stringMatching(/^(This part|The system|Whether the system) .*\.$/),
      });
    });

    it('are unknown during hibernation, although the garden reports them as true', () => {
      const sleeping = aSteadyDesired({ spec: { hibernated: true } });
      const conditions = allWell.map(({ type }) => aCondition(type, 'True', 'ConditionNotChecked'));
      const shoot = aShoot(sleeping, { hibernated: true, conditions });

      expect(
        conditionsOf(sleeping, present(shoot))
          .filter(({ reason }) => reason === 'Hibernated')
          .map(({ type, status }) => `${type} ${status}`),
      ).toEqual(
        ['ControlPlaneReady', 'NodesReady', ...allWell.map(({ type }) => type)].map((type) => `${type} Unknown`),
      );
    });

    it('are unknown when the garden reports them as not checked', () => {
      const conditions = [aCondition('APIServerAvailable', 'True', 'ConditionNotChecked')];

      for (const type of ['ControlPlaneReady', 'APIServerAvailable']) {
        expect(one(type, { conditions })?.status).toBe('Unknown');
      }
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

  it.each([
    ['True', 'True', 'True'],
    ['True', 'False', 'False'],
    ['False', 'True', 'False'],
    ['Progressing', 'True', 'Unknown'],
    ['Unknown', 'False', 'False'],
    [null, null, 'Unknown'],
  ])('ControlPlaneReady with an API server %s and a control plane %s is %s', (apiServer, controlPlane, status) => {
    const conditions = [
      ...(apiServer === null ? [] : [aCondition('APIServerAvailable', apiServer)]),
      ...(controlPlane === null ? [] : [aCondition('ControlPlaneHealthy', controlPlane)]),
    ];

    expect(one('ControlPlaneReady', { conditions })?.status).toBe(status);
  });

  it('NodesReady names the pools that the provider has no capacity for, also when a cluster cannot resume', () => {
    const description = 'machine shoot--t1a2b3c4--c9f8e7d6-p1a2b3-hel1-dc2-7d9f4-x2x: resource_unavailable';
    const short = { ...operating('Reconcile', 'Error'), lastErrors: [{ description }] };

    for (const parts of [short, { ...short, hibernated: true }]) {
      expect(one('NodesReady', parts)).toMatchObject({
        status: 'False',
        reason: 'ProviderOutOfStock',
        message: 'The provider has no capacity left for a machine type in hel1. Concerned: node pool general (cpx31).',
      });
    }
  });

  const refused = operating('Reconcile', 'Failed', ['ERR_INFRA_UNAUTHORIZED']);

  it.each<[string, Partial<Desired['connection']>, Condition['status'], string, Parts?]>([
    ['verified', {}, 'True', 'Verified'],
    ['not verified yet', { phase: 'Unverified' }, 'Unknown', 'Unverified'],
    ['rejected', { phase: 'Rejected' }, 'False', 'ProviderTokenRejected'],
    ['replaced', { tokenVersion: 2 }, 'True', 'TokenRollingOut'],
    ['replaced on the garden', { tokenVersion: 2, gardenTokenVersion: 2 }, 'True', 'TokenRollingOut'],
    ['verified and lacks rights', {}, 'False', 'ProviderPermissionDenied', refused],
    ['refused with its older token', { tokenVersion: 2, gardenTokenVersion: 2 }, 'True', 'TokenRollingOut', refused],
  ])('ConnectionReady of a connection that is %s', (_, connection, status, reason, parts = {}) => {
    expect(one('ConnectionReady', parts, aSteadyDesired({ connection }))).toMatchObject({ status, reason });
  });

  it('SpecAccepted names the pools whose minimum was raised to one node', () => {
    const pools = [
      aPool({ minimum: 0 }),
      aPool({ name: 'batch', workerName: 'p2', minimum: 0 }),
      aPool({ name: 'idle', workerName: 'p3', minimum: 0, maximum: 0 }),
    ];

    expect(conditionsOf(aDesired({ pools }), absent)[0]).toMatchObject({
      type: 'SpecAccepted',
      status: 'True',
      reason: 'MinimumRaised',
      message:
        'The provider keeps at least one node in each pool with a maximum above zero: node pools general, batch.',
    });
  });

  const begun = aSteadyDesired({ known: { observedGeneration: 0 } });
  const short = {
    ...operating('Reconcile', 'Processing'),
    lastErrors: [{ codes: ['ERR_INFRA_QUOTA_EXCEEDED'], lastUpdateTime: minutesLater(2).toISOString() }],
  };
  const since = (minutes: number) => ({ retryCycleStartTime: minutesLater(minutes).toISOString() });

  it.each<[string, Desired, Parts, string]>([
    ['during the garden’s own regular run', steady, operating('Reconcile', 'Processing'), 'Reconciled'],
    ['before the first run', begun, operating('Create', 'Pending'), 'Pending'],
    ['during the creation', begun, operating('Create', 'Processing'), 'Creating'],
    ['during a change', begun, operating('Reconcile', 'Processing'), 'Updating'],
    ['during a deletion by others', steady, { ...deletedAtNoon, ...operating('Delete', 'Error') }, 'DeletedExternally'],
    ['after a problem of this attempt', steady, { ...short, ...since(1) }, 'ProviderQuotaExceeded'],
    ['after a problem of the attempt before', steady, { ...short, ...since(3) }, 'Retrying'],
    ['after one of an earlier change', steady, { ...short, generation: 2, observedGeneration: 1 }, 'Retrying'],
  ])('Reconciled %s', (_when, desired, parts, reason) => {
    const status = reason === 'Reconciled' ? 'True' : 'False';
    expect(one('Reconciled', parts, desired)).toMatchObject({ status, reason });
  });
});

describe('the migration phase of a control plane that', () => {
  it.each<
    [step: string, desired: string | undefined, actual: string | null, type: string, state: string, phase: unknown]
  >([
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
    const parts = { spec: { seedName: desired }, seedName: actual, ...operating(type, state) };

    expect(migrationOf(factsOf(aShoot(steady, parts)))).toBe(phase);
  });

  it('has no last operation is Restoring while the garden reports a migration start', () => {
    const parts = {
      spec: { seedName: 'b' },
      seedName: null,
      lastOperation: null,
      migrationStartTime: noon.toISOString(),
    };

    expect(migrationOf(factsOf(aShoot(steady, parts)))).toBe('Restoring');
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

  const observed = observedCluster(desired, factsOf(aTellingShoot()), noon);
  const laterOn = (more: Partial<typeof observed>) => ({
    ...desired,
    known: { ...desired.known, observed: { ...observed, ...more } },
  });

  it('contains version, API server, images and maintenance under the team’s names', () => {
    expect(observed).toEqual({
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
    const kubernetes = { version: '1.34.3', supportedUntil: '2027-01-01T00:00:00.000Z' };
    const later = laterOn({ kubernetes });

    expect(observedCluster(later, factsOf(aTellingShoot()), noon).kubernetes).toEqual(kubernetes);
    expect(observedCluster(later, factsOf(aTellingShoot('1.34.4')), noon).kubernetes?.supportedUntil).toBeNull();
  });

  it('keeps the certificate authority until another one is read, even when the API server address changes', () => {
    const later = laterOn({ apiServer: { url: 'https://api.old.example', certificateAuthorityData: 'UEVN' } });

    expect(observedCluster(later, factsOf(aTellingShoot()), noon).apiServer).toEqual({
      url: 'https://api.web.example',
      certificateAuthorityData: 'UEVN',
    });
    expect(observedCluster(later, factsOf(aShoot(desired)), noon).apiServer).toBeNull();
  });

  it.each([
    ['later today', '130000+0000', '2026-11-21T13:00:00.000Z'],
    ['tomorrow when it has already begun', '120000+0000', '2026-11-22T12:00:00.000Z'],
    ['in a zone ahead', '003000+0200', '2026-11-21T22:30:00.000Z'],
    ['in a zone behind', '233000-0500', '2026-11-22T04:30:00.000Z'],
    ['is null for an invalid time', '256000+0000', null],
  ])('the next time of a daily window %s', (_what, begin, next) => {
    expect(nextTimeOf(begin, noon)).toBe(next);
  });
});

describe('progress', () => {
  it.each([
    ['follows its run', 10, 43, 43],
    ['never decreases when the garden starts another attempt', 70, 5, 70],
    ['reaches 100 only with success', 0, 100, 99],
    ['is never negative', 0, -4, 0],
    ['stays the same while no run is in progress', 12, null, 12],
  ])('%s', (_, shown, progress, expected) => {
    const run =
      progress === null ? null : factsOf(aShoot(steady, { lastOperation: { state: 'Processing', progress } }));

    expect(progressOf(anUpdate(shown), run)).toBe(expected);
  });

  it('has the next pass sooner while an operation is open', () => {
    expect(nextPassMsFor(aSteadyDesired({ operation: anUpdate() }))).toBe(15_000);
    expect(nextPassMsFor(steady)).toBe(60_000);
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
