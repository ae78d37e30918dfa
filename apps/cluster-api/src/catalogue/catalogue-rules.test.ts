import type { ClusterSpec, NodePoolSpec } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aCatalogue, aCluster, aClusterSpec, aPool, NOW } from '../../test/support/a-cluster.js';
import { refusalOf } from '../../test/support/refusal.js';
import { pointersInCluster } from '../node-pools/pool-spec.js';
import type { Problem } from '../problem.js';
import { type CatalogueContext, type CurrentCluster, checkCatalogue, needsCatalogue } from './catalogue-rules.js';

const context = (more: Partial<CatalogueContext> = {}): CatalogueContext => ({
  catalogue: aCatalogue(),
  features: new Set(),
  pointers: pointersInCluster,
  now: NOW,
  ...more,
});
const started = (spec: Partial<ClusterSpec> = {}, more: Partial<CurrentCluster> = {}) =>
  aCluster({ spec: aClusterSpec(spec), ...more });
const aDraft = aCluster({ spec: aClusterSpec({ nodePools: [] }), startedAt: null, pinnedVersion: null });
const refused = (current: CurrentCluster | null, desired: Partial<ClusterSpec>, more: Partial<CatalogueContext> = {}) =>
  refusalOf(() => checkCatalogue(current, aClusterSpec(desired), context(more)));
/** An image of the catalogue that can no longer be chosen. */
const expired = { name: 'ubuntu', version: '22.4.0' };
const withPool = (pool: Partial<NodePoolSpec>) => ({ nodePools: [aPool(pool)] });

describe('checks against the catalogue', () => {
  it('skip the machine type of adopted servers but count them as nodes', () => {
    const nodePools = [aPool(), aPool({ name: 'own', source: 'pooled', machineType: 'cx22', maximum: 4 })];

    expect(refused(null, { nodePools })).toBeNull();
    expect(refused(null, { nodePools }, { catalogue: aCatalogue({ maxNodesTotal: 6 }) })).toEqual([
      'unsupported_by_garden',
      '/spec/nodePools',
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
  ])('are made or skipped for %s', (_what, current, desired, needed) => {
    expect(needsCatalogue(current, aClusterSpec(desired))).toBe(needed);
  });

  it.each<[string, Partial<ClusterSpec>, string, string]>([
    ['region', { region: 'ash' }, 'validation_failed', 'region'],
    ['version', { kubernetesVersion: '1.30.1' }, 'unsupported_version', 'kubernetesVersion'],
    ['version (expired)', { kubernetesVersion: '1.31' }, 'unsupported_version', 'kubernetesVersion'],
    ['machine type', withPool({ machineType: 'm5.large' }), 'invalid_node_pool', 'nodePools/0/machineType'],
    ['machine type (retired)', withPool({ machineType: 'cx11' }), 'invalid_node_pool', 'nodePools/0/machineType'],
    [
      'machine type (in this region)',
      withPool({ machineType: 'ccx13' }),
      'invalid_node_pool',
      'nodePools/0/machineType',
    ],
    ['architecture', withPool({ machineType: 'cax21' }), 'unsupported_by_garden', 'nodePools/0/machineType'],
    ['image', withPool({ image: { name: 'arch' } }), 'invalid_node_pool', 'nodePools/0/image/name'],
    [
      'image version',
      withPool({ image: { name: 'ubuntu', version: '18.4.0' } }),
      'invalid_node_pool',
      'nodePools/0/image/version',
    ],
    [
      'image version (expired)',
      withPool({ image: { name: 'ubuntu', version: '22.4.0' } }),
      'invalid_node_pool',
      'nodePools/0/image/version',
    ],
    [
      'image (for this architecture)',
      withPool({ image: { name: 'flatcar' } }),
      'invalid_node_pool',
      'nodePools/0/image/name',
    ],
  ])('reject an unavailable %s', (_what, desired, code, field) => {
    expect(refused(null, desired)).toEqual([code, `/spec/${field}`]);
  });

  it('accept arm64 machines when the garden supports them', () => {
    const image = { name: 'flatcar', version: '4230.2.0' };

    expect(refused(null, withPool({ machineType: 'cax21', image }), { features: new Set(['arm64']) })).toBeNull();
  });

  it('accept a machine type in a region that offers it', () => {
    expect(refused(null, { region: 'fsn1', ...withPool({ machineType: 'ccx13' }) })).toBeNull();
  });

  it.each([
    ['a downgrade', '1.32.8'],
    ['a skipped minor version', '1.35.0'],
  ])('reject %s', (_what, kubernetesVersion) => {
    expect(refused(started(), { kubernetesVersion })).toEqual(['unsupported_version', '/spec/kubernetesVersion']);
  });

  it('compare versions with the patch that the cluster runs, not with the declared version', () => {
    const current = started({ kubernetesVersion: '1.33' }, { pinnedVersion: '1.33.10' });

    expect(refused(current, { kubernetesVersion: '1.33.4' })?.[0]).toBe('unsupported_version');
  });

  it('allow a lower version while the declared one has not been resolved', () => {
    const pending = started({ kubernetesVersion: '1.34.2' }, { startedAt: null, pinnedVersion: null });

    expect(refused(pending, { kubernetesVersion: '1.32.8' })).toBeNull();
  });

  it('do not reject a change because of unchanged fields that are no longer offered', () => {
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

  it.each<[string, Partial<NodePoolSpec>, Partial<NodePoolSpec>, string | null]>([
    ['another machine type beside an image', { image: expired }, { machineType: 'cpx51' }, null],
    ['another image beside a machine type', { machineType: 'cx11' }, { image: { name: 'ubuntu' } }, null],
    ['another image beside a machine type that is gone', { machineType: 'gone' }, { image: { name: 'ubuntu' } }, null],
    ['an unknown image beside a machine type', { machineType: 'cx11' }, { image: { name: 'arch' } }, 'image/name'],
    ['an expired image', {}, { image: expired }, 'image/version'],
    ['an unusable machine type', {}, { machineType: 'cx11' }, 'machineType'],
  ])('judge only what changes of a pool: %s', (_what, before, changed, field) => {
    const end = refused(started(withPool(before)), withPool({ ...before, ...changed }));

    expect(end).toEqual(field === null ? null : ['invalid_node_pool', `/spec/nodePools/0/${field}`]);
  });

  it('treat a draft that starts like a new cluster', () => {
    const old = aCluster({ ...aDraft, spec: { ...aDraft.spec, kubernetesVersion: '1.31.9' } });

    expect(refused(old, { kubernetesVersion: '1.31.9' })).toEqual(['unsupported_version', '/spec/kubernetesVersion']);
  });

  it('limit the nodes of a growing cluster only', () => {
    const catalogue = aCatalogue({ maxNodesTotal: 5 });

    expect(refused(started(), withPool({ maximum: 6 }), { catalogue })).toEqual([
      'unsupported_by_garden',
      '/spec/nodePools',
    ]);
    expect(refused(started(withPool({ maximum: 9 })), withPool({ maximum: 8 }), { catalogue })).toBeNull();
  });
});

describe('a refusal', () => {
  const detailOf = (current: CurrentCluster | null, desired: Partial<ClusterSpec>): string => {
    try {
      checkCatalogue(current, aClusterSpec(desired), context());
      return 'accepted';
    } catch (error) {
      return (error as Problem).detail;
    }
  };
  const version = (kubernetesVersion: string) => ({ kubernetesVersion });
  const runs133 = started({ kubernetesVersion: '1.33.4' });

  it.each<[string, CurrentCluster | null, Partial<ClusterSpec>, string]>([
    [
      'of a minor version that has only previews',
      null,
      version('1.35'),
      'spec.kubernetesVersion must be a full version, because there are only previews of 1.35: 1.35.0.',
    ],
    [
      'of an unknown version',
      null,
      version('1.30'),
      'spec.kubernetesVersion must be an available version: 1.34.2, 1.33.10, 1.33.4, 1.32.8; or a preview: 1.35.0, 1.33.11.',
    ],
    [
      'of an unknown version of a cluster',
      runs133,
      version('1.34.9'),
      'spec.kubernetesVersion must be an available version: 1.34.2, 1.33.10, 1.33.4; or a preview: 1.33.11.',
    ],
    [
      'of an unknown machine type',
      null,
      withPool({ machineType: 'm5.large' }),
      'spec.nodePools[0].machineType must be an available machine type: cpx31, cpx51.',
    ],
    [
      'of an image that the machine cannot run',
      null,
      withPool({ image: { name: 'flatcar' } }),
      'spec.nodePools[0].image.name must be an available image that cpx31 can run: ubuntu.',
    ],
  ])('%s says what is accepted', (_what, current, desired, detail) => {
    expect(detailOf(current, desired)).toBe(detail);
  });

  it.each<[string, CurrentCluster | null, Partial<ClusterSpec>, (value: string) => Partial<ClusterSpec>]>([
    ['a minor version of previews', null, version('1.35'), version],
    ['an unknown version', null, version('9.9'), version],
    ['an unknown version of a cluster', runs133, version('1.33.7'), version],
    ['a region', null, { region: 'ash' }, (region) => ({ region })],
    ['a machine type', null, withPool({ machineType: 'x' }), (machineType) => withPool({ machineType })],
    ['an image', null, withPool({ image: { name: 'x' } }), (name) => withPool({ image: { name } })],
    [
      'an image version',
      null,
      withPool({ image: { name: 'ubuntu', version: '1' } }),
      (at) => withPool({ image: { name: 'ubuntu', version: at } }),
    ],
  ])('of %s names only values that are accepted', (_what, current, desired, withValue) => {
    const named = detailOf(current, desired)
      .replace(/\.$/, '')
      .replace(/^[^:]*: |^.* must be one of /, '')
      .split(/, |; or a preview: /);

    expect(named.map((value) => [value, detailOf(current, withValue(value))])).toEqual(
      named.map((value) => [value, 'accepted']),
    );
  });
});
