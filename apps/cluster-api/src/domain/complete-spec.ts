import {
  type ClusterNetwork,
  type ClusterSpec,
  type ClusterSpecInput,
  defaultNetwork,
  type NodePoolSpec,
  type NodePoolSpecInput,
} from '@corral/contracts';
import { Problem } from '../problem.js';
import type { ClusterRecord } from './cluster-record.js';
import type { Places } from './places.js';

type Present = Pick<ClusterRecord, 'spec' | 'startedAt'>;

/**
 * Fills in what is absent and has no default: what is fixed by now, and what others look after, stays what it is.
 *
 * @param current the stored cluster, or null for a new one
 * @param places where node pools stand in the body
 * @throws Problem `validation_failed` for what a new cluster or pool needs
 */
export function completeSpec(declared: ClusterSpecInput, current: Present | null, places: Places): ClusterSpec {
  const present = current?.spec ?? null;
  const { connectionRef = present?.connectionRef, region = present?.region } = declared;
  if (connectionRef === undefined || region === undefined) {
    throw missing([
      ...(connectionRef === undefined ? ['/spec/connectionRef'] : []),
      ...(region === undefined ? ['/spec/region'] : []),
    ]);
  }
  const { kubernetesVersion, plan } = declared;
  const fixed = current?.startedAt ? current.spec : null;
  const declaredPools = declared.nodePools?.map((pool, index) =>
    completePool(pool, present?.nodePools.find(({ name }) => name === pool.name) ?? null, places.pool(index)),
  );
  return {
    ...{ connectionRef, region, kubernetesVersion, plan },
    hibernated: declared.hibernated ?? present?.hibernated ?? false,
    controlPlaneHA: declared.controlPlaneHA ?? fixed?.controlPlaneHA ?? false,
    network: completeNetwork(declared.network ?? {}, fixed?.network ?? defaultNetwork),
    nodePools: declaredPools ?? present?.nodePools ?? [],
  };
}

/**
 * Fills in what a declared pool leaves to the one that is there: where its nodes come from, and of adopted servers their type.
 *
 * @throws Problem `validation_failed` for a pool without a machine type
 */
export function completePool(declared: NodePoolSpecInput, present: NodePoolSpec | null, place: string): NodePoolSpec {
  const source = declared.source ?? present?.source ?? 'managed';
  const fixed = present !== null && !isManaged(present) && present.source === source ? present.machineType : undefined;
  const machineType = declared.machineType ?? fixed;
  if (machineType === undefined) throw missing([`${place}/machineType`]);
  const { name, image, minimum, maximum, publicIP } = declared;
  return { name, source, machineType, image, minimum, maximum, publicIP };
}

function completeNetwork(declared: Partial<ClusterNetwork>, present: ClusterNetwork): ClusterNetwork {
  const { nodeCIDR, podCIDR, serviceCIDR, existingNetwork } = { ...present, ...declared };
  return { nodeCIDR, podCIDR, serviceCIDR, ...(existingNetwork === undefined ? {} : { existingNetwork }) };
}

function missing(pointers: readonly string[]): Problem {
  const names = pointers.map((pointer) => pointer.slice(1).replaceAll('/', '.'));
  const errors = pointers.map((pointer) => ({ pointer, message: 'is required' }));
  return new Problem('validation_failed', `${names.join(' and ')} must be set for a new resource.`, { errors });
}

/** The specification with this pool in it: in the place of its namesake, else as the last one. */
export function withPool(spec: ClusterSpec, pool: NodePoolSpec): ClusterSpec {
  const index = spec.nodePools.findIndex(({ name }) => name === pool.name);
  return { ...spec, nodePools: index === -1 ? [...spec.nodePools, pool] : spec.nodePools.with(index, pool) };
}

export function withoutPool(spec: ClusterSpec, name: string): ClusterSpec {
  return { ...spec, nodePools: spec.nodePools.filter((pool) => pool.name !== name) };
}

/** Whether the garden makes the pool's nodes. Those of the others are servers that the team has adopted. */
export const isManaged = ({ source }: Pick<NodePoolSpec, 'source'>): boolean => source === 'managed';

/** Whether the garden would be given any worker: a pool that may not have nodes, or has its own, is left out there. */
export function hasWorkers({ nodePools }: Pick<ClusterSpec, 'nodePools'>): boolean {
  return nodePools.some((pool) => isManaged(pool) && pool.maximum > 0);
}

/** The fewest and the most nodes that there are for a pool. Adopted servers are there whatever the cluster does. */
export function nodeRangeOf(
  pool: Pick<NodePoolSpec, 'source' | 'minimum' | 'maximum'>,
  { hibernated }: Pick<ClusterSpec, 'hibernated'>,
): readonly [fewest: number, most: number] {
  if (!isManaged(pool)) return [pool.maximum, pool.maximum];
  return hibernated ? [0, 0] : [effectiveMinimum(pool), pool.maximum];
}

/** The garden keeps one node wherever there may be any. */
function effectiveMinimum({ minimum, maximum }: Pick<NodePoolSpec, 'minimum' | 'maximum'>): number {
  return maximum > 0 ? Math.max(1, minimum) : 0;
}
