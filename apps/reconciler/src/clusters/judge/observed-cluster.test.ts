import { describe, expect, it } from '@jest/globals';
import { aPool, aShoot, aSteadyDesired, noon, present } from '../../../test/support/a-cluster.js';
import { factsOf } from '../observe.js';
import { judge } from './judge.js';
import { nextTimeOf, observedCluster } from './observed-cluster.js';

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
