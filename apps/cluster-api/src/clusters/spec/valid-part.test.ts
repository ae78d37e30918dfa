import { parseClusterPut } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../../../test/support/a-cluster.js';
import { Problem } from '../../problem.js';
import { validPartOf } from './valid-part.js';

const pools = { nodePools: [aPool(), aPool({ name: 'b' })] };
const partOf = (spec: object, ...invalid: string[]) => {
  const part = validPartOf({ spec }, invalid);
  if (part === null) throw new Error('Nothing remains.');
  return part;
};
/** The places that are still reported when they are refused. */
const reported = (invalid: string, ...places: string[]) => {
  const errors = places.map((pointer) => ({ pointer, message: 'is wrong' }));
  const { errorsOf } = partOf(aClusterSpec(pools), invalid);
  return errorsOf(new Problem('validation_failed', 'Wrong.', { errors })).map(({ pointer }) => pointer);
};

describe('the rest of an invalid body', () => {
  it.each<[string, object, string]>([
    ['a required field', { ...aClusterSpec(), region: 5 }, '/spec/region'],
    ['a missing field', { ...aClusterSpec(), kubernetesVersion: undefined }, '/spec/kubernetesVersion'],
    ['an optional field', { ...aClusterSpec(), plan: 'free' }, '/spec/plan'],
    ['an unknown field', { ...aClusterSpec(), 'a/b': 1 }, '/spec/a~1b'],
    ['a part of the network', { ...aClusterSpec(), network: { podCIDR: 5 } }, '/spec/network/podCIDR'],
    ['all pools', { ...aClusterSpec(), nodePools: 'none' }, '/spec/nodePools'],
    ['one pool', aClusterSpec({ nodePools: [aPool(), aPool({ name: 'B' })] }), '/spec/nodePools/1/name'],
  ])('has a valid form without %s', (_what, spec, pointer) => {
    const declared = JSON.parse(JSON.stringify(spec));

    expect(() => parseClusterPut({ spec: declared })).toThrow();
    expect(() => parseClusterPut(partOf(declared, pointer).body)).not.toThrow();
  });

  it('keeps the places of its pools', () => {
    const { body } = partOf(aClusterSpec(pools), '/spec/nodePools/0/image');

    expect(body).toMatchObject({ spec: { nodePools: [{ maximum: 0 }, aPool({ name: 'b' })] } });
  });

  it('is nothing when the whole specification is invalid', () => {
    expect(validPartOf({ spec: [] }, ['/spec'])).toBeNull();
    expect(validPartOf({}, ['/spec'])).toBeNull();
    expect(validPartOf({ spec: aClusterSpec() }, [''])).toBeNull();
  });

  it.each<[string, string, string[], string[]]>([
    [
      'fields beside the invalid one',
      '/spec/region',
      ['/spec/kubernetesVersion', '/spec/region'],
      ['/spec/kubernetesVersion'],
    ],
    [
      'no machine type without a region',
      '/spec/region',
      ['/spec/nodePools/0/machineType', '/spec/nodePools/0/name'],
      ['/spec/nodePools/0/name'],
    ],
    ['no adopted servers without a connection', '/spec/connectionRef', ['/spec/nodePools/0/maximum'], []],
    ['no control plane without hibernation', '/spec/hibernated', ['/spec/controlPlaneHA'], []],
    ['no range of an invalid network', '/spec/network/podCIDR', ['/spec/network/serviceCIDR'], []],
    [
      'other pools, and no sum of all',
      '/spec/nodePools/0/name',
      ['/spec/nodePools', '/spec/nodePools/0/minimum', '/spec/nodePools/1/minimum'],
      ['/spec/nodePools/1/minimum'],
    ],
    ['the request as a whole', '/spec/region', [''], ['']],
  ])('reports %s', (_what, invalid, places, kept) => {
    expect(reported(invalid, ...places)).toEqual(kept);
  });
});
