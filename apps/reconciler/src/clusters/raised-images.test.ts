import { describe, expect, it } from '@jest/globals';
import { aDesired, aPool, aShoot, noon } from '../../test/support/a-cluster.js';
import { factsOf } from './observe.js';
import { raisedIn } from './raised-images.js';

const offered = (name: string, expirations: Readonly<Record<string, string | null>>) => ({
  name,
  versions: Object.entries(expirations).map(([version, expirationDate]) => {
    return { version, classification: 'supported', expirationDate, architectures: ['amd64'] };
  }),
});
const images = [
  offered('ubuntu', { '24.4.1': null, '24.4.0': noon.toISOString(), '22.4.10': '2026-11-21T12:00:01.000Z' }),
];
const raisedTo = (declared: Record<string, string>, runs: Record<string, string>) => {
  const desired = aDesired({ pools: [aPool({ image: declared })] });
  const { workers } = factsOf(aShoot(aDesired({ pools: [aPool({ image: runs })] })));
  return raisedIn(desired, workers, { images }, noon).pools[0]?.raisedImage ?? null;
};

describe('the image of a pool is raised', () => {
  const ubuntu = (version: string) => ({ name: 'ubuntu', version });

  it.each([
    ['when the declared version has expired and a later one runs', ubuntu('24.4.0'), ubuntu('24.4.1'), '24.4.1'],
    ['when the declared version is gone from the catalogue', ubuntu('22.4.9'), ubuntu('22.4.10'), '22.4.10'],
    [
      'when the image is gone from the catalogue',
      { name: 'arch', version: '1.0.0' },
      { name: 'arch', version: '2.0.0' },
      '2.0.0',
    ],
    ['never while the declared version is offered', ubuntu('22.4.10'), ubuntu('24.4.1'), null],
    ['never to an earlier version', ubuntu('24.4.2'), ubuntu('24.4.1'), null],
    ['never to another image', ubuntu('24.4.0'), { name: 'arch', version: '99.0.0' }, null],
    ['never without a declared version', { name: 'ubuntu' }, ubuntu('24.4.1'), null],
  ])('%s', (_when, declared, runs, version) => {
    expect(raisedTo(declared, runs)).toBe(version);
  });
});
