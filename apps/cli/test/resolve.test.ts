import { describe, expect, it } from '@jest/globals';
import { resolvedSpec } from '../src/clusters/resolve.js';

const documentOf = (spec: object, more: object = {}) => ({ name: 'web', source: 'file', spec: { ...spec }, ...more });

it.each([
  ['is the least one for a new cluster', '1.34', null, '1.34'],
  ['stays if it is newer', '1.33', '1.34.2', '1.34.2'],
  ['stays if it is the same', '1.34.2', '1.34.2', '1.34.2'],
  ['stays if only its patch version is newer', '1.34', '1.34.0', '1.34.0'],
  ['stays if it is the newest of a minor version', '1.34.2', '1.34', '1.34'],
  ['becomes the least one if it is older', '1.34', '1.9.12', '1.34'],
  ['becomes the least one if its patch version is older', '1.34.10', '1.34.9', '1.34.10'],
])('the version of a cluster %s', (_what, minKubernetesVersion, present, kubernetesVersion) => {
  const now = present === null ? null : { kubernetesVersion: present };

  expect(resolvedSpec(documentOf({}, { minKubernetesVersion }), now)).toEqual({ kubernetesVersion });
});

describe('what a document ignores', () => {
  const pool = (name: string, maximum: number, more = {}) => ({ name, maximum, ...more });
  const declared = { region: 'hel1', hibernated: false, nodePools: [pool('a', 3), pool('new', 1)] };
  const present = {
    region: 'fsn1',
    hibernated: true,
    nodePools: [pool('gone', 9), pool('a', 7, { labels: { by: 'hand' } })],
    features: { ha: true },
  };

  it.each<[path: string, expected: object]>([
    ['hibernated', { ...declared, hibernated: true }],
    ['nodePools/*/maximum', { ...declared, nodePools: [pool('a', 7), pool('new', 1)] }],
    ['nodePools/a/maximum', { ...declared, nodePools: [pool('a', 7), pool('new', 1)] }],
    ['nodePools/a/labels', { ...declared, nodePools: [pool('a', 3, { labels: { by: 'hand' } }), pool('new', 1)] }],
    ['nodePools/new/maximum', declared],
    ['nodePools/*', { ...declared, nodePools: [pool('a', 7, { labels: { by: 'hand' } }), pool('new', 1)] }],
    ['nodePools', { ...declared, nodePools: present.nodePools }],
    ['features', { ...declared, features: { ha: true } }],
    ['nothing', declared],
    ['region/deeper', declared],
    ['*', present],
  ])('at %s is as it is now', (path, expected) => {
    expect(resolvedSpec(documentOf(declared, { ignore: [path] }), present)).toEqual(expected);
  });

  it('and the cluster does not have is left out', () => {
    expect(resolvedSpec(documentOf(declared, { ignore: ['region'] }), {})).toEqual({
      hibernated: false,
      nodePools: declared.nodePools,
    });
  });

  it('is what the document says of a new cluster', () => {
    expect(resolvedSpec(documentOf(declared, { ignore: ['*'] }), null)).toEqual(declared);
  });
});
