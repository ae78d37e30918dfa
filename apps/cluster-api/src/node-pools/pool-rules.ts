import type { ClusterSpec, NodePoolSpec } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import { invalidField, Problem, unsupportedByGarden } from '../problem.js';
import { hasWorkers, isManaged, type PoolPointers } from './pool-spec.js';

const imageMembers = new Set(['name', 'version']);

/**
 * Makes all checks of node pools that need no catalogue.
 *
 * @param current the stored specification, or null for a new cluster
 * @throws Problem `invalid_node_pool`, `immutable_field` or `unsupported_by_garden`, with a pointer
 */
export function checkPools(
  current: ClusterSpec | null,
  { nodePools }: ClusterSpec,
  { pointers, features }: { readonly pointers: PoolPointers; readonly features: ReadonlySet<GardenFeature> },
): void {
  const names = new Set<string>();
  for (const [index, pool] of nodePools.entries()) {
    const place = pointers.pool(index);
    if (names.has(pool.name)) {
      throw invalidField(
        'invalid_node_pool',
        `${place}/name`,
        `is the name of another pool: ${pool.name}. Names must be unique`,
      );
    }
    names.add(pool.name);
    if (pool.minimum > pool.maximum) {
      throw invalidField('invalid_node_pool', `${place}/minimum`, `must be at most the maximum, ${pool.maximum}`);
    }
    const present = current?.nodePools.find(({ name }) => name === pool.name) ?? null;
    checkSource(present, pool, place, features);
    if (isManaged(pool)) checkManaged(present, pool, place, features);
    else checkOnServers(present, pool, place);
  }
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
  if (present !== null && present.machineType !== machineType) {
    throw invalidField(
      'immutable_field',
      `${place}/machineType`,
      `of the pool ${name} is ${present.machineType} and cannot change. Add another pool`,
    );
  }
  if (Object.keys(image).length > 0) {
    throw invalidField(
      'unsupported_by_garden',
      `${place}/image`,
      'must be empty: adopted servers are rebuilt with the image of this installation. Omit it',
    );
  }
  if (!publicIP) {
    throw invalidField(
      'unsupported_by_garden',
      `${place}/publicIP`,
      'must be true: adopted servers keep their addresses',
    );
  }
  if (source !== 'pooled' && minimum !== maximum) {
    throw invalidField(
      'invalid_node_pool',
      `${place}/minimum`,
      `must be the maximum, ${maximum}: a pool of ${source} servers has a fixed size`,
    );
  }
}

/** Rules for pools whose nodes the garden creates. Existing values do not block other changes here either. */
function checkManaged(
  present: NodePoolSpec | null,
  pool: NodePoolSpec,
  place: string,
  features: ReadonlySet<GardenFeature>,
): void {
  if (!pool.publicIP && present?.publicIP !== false && !features.has('private-nodes')) {
    throw unsupportedByGarden(
      'private-nodes',
      `${place}/publicIP`,
      'must be true: every node of this installation has a public address. Omit it',
    );
  }
  const image = Object.entries(pool.image as Record<string, unknown>);
  for (const [member, value] of image) {
    const pointer = imagePlace(place, member);
    if (!imageMembers.has(member)) {
      const isThere = (present?.image as Record<string, unknown> | undefined)?.[member] === value;
      if (isThere || features.has('image-options')) continue;
      throw unsupportedByGarden(
        'image-options',
        pointer,
        'is not supported here. An image has a name and a version. Omit it',
      );
    }
    if (typeof value !== 'string' || value === '' || value.length > 100) {
      throw invalidField('invalid_node_pool', pointer, 'must be a string of 1 to 100 characters');
    }
  }
  const [first] = image;
  if (first !== undefined && !('name' in pool.image)) {
    throw invalidField('invalid_node_pool', imagePlace(place, first[0]), 'requires the name as well');
  }
}

const imagePlace = (place: string, member: string): string =>
  `${place}/image/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`;

/**
 * Checks that a started cluster keeps workers: the garden cannot turn a cluster with workers into one without.
 *
 * @throws Problem `last_node_pool`
 */
export function checkLastPool(spec: ClusterSpec): void {
  if (hasWorkers(spec)) return;
  throw new Problem(
    'last_node_pool',
    'A started cluster needs at least one managed node pool with a maximum above zero. Hibernate or delete the ' +
      'cluster instead.',
  );
}
