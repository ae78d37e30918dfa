import { type Condition, conditionTypes } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import {
  absent,
  aCondition,
  aDesired,
  allWell,
  aPool,
  aShoot,
  aSteadyDesired,
  minutesLater,
  noon,
  present,
} from '../../../test/support/a-cluster.js';
import type { Desired, Observed } from '../model.js';
import { judge } from './judge.js';

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

    expect(JSON.stringify(conditionsOf(steady, present(shoot)))).not.toMatch(/gardenlet|10\.0\.0\.7|shoot--|token abc/);
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

    expect(one('NodesReady', steady, present(shoot))).toMatchObject({ status: 'False', reason: 'ProviderOutOfStock' });
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
