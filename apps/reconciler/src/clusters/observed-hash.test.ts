import type { Shoot } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aCondition, allWell, aShoot, aSteadyDesired, minutesLater, present } from '../../test/support/a-cluster.js';
import { decide } from './decide.js';
import { judge } from './judge/judge.js';
import { observedHash } from './observe.js';

const desired = aSteadyDesired();
const hashOf = (more: Parameters<typeof aShoot>[1] = {}) => observedHash(aShoot(desired, more));

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
    ['a foreign label', { labels: { ...aShoot(desired).metadata.labels, 'shoot.gardener.cloud/status': 'healthy' } }],
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
    ['the start of a run', { observedGeneration: 0 }],
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
          aShoot(desired, {
            ...more,
            ...unseen,
            annotations: { annotation, ...(operation === undefined ? {} : { 'gardener.cloud/operation': operation }) },
            conditions: [{ ...aCondition('EveryNodeReady', status), message }],
            lastErrors: [{ taskID, codes }],
            lastOperation: { type, state, description: message },
          }),
        ) as [Shoot, Shoot];

        expect(observedHash(one)).toBe(observedHash(other));
        expect(decide(desired, present(one), minutesLater(9))).toEqual(
          decide(desired, present(other), minutesLater(9)),
        );
        expect(judge(desired, present(one), minutesLater(9))).toEqual(judge(desired, present(other), minutesLater(9)));
      }),
      { numRuns: 300 },
    );
  });
});
