import { aPriceList } from '@corral/cluster-data/testing';
import type { CatalogueBody, ClusterSpec, NodePoolSpec } from '@corral/contracts';
import type { CloudProfile, GardenFeature } from '@corral/garden';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { aCatalogue, aCluster, aClusterSpec, aPool, NOW, quotas } from '../../test/support/a-cluster.js';
import { refusalOf } from '../../test/support/refusal.js';
import type { ClusterRecord } from '../clusters/store.js';
import { pointersInCluster } from '../node-pools/rules.js';
import type { Problem } from '../problem.js';
import { cachedCatalogue } from './cached-catalogue.js';
import { type CatalogueContext, checkCatalogue, needsCatalogue, resolveVersion, upgradeObstacle } from './rules.js';
import { type CatalogueBodyContext, catalogueBody, parseQuantity } from './view.js';

describe('rules of the catalogue', () => {
  const context = (more: Partial<CatalogueContext> = {}): CatalogueContext => ({
    catalogue: aCatalogue(),
    features: new Set(),
    pointers: pointersInCluster,
    now: NOW,
    ...more,
  });
  const started = (spec: Partial<ClusterSpec> = {}, more: Partial<ClusterRecord> = {}) =>
    aCluster({ spec: aClusterSpec(spec), ...more });
  const aDraft = aCluster({ spec: aClusterSpec({ nodePools: [] }), startedAt: null, pinnedVersion: null });
  const refused = (
    current: ClusterRecord | null,
    desired: Partial<ClusterSpec>,
    more: Partial<CatalogueContext> = {},
  ) => refusalOf(() => checkCatalogue(current, aClusterSpec(desired), context(more)));
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

    it.each<[string, ClusterRecord | null, Partial<ClusterSpec>, boolean]>([
      ['a new cluster', null, {}, true],
      ['a new draft', null, { nodePools: [] }, true],
      ['another version', started(), { kubernetesVersion: '1.34' }, true],
      ['another pool', started(), { nodePools: [aPool(), aPool({ name: 'b' })] }, true],
      ['another image', started(), withPool({ image: { name: 'ubuntu' } }), true],
      ['more nodes', started(), withPool({ maximum: 4 }), true],
      ['a draft that starts', aDraft, {}, true],
      ['the minor version of the present patch', started(), { kubernetesVersion: '1.33' }, false],
      ['fewer nodes', started(), withPool({ maximum: 2 }), false],
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
    ])('reject an unavailable %s', (_what, desired, code, field) => {
      expect(refused(null, desired)).toEqual([code, `/spec/${field}`]);
    });

    it.each<[string, Partial<NodePoolSpec>, string, string]>([
      ['machine type', { machineType: 'm5.large' }, 'invalid_node_pool', 'machineType'],
      ['machine type (retired)', { machineType: 'cx11' }, 'invalid_node_pool', 'machineType'],
      ['machine type (in this region)', { machineType: 'ccx13' }, 'invalid_node_pool', 'machineType'],
      ['architecture', { machineType: 'cax21' }, 'unsupported_by_garden', 'machineType'],
      ['image', { image: { name: 'arch' } }, 'invalid_node_pool', 'image/name'],
      ['image version', { image: { name: 'ubuntu', version: '18.4.0' } }, 'invalid_node_pool', 'image/version'],
      ['image version (expired)', { image: expired }, 'invalid_node_pool', 'image/version'],
      ['image (for this architecture)', { image: { name: 'flatcar' } }, 'invalid_node_pool', 'image/name'],
    ])('reject an unavailable %s of a pool', (_what, pool, code, field) => {
      expect(refused(null, withPool(pool))).toEqual([code, `/spec/nodePools/0/${field}`]);
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
    const detailOf = (current: ClusterRecord | null, desired: Partial<ClusterSpec>): string => {
      try {
        checkCatalogue(current, aClusterSpec(desired), context());
        return 'accepted';
      } catch (error) {
        return (error as Problem).detail;
      }
    };
    const version = (kubernetesVersion: string) => ({ kubernetesVersion });
    const runs133 = started({ kubernetesVersion: '1.33.4' });

    it.each<[string, ClusterRecord | null, Partial<ClusterSpec>, (value: string) => Partial<ClusterSpec>]>([
      ['a minor version of previews', null, version('1.35'), version],
      ['an unknown version', null, version('9.9'), version],
      ['an unknown version of a cluster', runs133, version('1.33.7'), version],
      ['a region', null, { region: 'ash' }, (region) => ({ region })],
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
});

describe('the catalogue as clients see it', () => {
  const bodyOf = (more: Partial<CatalogueBodyContext> = {}, profile: CloudProfile = aCatalogue()): CatalogueBody =>
    catalogueBody(profile, {
      features: new Set(),
      quotas,
      used: { clusters: 2, connections: 1, adoptedServers: 0 },
      adoptedServersPerTeam: 50,
      prices: null,
      now: NOW,
      ...more,
    });

  describe('the catalogue', () => {
    it('lists usable versions newest first, with the minor version that stands for each', () => {
      const versions = bodyOf().kubernetesVersions.map(({ version, newestOf }) => [version, newestOf]);

      expect(versions).toEqual([
        ['1.35.0', null],
        ['1.34.2', '1.34'],
        ['1.33.11', null],
        ['1.33.10', '1.33'],
        ['1.33.4', null],
        ['1.32.8', '1.32'],
      ]);
    });

    it('lists a machine type in the regions that offer it, with the price of a node without its address', () => {
      const prices = aPriceList();
      const { machineTypes, regions } = bodyOf({ prices });

      expect(machineTypes.find(({ name }) => name === 'cpx31')).toEqual({
        name: 'cpx31',
        cores: 4,
        memoryGiB: 8,
        architecture: 'amd64',
        regions: [
          { name: 'hel1', hourly: '0.021', monthly: '13.1' },
          { name: 'fsn1', hourly: null, monthly: null },
        ],
      });
      expect(machineTypes.find(({ name }) => name === 'ccx13')?.regions.map(({ name }) => name)).toEqual(['fsn1']);
      expect(regions[0]).toEqual({
        name: 'hel1',
        zones: ['hel1-dc2'],
        publicIPv4: { hourly: '0.0008', monthly: '0.5' },
      });
    });

    it('shows until when a version is supported', () => {
      const old = bodyOf().kubernetesVersions.find(({ version }) => version === '1.32.8');

      expect(old).toMatchObject({ classification: 'deprecated', supportedUntil: '2027-02-01T00:00:00.000Z' });
    });

    it('omits images whose versions have all expired', () => {
      const images = aCatalogue().images.map((image) => ({ ...image, versions: image.versions.slice(0, 1) }));

      expect(bodyOf({}, aCatalogue({ images })).images.map(({ name }) => name)).toEqual(['flatcar']);
    });

    it('shows the lower of the quota and the garden’s limit as the maximum number of nodes', () => {
      const nodesOf = (maxNodesTotal: number | null) =>
        bodyOf({}, aCatalogue({ maxNodesTotal })).limits.nodesPerCluster;

      expect([nodesOf(null), nodesOf(7), nodesOf(500)]).toEqual([100, 7, 100]);
    });

    it.each<[string, GardenFeature[]]>([
      ['no optional features', []],
      ['arm64', ['arm64']],
    ])('offers exactly what a declaration accepts, with %s', (_what, list) => {
      const catalogue = aCatalogue();
      const features = new Set(list);
      const offered = bodyOf({ features });
      const versions = ['1.31', '1.35', '9.9', ...catalogue.kubernetesVersions.map(({ version }) => version)];
      const mistakes: string[] = [];
      for (const choice of choicesOf(catalogue, versions)) {
        const refusal = refusalOf(() =>
          checkCatalogue(null, specOf(choice), { catalogue, features, pointers: pointersInCluster, now: NOW }),
        );
        if ((refusal === null) !== isOffered(offered, choice)) mistakes.push(JSON.stringify({ choice, refusal }));
      }

      expect(mistakes).toEqual([]);
    });
  });

  interface Choice {
    readonly region: string;
    readonly version: string;
    readonly machineType: string;
    readonly image: string;
    readonly imageVersion: string;
  }

  /** Every combination of what the garden lists, and of names that it does not list. */
  function* choicesOf(
    { regions, machineTypes, images }: CloudProfile,
    versions: readonly string[],
  ): Generator<Choice, void> {
    for (const region of [...regions.map(({ name }) => name), 'ash'])
      for (const version of versions)
        for (const machineType of [...machineTypes.map(({ name }) => name), 'm5.large'])
          for (const image of [...images.map(({ name }) => name), 'arch'])
            for (const imageVersion of [...images.flatMap((each) => each.versions.map((one) => one.version)), '1.0.0'])
              yield { region, version, machineType, image, imageVersion };
  }

  const specOf = ({ region, version, machineType, image, imageVersion }: Choice) =>
    aClusterSpec({
      region,
      kubernetesVersion: version,
      nodePools: [aPool({ machineType, image: { name: image, version: imageVersion } })],
    });

  /** Whether a form that only knows the catalogue can make this choice. */
  function isOffered(
    { regions, kubernetesVersions, machineTypes, images }: CatalogueBody,
    { region, version, machineType, image, imageVersion }: Choice,
  ): boolean {
    const machine = machineTypes.find(({ name }) => name === machineType);
    return (
      regions.some(({ name }) => name === region) &&
      kubernetesVersions.some((each) => each.version === version || each.newestOf === version) &&
      machine?.regions.some(({ name }) => name === region) === true &&
      images.some(
        ({ name, versions }) =>
          name === image &&
          versions.some((each) => each.version === imageVersion && each.architectures.includes(machine.architecture)),
      )
    );
  }

  describe('a quantity', () => {
    it.each([
      ['4', 4],
      ['500m', 0.5],
      ['8Gi', 8 * 1024 ** 3],
      ['8G', 8e9],
      ['16384Mi', 16 * 1024 ** 3],
      ['1.5Gi', 1.5 * 1024 ** 3],
      ['', null],
      ['Gi', null],
      ['-1', null],
      ['8 Gi', null],
    ])('%j is read as %p', (text, number) => {
      expect(parseQuantity(text)).toBe(number);
    });
  });
});

describe('the cached catalogue', () => {
  let now: number;
  let random: number;
  let reads: number;
  let isAway: boolean;
  let errors: unknown[];
  let catalogue: ReturnType<typeof cachedCatalogue>;
  const nameNow = async () => (await catalogue.get()).profile?.name;

  beforeEach(() => {
    [now, random, reads, isAway, errors] = [1_000_000, 1, 0, false, []];
    catalogue = cachedCatalogue({
      async read() {
        reads += 1;
        if (isAway) throw new Error('away');
        return aCatalogue({ name: `read ${reads}` });
      },
      now: () => now,
      random: () => random,
      onReadError: (error) => errors.push(error),
    });
  });

  it('is kept for a minute', async () => {
    await catalogue.get();

    now += 59_999;
    expect(await nameNow()).toBe('read 1');
    now += 1;
    expect(await nameNow()).toBe('read 2');
  });

  it('stays in use while the garden is unreachable, and is not requested again immediately', async () => {
    await catalogue.get();
    isAway = true;
    now += 3_600_000;

    expect([await nameNow(), await nameNow(), reads]).toEqual(['read 1', 'read 1', 2]);
    expect(errors).toHaveLength(1);

    now += 2_000;
    isAway = false;
    expect(await nameNow()).toBe('read 3');
  });

  it('is a problem with Retry-After until the first successful read', async () => {
    isAway = true;
    const { profile, problem } = await catalogue.get();

    expect([profile, problem?.code, problem?.retryAfterSeconds]).toEqual([null, 'upstream_unavailable', 2]);
    now += 1_500;
    expect((await catalogue.get()).problem?.retryAfterSeconds).toBe(1);
    expect(reads).toBe(1);
  });
});

describe('versions of Kubernetes', () => {
  const { kubernetesVersions } = aCatalogue();

  describe('a declared version', () => {
    it.each<[string, string | null, string]>([
      ['1.33', '1.33.10', 'the newest patch in numeric order that is not a preview'],
      ['1.33.4', '1.33.4', 'itself'],
      ['1.32', '1.32.8', 'a deprecated version that has not expired'],
      ['1.35.0', '1.35.0', 'a preview named in full'],
      ['1.35', null, 'nothing when all patches are previews'],
      ['1.31', null, 'nothing when all patches have expired'],
      ['1.31.9', null, 'nothing when it has expired'],
      ['1.3', null, 'nothing, although 1.31 starts with the same text'],
      ['1.33.1', null, 'nothing, although 1.33.10 starts with the same text'],
      ['9.9', null, 'nothing when it is unknown'],
    ])('%s resolves to %s: %s', (declared, resolved, _why) => {
      expect(resolveVersion(declared, kubernetesVersions, NOW)).toBe(resolved);
    });
  });

  describe('a change of version', () => {
    it.each([
      ['1.33.4', '1.33.4', null],
      ['1.33.4', '1.33.10', null],
      ['1.33.4', '1.34.2', null],
      ['1.33.10', '1.33.4', /downgrades are not supported/],
      ['1.34.0', '1.33.10', /downgrades are not supported/],
      ['1.33.4', '1.35.0', /one minor version at a time/],
      ['1.33.4', '2.0.0', /one minor version at a time/],
    ])('%s to %s', (from, to, obstacle) => {
      if (obstacle === null) expect(upgradeObstacle(from, to)).toBeNull();
      else expect(upgradeObstacle(from, to)).toMatch(obstacle);
    });
  });
});
