import type { ClusterSpec, NodePoolSpec } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aCatalogue, aCluster, aClusterSpec, aPool, NOW } from '../../test/support/a-cluster.js';
import { refusalOf } from '../../test/support/refusal.js';
import { type CatalogueContext, type CurrentCluster, checkCatalogue, needsCatalogue } from './catalogue-rules.js';
import { inCluster } from './places.js';

const context = (more: Partial<CatalogueContext> = {}): CatalogueContext => ({
  ...{ catalogue: aCatalogue(), features: new Set(), places: inCluster, now: NOW },
  ...more,
});
const started = (spec: Partial<ClusterSpec> = {}, more: Partial<CurrentCluster> = {}) =>
  aCluster({ spec: aClusterSpec(spec), ...more });
const aDraft = aCluster({ spec: aClusterSpec({ nodePools: [] }), startedAt: null, pinnedVersion: null });
const refused = (current: CurrentCluster | null, desired: Partial<ClusterSpec>, more: Partial<CatalogueContext> = {}) =>
  refusalOf(() => checkCatalogue(current, aClusterSpec(desired), context(more)));
const withPool = (pool: Partial<NodePoolSpec>) => ({ nodePools: [aPool(pool)] });

describe('the catalogue', () => {
  it('need not have the type of adopted servers, but counts them', () => {
    const nodePools = [aPool(), aPool({ name: 'own', source: 'pooled', machineType: 'cx22', maximum: 4 })];

    expect(refused(null, { nodePools })).toBeNull();
    expect(refused(null, { nodePools }, { catalogue: aCatalogue({ maxNodesTotal: 6 }) })).toEqual([
      ...['unsupported_by_garden', '/spec/nodePools'],
    ]);
  });

  it.each<[string, CurrentCluster | null, Partial<ClusterSpec>, boolean]>([
    ['a new cluster', null, {}, true],
    ['a new draft', null, { nodePools: [] }, true],
    ['another version', started(), { kubernetesVersion: '1.34' }, true],
    ['another pool', started(), { nodePools: [aPool(), aPool({ name: 'b' })] }, true],
    ['another machine type', started(), withPool({ machineType: 'cpx51' }), true],
    ['another image', started(), withPool({ image: { name: 'ubuntu' } }), true],
    ['more nodes', started(), withPool({ maximum: 4 }), true],
    ['a draft that starts', aDraft, {}, true],
    ['the minor version of the present patch', started(), { kubernetesVersion: '1.33' }, false],
    ['fewer nodes', started(), withPool({ maximum: 2 }), false],
    ['fewer pools', started({ nodePools: [aPool(), aPool({ name: 'b' })] }), {}, false],
    ['another plan', started(), { plan: 'annual' }, false],
    ['hibernation', started(), { hibernated: true }, false],
    ['more adopted servers', started(), { nodePools: [aPool(), aPool({ name: 'b', source: 'pooled' })] }, true],
    [
      'the type of adopted servers',
      started(withPool({ source: 'pooled' })),
      withPool({ source: 'pooled', machineType: 'own-1' }),
      false,
    ],
  ])('has a say in %s: %#', (_what, current, desired, needed) => {
    expect(needsCatalogue(current, aClusterSpec(desired))).toBe(needed);
  });

  it.each<[string, Partial<ClusterSpec>, string, string]>([
    ['a region', { region: 'ash' }, 'validation_failed', 'region'],
    ['a version', { kubernetesVersion: '1.30.1' }, 'unsupported_version', 'kubernetesVersion'],
    ['a version any more', { kubernetesVersion: '1.31' }, 'unsupported_version', 'kubernetesVersion'],
    ['a machine type', withPool({ machineType: 'm5.large' }), 'invalid_node_pool', 'nodePools/0/machineType'],
    ['a machine type any more', withPool({ machineType: 'cx11' }), 'invalid_node_pool', 'nodePools/0/machineType'],
    ['a machine type there', withPool({ machineType: 'ccx13' }), 'invalid_node_pool', 'nodePools/0/machineType'],
    ['arm64', withPool({ machineType: 'cax21' }), 'unsupported_by_garden', 'nodePools/0/machineType'],
    ['an image', withPool({ image: { name: 'arch' } }), 'invalid_node_pool', 'nodePools/0/image/name'],
    [
      ...(['an image version', withPool({ image: { name: 'ubuntu', version: '18.4.0' } })] as const),
      ...(['invalid_node_pool', 'nodePools/0/image/version'] as const),
    ],
    [
      ...(['an image version any more', withPool({ image: { name: 'ubuntu', version: '22.4.0' } })] as const),
      ...(['invalid_node_pool', 'nodePools/0/image/version'] as const),
    ],
    [
      ...(['an image for that machine', withPool({ image: { name: 'flatcar' } })] as const),
      ...(['invalid_node_pool', 'nodePools/0/image/name'] as const),
    ],
  ])('keeps out %s that it does not have', (_what, desired, code, field) => {
    expect(refused(null, desired)).toEqual([code, `/spec/${field}`]);
  });

  it('lets machines of arm64 pass where the garden can make them', () => {
    const image = { name: 'flatcar', version: '4230.2.0' };

    expect(refused(null, withPool({ machineType: 'cax21', image }), { features: new Set(['arm64']) })).toBeNull();
  });

  it('lets a machine type pass in a region that has it', () => {
    expect(refused(null, { region: 'fsn1', ...withPool({ machineType: 'ccx13' }) })).toBeNull();
  });

  it.each([
    ['a downgrade', '1.32.8'],
    ['a skipped minor version', '1.35.0'],
  ])('refuses %s', (_what, kubernetesVersion) => {
    expect(refused(started(), { kubernetesVersion })).toEqual(['unsupported_version', '/spec/kubernetesVersion']);
  });

  it('compares with the patch that the cluster runs, not with what was declared', () => {
    const current = started({ kubernetesVersion: '1.33' }, { pinnedVersion: '1.33.10' });

    expect(refused(current, { kubernetesVersion: '1.33.4' })?.[0]).toBe('unsupported_version');
  });

  it('does not hold a version that was never resolved against a later wish', () => {
    const pending = started({ kubernetesVersion: '1.34.2' }, { startedAt: null, pinnedVersion: null });

    expect(refused(pending, { kubernetesVersion: '1.32.8' })).toBeNull();
  });

  it('does not hold up a change of something else', () => {
    const old = started(
      {
        kubernetesVersion: '1.31.9',
        region: 'gone',
        nodePools: [aPool({ machineType: 'cx11', image: { name: 'arch' } })],
      },
      { pinnedVersion: '1.31.9' },
    );
    const desired = { ...old.spec, nodePools: [aPool({ machineType: 'cx11', image: { name: 'arch' }, maximum: 9 })] };

    expect(refused(old, desired)).toBeNull();
  });

  it('sees a draft that starts as if all of it were new', () => {
    const old = aCluster({ ...aDraft, spec: { ...aDraft.spec, kubernetesVersion: '1.31.9' } });

    expect(refused(old, { kubernetesVersion: '1.31.9' })).toEqual(['unsupported_version', '/spec/kubernetesVersion']);
  });

  it('bounds the nodes of a cluster that grows', () => {
    const catalogue = aCatalogue({ maxNodesTotal: 5 });

    expect(refused(started(), withPool({ maximum: 6 }), { catalogue })).toEqual([
      ...['unsupported_by_garden', '/spec/nodePools'],
    ]);
    expect(refused(started(withPool({ maximum: 9 })), withPool({ maximum: 8 }), { catalogue })).toBeNull();
  });
});
