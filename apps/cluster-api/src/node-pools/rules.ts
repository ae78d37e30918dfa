import { isManaged, type KnownPrices, nodePriceOf } from '@corral/cluster-data';
import { type ClusterSpec, type NodePoolSpec, pointerPart } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import type Big from 'big.js';
import { checkAll, invalidField, Problem, unsupportedByGarden } from '../problem.js';

/** JSON pointers (RFC 6901) to node pools in the body of a request. */
export interface PoolPointers {
  readonly pools: string;
  pool(index: number): string;
  /** The pointer to a field of the cluster itself. Empty in a body without it, which stands for the whole request. */
  cluster(field: 'connectionRef'): string;
}

/** Pointers into the body of a cluster, which lists all pools. */
export const pointersInCluster: PoolPointers = {
  pools: '/spec/nodePools',
  pool: (index) => `/spec/nodePools/${index}`,
  cluster: (field) => `/spec/${field}`,
};

/** Pointers into the body of a single pool. */
export const pointersInPool: PoolPointers = { pools: '/spec', pool: () => '/spec', cluster: () => '' };

/** Pointers of a request without a body. */
export const noPointers: PoolPointers = { pools: '', pool: () => '', cluster: () => '' };

/** Replaces the pool of the same name, or appends the pool. */
export function withPool(spec: ClusterSpec, pool: NodePoolSpec): ClusterSpec {
  const index = spec.nodePools.findIndex(({ name }) => name === pool.name);
  return { ...spec, nodePools: index === -1 ? [...spec.nodePools, pool] : spec.nodePools.with(index, pool) };
}

export function withoutPool(spec: ClusterSpec, name: string): ClusterSpec {
  return { ...spec, nodePools: spec.nodePools.filter((pool) => pool.name !== name) };
}

/**
 * Whether the Shoot would have any worker. Pools on adopted servers and those with a maximum of zero are left out of
 * it.
 */
export function hasWorkers({ nodePools }: ClusterSpec): boolean {
  return nodePools.some((pool) => isManaged(pool) && pool.maximum > 0);
}

/** The sum of the pools' maximums. */
export function nodesMaxOf(pools: ClusterSpec['nodePools']): number {
  return pools.reduce((sum, { maximum }) => sum + maximum, 0);
}

export function findPool({ spec }: { readonly spec: ClusterSpec }, name: string): NodePoolSpec | null {
  return spec.nodePools.find((pool) => pool.name === name) ?? null;
}

const imageMembers = new Set(['name', 'version']);

/**
 * Makes all checks of node pools that need no catalogue.
 *
 * @param current the stored specification, or null for a new cluster
 * @throws Problem `invalid_node_pool`, `immutable_field` or `unsupported_by_garden`, with each invalid field
 */
export function checkPools(
  current: ClusterSpec | null,
  { nodePools }: ClusterSpec,
  { pointers, features }: { readonly pointers: PoolPointers; readonly features: ReadonlySet<GardenFeature> },
): void {
  const firstIndexes = new Map([...nodePools.entries()].reverse().map(([index, { name }]) => [name, index]));
  checkAll(
    [...nodePools.entries()].flatMap(([index, pool]) => {
      const place = pointers.pool(index);
      const present = current?.nodePools.find(({ name }) => name === pool.name) ?? null;
      return [
        () => checkName(pool, firstIndexes.get(pool.name) === index, place),
        () => checkRange(pool, place),
        () => checkSource(present, pool, place, features),
        () => {
          // The rules of a source that the pool cannot get would only confuse.
          if (present !== null && present.source !== pool.source) return;
          if (isManaged(pool)) checkManaged(present, pool, place, features);
          else checkOnServers(present, pool, place);
        },
      ];
    }),
  );
}

function checkName({ name }: NodePoolSpec, isFirst: boolean, place: string): void {
  if (isFirst) return;
  throw invalidField(
    'invalid_node_pool',
    `${place}/name`,
    `is the name of another pool: ${name}. Names must be unique`,
  );
}

function checkRange({ minimum, maximum }: NodePoolSpec, place: string): void {
  if (minimum <= maximum) return;
  throw invalidField('invalid_node_pool', `${place}/minimum`, `must be at most the maximum, ${maximum}`);
}

function checkSource(
  present: NodePoolSpec | null,
  { name, source, maximum }: NodePoolSpec,
  place: string,
  features: ReadonlySet<GardenFeature>,
): void {
  if (present !== null && present.source !== source) {
    throw invalidField(
      'immutable_field',
      `${place}/source`,
      `of the pool ${name} is ${present.source} and cannot change. Add another pool`,
    );
  }
  // An existing pool does not block other changes of the cluster after the garden lost the feature.
  const takesServers = source !== 'managed' && (present === null || maximum > present.maximum);
  if (takesServers && !features.has('adopted-nodes')) {
    throw unsupportedByGarden(
      'adopted-nodes',
      `${place}/source`,
      'must be managed: clusters of this installation do not support adopted nodes. Omit it',
    );
  }
}

/** Rules for pools on adopted servers. */
function checkOnServers(present: NodePoolSpec | null, pool: NodePoolSpec, place: string): void {
  const { name, source, machineType, image, minimum, maximum, publicIP } = pool;
  checkAll([
    () => {
      if (present === null || present.machineType === machineType) return;
      throw invalidField(
        'immutable_field',
        `${place}/machineType`,
        `of the pool ${name} is ${present.machineType} and cannot change. Add another pool`,
      );
    },
    () => {
      if (Object.keys(image).length === 0) return;
      throw invalidField(
        'unsupported_by_garden',
        `${place}/image`,
        'must be empty: adopted servers are rebuilt with the image of this installation. Omit it',
      );
    },
    () => {
      if (publicIP) return;
      throw invalidField(
        'unsupported_by_garden',
        `${place}/publicIP`,
        'must be true: adopted servers keep their addresses',
      );
    },
    () => {
      // A minimum above the maximum is refused already.
      if (source === 'pooled' || minimum >= maximum) return;
      throw invalidField(
        'invalid_node_pool',
        `${place}/minimum`,
        `must be the maximum, ${maximum}: a pool of ${source} servers has a fixed size`,
      );
    },
  ]);
}

/** Rules for pools whose nodes the garden creates. Existing values do not block other changes here either. */
function checkManaged(
  present: NodePoolSpec | null,
  pool: NodePoolSpec,
  place: string,
  features: ReadonlySet<GardenFeature>,
): void {
  const image = Object.entries(pool.image as Record<string, unknown>);
  checkAll([
    () => {
      if (pool.publicIP || present?.publicIP === false || features.has('private-nodes')) return;
      throw unsupportedByGarden(
        'private-nodes',
        `${place}/publicIP`,
        'must be true: every node of this installation has a public address. Omit it',
      );
    },
    ...image.map(([member, value]) => () => {
      const isThere = (present?.image as Record<string, unknown> | undefined)?.[member] === value;
      checkImageMember(member, value, { pointer: imagePlace(place, member), isThere, features });
    }),
    () => {
      const [first] = image;
      if (first === undefined || 'name' in pool.image) return;
      throw invalidField('invalid_node_pool', imagePlace(place, first[0]), 'requires the name as well');
    },
  ]);
}

function checkImageMember(
  member: string,
  value: unknown,
  {
    pointer,
    isThere,
    features,
  }: { readonly pointer: string; readonly isThere: boolean; readonly features: ReadonlySet<GardenFeature> },
): void {
  if (imageMembers.has(member)) {
    if (typeof value === 'string' && value !== '' && value.length <= 100) return;
    throw invalidField('invalid_node_pool', pointer, 'must be a string of 1 to 100 characters');
  }
  if (isThere || features.has('image-options')) return;
  throw unsupportedByGarden(
    'image-options',
    pointer,
    'is not supported here. An image has a name and a version. Omit it',
  );
}

const imagePlace = (place: string, member: string): string => `${place}/image/${pointerPart(member)}`;

/**
 * Checks that a started cluster keeps workers: the garden cannot turn a cluster with workers into one without.
 *
 * @param current the stored specification. Its pools keep their sources, whatever is desired
 * @throws Problem `last_node_pool`
 */
export function checkLastPool(current: ClusterSpec, desired: ClusterSpec, { pools }: PoolPointers): void {
  const sourceOf = (pool: NodePoolSpec) => current.nodePools.find(({ name }) => name === pool.name)?.source;
  const nodePools = desired.nodePools.map((pool) => ({ ...pool, source: sourceOf(pool) ?? pool.source }));
  if (hasWorkers({ ...desired, nodePools })) return;
  const detail =
    'A started cluster needs at least one managed node pool with a maximum above zero. Hibernate or delete the ' +
    'cluster instead.';
  const message = 'would leave the started cluster without a managed node pool with a maximum above zero';
  throw new Problem('last_node_pool', detail, { errors: [{ pointer: pools, message, detail }] });
}

/** Priority of pools on adopted servers. These nodes exist anyway, so they are used before any are bought. */
const OWN = 100;
/** Highest priority of a managed pool. Stays below `OWN`. */
const MANAGED_MAX = 99;

/**
 * Returns the autoscaler priority of each pool by name. Pools with higher priorities grow first. Pools on adopted
 * servers come first. The priority of a managed pool is the number of distinct higher prices, so pools with equal
 * prices share one. A pool with an unknown price ranks as the most expensive.
 *
 * Priorities are computed with each accepted change and then stored. Later price changes do not affect a cluster.
 */
export function autoscalerPriorities(
  { nodePools, region }: ClusterSpec,
  prices: KnownPrices | null,
): ReadonlyMap<string, number> {
  const priced = nodePools
    .filter(({ source }) => source === 'managed')
    .map((pool) => ({ name: pool.name, price: hourlyOf(nodePriceOf(pool, region, prices)) }));
  const ladder = descending(priced.flatMap(({ price }) => (price === null ? [] : [price])));
  const rankOf = (price: Big | null): number =>
    price === null ? 0 : Math.min(MANAGED_MAX, ladder.filter((other) => other.gt(price)).length);
  const managed = new Map(priced.map(({ name, price }) => [name, rankOf(price)]));
  return new Map(nodePools.map(({ name }) => [name, managed.get(name) ?? OWN]));
}

const hourlyOf = (price: ReturnType<typeof nodePriceOf>): Big | null => (price.kind === 'known' ? price.hourly : null);

/** Distinct prices, highest first. */
function descending(prices: readonly Big[]): Big[] {
  return [...prices]
    .sort((one, other) => other.cmp(one))
    .filter((price, at, all) => at === 0 || !price.eq(all[at - 1] as Big));
}
