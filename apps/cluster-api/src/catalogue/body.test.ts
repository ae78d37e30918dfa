import { aPriceList } from '@corral/cluster-data/testing';
import type { CatalogueBody } from '@corral/contracts';
import type { CloudProfile, GardenFeature } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import { aCatalogue, aClusterSpec, aPool, NOW, quotas } from '../../test/support/a-cluster.js';
import { refusalOf } from '../../test/support/refusal.js';
import { pointersInCluster } from '../node-pools/pool-spec.js';
import { type CatalogueBodyContext, catalogueBody, parseQuantity } from './body.js';
import { checkCatalogue } from './catalogue-rules.js';

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

  it('shows until when a version is supported', () => {
    const old = bodyOf().kubernetesVersions.find(({ version }) => version === '1.32.8');

    expect(old).toMatchObject({ classification: 'deprecated', supportedUntil: '2027-02-01T00:00:00.000Z' });
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

  it('has no prices without a price list', () => {
    const { currency, pricedAt, regions, machineTypes } = bodyOf();

    expect([currency, pricedAt]).toEqual([null, null]);
    expect(regions[0]?.publicIPv4).toEqual({ hourly: null, monthly: null });
    expect(machineTypes[0]?.regions[0]).toEqual({ name: 'hel1', hourly: null, monthly: null });
  });

  it('omits images whose versions have all expired', () => {
    const images = aCatalogue().images.map((image) => ({ ...image, versions: image.versions.slice(0, 1) }));

    expect(bodyOf({}, aCatalogue({ images })).images.map(({ name }) => name)).toEqual(['flatcar']);
  });

  it('shows the lower of the quota and the garden’s limit as the maximum number of nodes', () => {
    const nodesOf = (maxNodesTotal: number | null) => bodyOf({}, aCatalogue({ maxNodesTotal })).limits.nodesPerCluster;

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
