import { parseShoot, type Shoot } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  absent,
  aCondition,
  aDesired,
  allWell,
  anUpdatedDesired,
  anUpdatedShoot,
  aShoot,
  aSteadyDesired,
  minutesLater,
  present,
} from '../../test/support/a-cluster.js';
import { decide } from './decide/decide.js';
import { judge } from './judge/judge.js';
import { factsOf, observedFrom, observedHash, runningVersion } from './observe.js';

const unseen = aDesired();
const seen = aSteadyDesired();
const strange = { 'corral.dev/cluster-id': 'another', 'corral.dev/managed': 'true' };

describe('a Shoot with the cluster’s name', () => {
  it.each([
    ['ours by its label before its UID is recorded', unseen, aShoot(unseen), 'present'],
    ['foreign by its label', unseen, aShoot(unseen, { labels: strange }), 'foreign'],
    ['foreign without a label', unseen, aShoot(unseen, { labels: {} }), 'foreign'],
    ['ours by its recorded UID', seen, aShoot(seen, { labels: {} }), 'present'],
    ['foreign by its UID despite our label', seen, aShoot(seen, { uid: 'uid-2' }), 'foreign'],
  ])('is %s', (_, desired, shoot, kind) => {
    expect(observedFrom(desired, shoot).kind).toBe(kind);
  });

  it('may be absent', () => {
    expect(observedFrom(unseen, null)).toEqual(absent);
  });
});

describe('the facts of a Shoot', () => {
  it('have defaults for a nearly empty Shoot', () => {
    const metadata = { name: 'c1', namespace: 'garden-x', uid: 'u', resourceVersion: '1' };
    const bare = parseShoot({ metadata, spec: { provider: { workers: [null, 7, {}] }, kubernetes: 'odd' } });
    if (bare === null) throw new Error('a Shoot with all that every object has');

    expect(factsOf(bare)).toMatchObject({
      applied: null,
      lastOperation: null,
      kubernetesVersion: null,
      isHighlyAvailable: false,
      problems: [],
      seed: { desired: null, actual: null },
      hibernation: { desired: false, actual: false },
      workers: [{ name: '', machineType: '', minimum: 0, maximum: 0 }],
    });
  });

  it.each([
    ['without our labels', { labels: {} }],
    ['without our annotations', { annotations: { 'corral.dev/generation': '', 'corral.dev/desired-hash': '' } }],
  ])('do not count it as applied %s', (_, more) => {
    const { applied } = factsOf(aShoot(seen, more));

    expect(applied?.hash ?? null).not.toBe(seen.desiredHash);
  });

  it('list the most specific problem first', () => {
    const lastErrors = [{ description: 'context deadline exceeded' }, { codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }];

    expect(factsOf(aShoot(seen, { lastErrors })).problems.map(({ code }) => code)).toEqual([
      'provider_quota_exceeded',
      'internal_error',
    ]);
  });

  it('show whether a problem is from this attempt', () => {
    const lastErrors = [{ lastUpdateTime: minutesLater(2).toISOString() }];
    const isCurrent = (more: object) => factsOf(aShoot(seen, { lastErrors, ...more })).problems[0]?.isCurrent;

    expect(isCurrent({})).toBe(true);
    expect(isCurrent({ retryCycleStartTime: minutesLater(1).toISOString() })).toBe(true);
    expect(isCurrent({ retryCycleStartTime: minutesLater(3).toISOString() })).toBe(false);
    expect(isCurrent({ generation: 2, observedGeneration: 1 })).toBe(false);
  });

  it('name the pools in a problem, and no pool with the same prefix', () => {
    const description = 'Failed while creating shoot--t1a2b3c4--c9f8e7d6-p1a2b3-hel1-dc2-5d8b4-k2x9z';
    const [worker] = (aShoot(seen).spec.provider as { workers: object[] }).workers;
    const workers = [worker, { ...worker, name: 'p1a2b' }];

    expect(
      factsOf(aShoot(seen, { lastErrors: [{ description }], spec: { provider: { workers } } })).problems[0]?.workers,
    ).toEqual(['p1a2b3']);
  });
});

describe('the running version', () => {
  it.each([
    ['is the version of the Shoot', present(aShoot(seen)), '1.34.3'],
    [
      'is null when it is not a semantic version',
      present(aShoot(seen, { spec: { kubernetes: { version: 'latest' } } })),
      null,
    ],
    ['is null without a Shoot', absent, null],
    ['is null for a foreign Shoot', { kind: 'foreign' } as const, null],
  ])('%s', (_, from, version) => {
    expect(runningVersion(from)).toBe(version);
  });
});

const hashOf = (more: Parameters<typeof aShoot>[1] = {}) => observedHash(aShoot(seen, more));

describe('the digest of a Shoot', () => {
  it.each<[string, Parameters<typeof aShoot>[1]]>([
    [
      'a heartbeat',
      { conditions: allWell.map((each) => ({ ...each, lastUpdateTime: minutesLater(9).toISOString() })) },
    ],
    ['other messages', { conditions: allWell.map((each) => ({ ...each, message: 'as gardenlet-8 says' })) }],
    ['another resource version', { resourceVersion: '77' }],
    ['another successful regular run', { lastOperation: { lastUpdateTime: minutesLater(99).toISOString() } }],
    ['the start of another attempt', { retryCycleStartTime: minutesLater(99).toISOString() }],
    ['a foreign annotation', { annotations: { 'shoot.gardener.cloud/tasks': 'x' } }],
    ['a foreign label', { labels: { ...aShoot(seen).metadata.labels, 'shoot.gardener.cloud/status': 'healthy' } }],
  ])('does not change with %s', (_, more) => {
    expect(hashOf(more)).toBe(hashOf());
  });

  it.each<[string, Parameters<typeof aShoot>[1]]>([
    ['the address of its API server', { advertisedAddresses: [{ name: 'external', url: 'https://api.example.org' }] }],
    [
      'progress of its certificate authority rotation',
      { authorityRotation: { phase: 'Prepared', initiatedAt: null, completedAt: null } },
    ],
    ['another UID', { uid: 'uid-2' }],
    ['a change of its specification', { generation: 2 }],
    ['a run that is due', { observedGeneration: 0 }],
    ['a run of the garden', { lastOperation: { state: 'Processing' } }],
    ['its deletion', { deletionTimestamp: minutesLater(9).toISOString() }],
    ['another declaration', { annotations: { 'corral.dev/generation': '0' } }],
    ['an operation annotation', { annotations: { 'gardener.cloud/operation': 'rotate-ca-start' } }],
    ['a type of operation', { lastOperation: { type: 'Migrate' } }],
    ['a state of operation', { lastOperation: { state: 'Failed' } }],
    ['a failure', { lastErrors: [{ codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }] }],
    ['a condition', { conditions: [aCondition('EveryNodeReady', 'False')] }],
    ['a constraint', { constraints: [aCondition('HibernationPossible', 'False')] }],
    ['a seed', { seedName: 'seed-b' }],
    ['a requested seed', { spec: { seedName: 'seed-b' } }],
    ['hibernation', { hibernated: true }],
  ])('changes with %s', (_, more) => {
    expect(hashOf(more)).not.toBe(hashOf());
  });

  describe('of a Shoot whose next run is due', () => {
    const due = { generation: 2, observedGeneration: 1 } as const;
    const begun = { generation: 2, observedGeneration: 2 } as const;

    it.each(['Create', 'Reconcile', 'Restore'])('does not change when the run after a %s begins', (type) => {
      const running = { ...begun, lastOperation: { type: 'Reconcile', state: 'Processing', progress: 7 } };

      expect(hashOf(running)).toBe(hashOf({ ...due, lastOperation: { type, state: 'Succeeded' } }));
    });

    it.each<[string, Parameters<typeof aShoot>[1]]>([
      ['ends', { ...begun, lastOperation: { state: 'Succeeded' } }],
      ['fails at once', { ...begun, lastOperation: { state: 'Error' } }],
      ['becomes due again', { ...due, generation: 3 }],
      [
        'begins for another specification',
        { generation: 3, observedGeneration: 3, lastOperation: { state: 'Processing' } },
      ],
      ['moves the control plane', { ...begun, lastOperation: { type: 'Migrate', state: 'Processing' } }],
      ['follows a failure', { ...due, lastOperation: { state: 'Failed' } }],
      [
        'shows a problem',
        { ...begun, lastOperation: { state: 'Processing' }, lastErrors: [{ codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }] },
      ],
    ])('changes when the run %s', (_, more) => {
      expect(hashOf(more)).not.toBe(hashOf(due));
    });

    it('hides no change of the step or of what clients see, except progress', () => {
      const changing = anUpdatedDesired();
      const before = present(anUpdatedShoot('Succeeded', { observedGeneration: 4 }));
      const after = present(anUpdatedShoot('Processing', {}, 0));

      expect(judge(changing, before, minutesLater(1))).toMatchObject({
        phase: 'Updating',
        operation: { to: 'running' },
      });
      expect(decide(changing, after, minutesLater(1))).toEqual(decide(changing, before, minutesLater(1)));
      expect(judge(changing, after, minutesLater(1))).toEqual(judge(changing, before, minutesLater(1)));
    });
  });

  it('changes with progress in steps, and not with the progress of regular runs', () => {
    const [creating, reconciling] = ['Create', 'Reconcile'].map((type) => (progress: number) => {
      return hashOf({ lastOperation: { type, state: 'Processing', progress } });
    }) as [(progress: number) => string, (progress: number) => string];

    expect(creating(41)).toBe(creating(49));
    expect(creating(50)).not.toBe(creating(49));
    expect(reconciling(0)).toBe(reconciling(90));
  });

  it('covers everything relevant: ignored fields change neither the step nor the verdict', () => {
    const facts = fc.record({
      generation: fc.integer({ min: 1, max: 3 }),
      observedGeneration: fc.integer({ min: 1, max: 3 }),
      hibernated: fc.boolean(),
      seedName: fc.constantFrom('seed-hel', 'seed-b'),
      operation: fc.constantFrom('retry', 'rotate-ca-start', undefined),
      status: fc.constantFrom('True', 'False', 'Progressing'),
      codes: fc.constantFrom<string[]>([], ['ERR_INFRA_QUOTA_EXCEEDED']),
      type: fc.constantFrom('Create', 'Reconcile', 'Restore'),
      state: fc.constantFrom('Processing', 'Succeeded', 'Error', 'Failed'),
    });
    const noise = fc.record({
      resourceVersion: fc.string(),
      message: fc.string(),
      taskID: fc.string(),
      technicalID: fc.string(),
      annotation: fc.string(),
    });
    fc.assert(
      fc.property(facts, noise, noise, ({ operation, status, codes, type, state, ...more }, ...noises) => {
        const [one, other] = noises.map(({ message, taskID, annotation, ...unseen }) =>
          aShoot(seen, {
            ...more,
            ...unseen,
            annotations: { annotation, ...(operation === undefined ? {} : { 'gardener.cloud/operation': operation }) },
            conditions: [{ ...aCondition('EveryNodeReady', status), message }],
            lastErrors: [{ taskID, codes }],
            lastOperation: { type, state, description: message },
          }),
        ) as [Shoot, Shoot];

        expect(observedHash(one)).toBe(observedHash(other));
        expect(decide(seen, present(one), minutesLater(9))).toEqual(decide(seen, present(other), minutesLater(9)));
        expect(judge(seen, present(one), minutesLater(9))).toEqual(judge(seen, present(other), minutesLater(9)));
      }),
      { numRuns: 300 },
    );
  });
});
