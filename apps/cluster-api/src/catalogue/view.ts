import { type KnownPrices, nodePriceOf, publicAddressPriceOf } from '@corral/cluster-data';
import { type CatalogueBody, clusterLimits, defaultNetwork, nodeCidrs } from '@corral/contracts';
import type { CatalogueVersion, CloudProfile, GardenFeature, MachineType } from '@corral/garden';
import type { ClusterQuotas } from '../app-config.js';
import { isAvailableIn, offeredImageVersions, offeredMachines, offeredVersions } from './rules.js';

export interface CatalogueBodyContext {
  readonly features: ReadonlySet<GardenFeature>;
  readonly quotas: ClusterQuotas;
  /** Resources that the team has. */
  readonly used: { readonly clusters: number; readonly connections: number; readonly adoptedServers: number };
  readonly adoptedServersPerTeam: number;
  /** Null without a connection, and until its prices were first read. */
  readonly prices: KnownPrices | null;
  readonly now: Date;
}

/** Renders what a team may declare now. */
export function catalogueBody(profile: CloudProfile, context: CatalogueBodyContext): CatalogueBody {
  const { features, prices, now } = context;
  return {
    regions: profile.regions.map(({ name, zones }) => ({
      name,
      zones: zones.map((zone) => zone.name),
      publicIPv4: amountsOf(publicAddressPriceOf(name, prices)),
    })),
    kubernetesVersions: offeredVersions(profile, now).map(({ newestOf, ...entry }) => ({
      ...versionOf(entry),
      newestOf,
    })),
    machineTypes: offeredMachines(profile, features).map((machine) => machineOf(machine, profile, prices)),
    images: profile.images.flatMap((image) => {
      const versions = offeredImageVersions(image, now).map(({ architectures, ...entry }) => ({
        ...versionOf(entry),
        architectures,
      }));
      return versions.length === 0 ? [] : [{ name: image.name, versions }];
    }),
    features: [...features].toSorted(),
    network: {
      nodeCIDRs: [...nodeCidrs],
      podCIDR: defaultNetwork.podCIDR,
      serviceCIDR: defaultNetwork.serviceCIDR,
    },
    limits: limitsOf(profile, context),
    currency: prices?.currency ?? null,
    pricedAt: prices?.pricedAt.toISOString() ?? null,
  };
}

function limitsOf(
  { maxNodesTotal }: CloudProfile,
  { quotas, used, adoptedServersPerTeam }: CatalogueBodyContext,
): CatalogueBody['limits'] {
  return {
    clusters: { used: used.clusters, limit: quotas.clustersPerTeam },
    connections: { used: used.connections, limit: clusterLimits.connectionsPerTeam },
    adoptedServers: { used: used.adoptedServers, limit: adoptedServersPerTeam },
    nodePoolsPerCluster: quotas.poolsPerCluster,
    nodesPerCluster: Math.min(quotas.nodesPerCluster, maxNodesTotal ?? Number.POSITIVE_INFINITY),
  };
}

function machineOf(
  machine: MachineType,
  profile: CloudProfile,
  prices: KnownPrices | null,
): CatalogueBody['machineTypes'][number] {
  const memory = parseQuantity(machine.memory);
  return {
    name: machine.name,
    cores: parseQuantity(machine.cpu),
    memoryGiB: memory === null ? null : Math.round((memory / 1024 ** 3) * 100) / 100,
    architecture: machine.architecture,
    regions: profile.regions
      .filter(({ name }) => isAvailableIn(name, machine, profile))
      .map(({ name }) => ({
        name,
        ...amountsOf(nodePriceOf({ source: 'managed', machineType: machine.name, publicIP: false }, name, prices)),
      })),
  };
}

function versionOf({ version, classification, expirationDate }: CatalogueVersion) {
  const supportedUntil = expirationDate === null ? null : new Date(expirationDate).toISOString();
  return { version, classification, supportedUntil };
}

const amountsOf = (price: ReturnType<typeof nodePriceOf>) =>
  price.kind === 'known'
    ? { hourly: price.hourly.toFixed(), monthly: price.monthly.toFixed() }
    : { hourly: null, monthly: null };

const multipliers: Readonly<Record<string, number>> = {
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
};

/**
 * Reads a quantity such as `4`, `500m` or `8Gi`.
 *
 * @returns null when it is none, or is too small or large for a machine
 * @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
export function parseQuantity(quantity: string): number | null {
  const parts = /^(\d{1,15}(?:\.\d{1,9})?)(Ki|Mi|Gi|Ti|m|k|M|G|T)?$/.exec(quantity);
  if (parts === null) return null;
  const [, digits, suffix] = parts;
  return Number(digits) * (suffix === undefined ? 1 : (multipliers[suffix] as number));
}
