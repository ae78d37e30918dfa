import { parseShoot } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import { absent, aDesired, aShoot, aSteadyDesired, minutesLater, present } from '../../test/support/a-cluster.js';
import { factsOf, observedFrom, runningVersion } from './observe.js';

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
      seed: { wished: null, actual: null },
      hibernation: { wished: false, actual: false },
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

  it('tell whether a problem is from this attempt', () => {
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
