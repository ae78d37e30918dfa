import { isDeepStrictEqual } from 'node:util';
import type { Cluster, ClusterSpec } from '@corral/contracts';

/** The fields of a Shoot that are read from the garden. */
export interface HeldShoot {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: single tests read it
  readonly status?: any;
  readonly spec: {
    readonly region: string;
    readonly kubernetes: { readonly version: string };
    readonly hibernation?: { readonly enabled?: boolean };
    readonly networking: { readonly nodes: string; readonly pods: string; readonly services: string };
    readonly controlPlane?: { readonly highAvailability?: object };
    readonly provider: { readonly workers: readonly HeldWorker[] };
  };
}

interface HeldWorker {
  readonly priority?: number;
  readonly name: string;
  readonly minimum: number;
  readonly maximum: number;
  readonly machine: { readonly type: string };
  readonly labels?: Readonly<Record<string, string>>;
}

const CLUSTER_ID = 'corral.dev/cluster-id';
const POOL = 'corral.dev/pool';

export const clusterIdOf = ({ metadata }: Pick<HeldShoot, 'metadata'>): string | undefined =>
  metadata.labels?.[CLUSTER_ID];

/** Whether a cluster must have a Shoot: a cluster that never had a pool with nodes is a draft. */
export const isStarted = ({ status }: Cluster): boolean => status.phase !== 'Draft';

/**
 * The garden holds one Shoot for each cluster and no other, and each Shoot equals its declaration. This is written from
 * the specification, independently of the code that renders Shoots.
 */
export function findShootDifferences(clusters: readonly Cluster[], shoots: readonly HeldShoot[]): string[] {
  const started = clusters.filter(isStarted);
  const declared = new Set(started.map(({ metadata }) => metadata.id));
  return [
    ...shoots
      .filter((shoot) => !declared.has(clusterIdOf(shoot) ?? ''))
      .map(({ metadata }) => `Shoot ${metadata.name} belongs to no cluster`),
    ...started.flatMap((cluster) => {
      const { name, id } = cluster.metadata;
      const own = shoots.filter((shoot) => clusterIdOf(shoot) === id);
      if (own.length !== 1) return [`cluster ${name} (${id}) has ${own.length} Shoots`];
      return differencesOf(cluster, own[0] as HeldShoot);
    }),
  ];
}

function differencesOf({ metadata, spec }: Cluster, shoot: HeldShoot): string[] {
  const [wanted, held] = [wantedFacts(spec as ClusterSpec), heldFacts(shoot)];
  const isVersion = shoot.spec.kubernetes.version === spec.kubernetesVersion;
  return [
    ...(Object.keys(wanted) as (keyof typeof wanted)[])
      .filter((fact) => !isDeepStrictEqual(wanted[fact], held[fact]))
      .map(
        (fact) =>
          `${fact} of cluster ${metadata.name} (${metadata.id}) is ${JSON.stringify(held[fact])} on the garden, ` +
          `but ${JSON.stringify(wanted[fact])} was declared`,
      ),
    ...(isVersion || shoot.spec.kubernetes.version.startsWith(`${spec.kubernetesVersion}.`)
      ? []
      : [`cluster ${metadata.name} runs ${shoot.spec.kubernetes.version}, not ${spec.kubernetesVersion}`]),
  ];
}

function wantedFacts({ region, hibernated, controlPlaneHA, network, nodePools }: ClusterSpec) {
  return {
    region,
    hibernated,
    isHighlyAvailable: controlPlaneHA,
    networks: [network.nodeCIDR, network.podCIDR, network.serviceCIDR],
    // The provider keeps at least one node of a pool that may have any. A pool that may not have nodes is not a worker.
    pools: Object.fromEntries(
      nodePools
        .filter(({ maximum }) => maximum > 0)
        .map(({ name, machineType, minimum, maximum }) => [name, [machineType, Math.max(1, minimum), maximum]]),
    ),
  };
}

function heldFacts({ spec }: HeldShoot): ReturnType<typeof wantedFacts> {
  const { nodes, pods, services } = spec.networking;
  return {
    region: spec.region,
    hibernated: spec.hibernation?.enabled ?? false,
    isHighlyAvailable: spec.controlPlane?.highAvailability !== undefined,
    networks: [nodes, pods, services],
    pools: Object.fromEntries(
      spec.provider.workers.map(({ name, labels, machine, minimum, maximum }) => [
        labels?.[POOL] ?? `without a name: ${name}`,
        [machine.type, minimum, maximum],
      ]),
    ),
  };
}

/** One Shoot, from its creation to its deletion. Two Shoots with the same name count as two. */
export interface ShootLife {
  readonly name: string;
  readonly uid: string;
}

/**
 * No cluster ever got a second Shoot, not even after it lost its first.
 *
 * @param names the Shoot names of all clusters that ever existed
 */
export function findDoubleCreations(lives: readonly ShootLife[], names: ReadonlySet<string>): string[] {
  return [
    ...[...Map.groupBy(lives, ({ name }) => name)]
      .filter(([, same]) => same.length > 1)
      .map(([name, same]) => `Shoot ${name} was made ${same.length} times`),
    ...lives.filter(({ name }) => !names.has(name)).map(({ name }) => `Shoot ${name} was made for no cluster`),
  ];
}
