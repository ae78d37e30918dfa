import { nodeRangeOf } from '@corral/cluster-data';
import type { ClusterSpec, ClusterSpecInput } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aCluster, aClusterSpec, aPool } from '../../../test/support/a-cluster.js';
import { refusalOf } from '../../../test/support/refusal.js';
import { hasWorkers, pointersInCluster, withoutPool, withPool } from '../../node-pools/pool-spec.js';
import { completePool, completeSpec } from './complete-spec.js';

const { hibernated: _hibernated, nodePools: _pools, ...declared } = aClusterSpec();
const short = { kubernetesVersion: '1.33.4' } as const;
const complete = (input: ClusterSpecInput, current: Parameters<typeof completeSpec>[1]) =>
  completeSpec(input, current, pointersInCluster);
const started = (spec: Partial<ClusterSpec>) => aCluster({ spec: aClusterSpec(spec) });
const draft = (spec: Partial<ClusterSpec>) => aCluster({ spec: aClusterSpec(spec), startedAt: null });

describe('a declared specification', () => {
  it('defaults a new cluster to awake and without pools', () => {
    expect(complete(declared, null)).toMatchObject({ hibernated: false, nodePools: [] });
  });

  it('keeps omitted hibernation and pools', () => {
    const current = started({ hibernated: true });

    expect(complete(declared, current)).toEqual(current.spec);
  });

  it('keeps every omitted field of the cluster itself, of a draft too', () => {
    const network = { nodeCIDR: '172.18.0.0/16', podCIDR: '10.100.0.0/16', serviceCIDR: '10.101.0.0/16' } as const;
    const fixed = { connectionRef: 'other', region: 'fsn1', controlPlaneHA: true, plan: 'monthly', network } as const;

    expect(complete(short, started(fixed))).toEqual(aClusterSpec(fixed));
    expect(complete({ ...short, network: { podCIDR: '10.200.0.0/16' } }, started(fixed)).network).toEqual({
      ...network,
      podCIDR: '10.200.0.0/16',
    });
    expect(complete(short, draft(fixed))).toEqual(aClusterSpec(fixed));
  });

  it('of a new cluster names the missing required fields', () => {
    expect(refusalOf(() => complete(short, null))).toEqual(['validation_failed', '/spec/connectionRef']);
    expect(refusalOf(() => complete({ ...short, connectionRef: 'main' }, null))?.[1]).toBe('/spec/region');
  });

  it('of a new cluster names all of them, those of its pools included', () => {
    const { machineType: _type, ...pool } = aPool();

    expect(() => complete({ ...short, nodePools: [aPool({ name: 'a' }), pool] }, null)).toThrow(
      'spec.connectionRef must be set for a new resource; spec.region must be set for a new resource; ' +
        'spec.nodePools[1].machineType must be set for a new resource',
    );
  });

  it('of an existing managed pool requires the machine type, and does not call it new', () => {
    const { machineType: _type, ...pool } = aPool();

    expect(() => complete({ ...short, nodePools: [pool] }, draft({ nodePools: [aPool()] }))).toThrow(
      'spec.nodePools[0].machineType is required',
    );
  });

  it('begins a new cluster and a new pool with the initial values', () => {
    const { name, machineType } = aPool();
    const { connectionRef, region, ...more } = aClusterSpec();
    const initial = { source: 'managed', image: {}, minimum: 0, maximum: 3, publicIP: true } as const;

    expect(complete({ ...short, connectionRef, region, nodePools: [{ name, machineType }] }, null)).toEqual({
      ...more,
      connectionRef,
      region,
      nodePools: [{ name, machineType, ...initial }],
    });
  });

  it('keeps the omitted image of a pool, and sets its other omitted fields to their defaults', () => {
    const general = aPool({ image: { name: 'ubuntu' }, minimum: 2, maximum: 6, publicIP: false });
    const { name, machineType } = general;
    const defaults = { minimum: 0, maximum: 3, publicIP: true };

    expect(completePool({ name, machineType }, general, '/spec')).toEqual({ ...general, ...defaults });
    expect(completePool({ name, machineType, image: {} }, general, '/spec').image).toEqual({});
    expect(complete({ ...short, nodePools: [{ name, machineType }] }, started({ nodePools: [general] }))).toMatchObject(
      { nodePools: [{ ...general, ...defaults }] },
    );
  });

  it('keeps the omitted source of a pool, and the machine type on adopted servers', () => {
    const own = aPool({ name: 'own', source: 'pooled', machineType: 'cx22' });
    const { source: _source, machineType: _type, ...rest } = own;

    expect(completePool(rest, own, '/spec')).toEqual(own);
    expect(completePool({ ...rest, machineType: 'cx32' }, null, '/spec')).toMatchObject({ source: 'managed' });
    expect(refusalOf(() => completePool(rest, aPool(), '/spec'))).toEqual(['validation_failed', '/spec/machineType']);
    expect(refusalOf(() => complete({ ...declared, nodePools: [rest] }, null))).toEqual([
      'validation_failed',
      '/spec/nodePools/0/machineType',
    ]);
  });

  it('changes hibernation and pools that it names, also to an empty list', () => {
    const current = started({ hibernated: true });

    expect(complete({ ...declared, hibernated: false, nodePools: [] }, current)).toMatchObject({
      hibernated: false,
      nodePools: [],
    });
  });
});

describe('one pool of a specification', () => {
  const spec = aClusterSpec({ nodePools: [aPool({ name: 'a' }), aPool({ name: 'b' })] });
  const names = ({ nodePools }: typeof spec) => nodePools.map(({ name, maximum }) => `${name}${maximum}`);

  it('is replaced in place', () => {
    expect(names(withPool(spec, aPool({ name: 'a', maximum: 9 })))).toEqual(['a9', 'b3']);
  });

  it('is added at the end', () => {
    expect(names(withPool(spec, aPool({ name: 'c' })))).toEqual(['a3', 'b3', 'c3']);
  });

  it('is removed', () => {
    expect(names(withoutPool(spec, 'a'))).toEqual(['b3']);
  });
});

describe('the node range of a pool', () => {
  it.each([
    ['at least one when the maximum allows any', 'managed', 0, 3, false, [1, 3]],
    ['as many as declared', 'managed', 2, 3, false, [2, 3]],
    ['none with a maximum of zero', 'managed', 0, 0, false, [0, 0]],
    ['none while the cluster is hibernated', 'managed', 2, 3, true, [0, 0]],
    ['the maximum, on adopted servers', 'pooled', 0, 3, false, [3, 3]],
    ['the maximum, on adopted servers of a hibernated cluster', 'onprem', 3, 3, true, [3, 3]],
  ] as const)('is %s', (_what, source, minimum, maximum, hibernated, range) => {
    expect(nodeRangeOf({ source, minimum, maximum }, { hibernated })).toEqual(range);
  });
});

describe('a cluster', () => {
  it.each([
    ['has workers with a managed pool', [aPool()], true],
    ['has none without pools', [], false],
    ['has none when every pool has a maximum of zero', [aPool({ minimum: 0, maximum: 0 })], false],
    ['has none with adopted servers alone', [aPool({ source: 'pooled' })], false],
    ['has workers with adopted servers beside a managed pool', [aPool({ source: 'pooled' }), aPool()], true],
  ])('%s', (_what, nodePools, has) => {
    expect(hasWorkers({ nodePools })).toBe(has);
  });
});
