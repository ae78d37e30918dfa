import { createHash } from 'node:crypto';
import {
  type ClusterNetwork,
  type ClusterSpec,
  type ClusterSpecInput,
  defaultNetwork,
  type NodePoolSpec,
  type NodePoolSpecInput,
} from '@corral/contracts';
import canonicalize from 'canonicalize';
import { Problem } from '../problem.js';
import type { ClusterRecord } from './record.js';
import type { Places } from './refusals.js';

type Present = Pick<ClusterRecord, 'spec' | 'startedAt'>;

/**
 * Fills in omitted fields: from the stored cluster where it has a value to keep, else with the default.
 * `controlPlaneHA` and `network` are kept from the start of the cluster on.
 *
 * @param current the stored cluster, or null for a new one
 * @param places where node pools are in the body
 * @throws Problem `validation_failed` when a new cluster or pool lacks a required field
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
    connectionRef,
    region,
    kubernetesVersion,
    plan,
    hibernated: declared.hibernated ?? present?.hibernated ?? false,
    controlPlaneHA: declared.controlPlaneHA ?? fixed?.controlPlaneHA ?? false,
    network: completeNetwork(declared.network ?? {}, fixed?.network ?? defaultNetwork),
    nodePools: declaredPools ?? present?.nodePools ?? [],
  };
}

/**
 * Fills in omitted fields of a declared pool from the stored one: its source, and on adopted servers the machine type.
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

/** Replaces the pool of the same name, or appends the pool. */
export function withPool(spec: ClusterSpec, pool: NodePoolSpec): ClusterSpec {
  const index = spec.nodePools.findIndex(({ name }) => name === pool.name);
  return { ...spec, nodePools: index === -1 ? [...spec.nodePools, pool] : spec.nodePools.with(index, pool) };
}

export function withoutPool(spec: ClusterSpec, name: string): ClusterSpec {
  return { ...spec, nodePools: spec.nodePools.filter((pool) => pool.name !== name) };
}

/** Whether the garden creates the pool's nodes. Other pools consist of servers that the team adopted. */
export const isManaged = ({ source }: Pick<NodePoolSpec, 'source'>): boolean => source === 'managed';

/**
 * Whether the Shoot would have any worker. Pools on adopted servers and those with a maximum of zero are left out of
 * it.
 */
export function hasWorkers({ nodePools }: Pick<ClusterSpec, 'nodePools'>): boolean {
  return nodePools.some((pool) => isManaged(pool) && pool.maximum > 0);
}

/** The lowest and highest number of nodes of a pool. Adopted servers exist even while the cluster is hibernated. */
export function nodeRangeOf(
  pool: Pick<NodePoolSpec, 'source' | 'minimum' | 'maximum'>,
  { hibernated }: Pick<ClusterSpec, 'hibernated'>,
): readonly [fewest: number, most: number] {
  if (!isManaged(pool)) return [pool.maximum, pool.maximum];
  return hibernated ? [0, 0] : [effectiveMinimum(pool), pool.maximum];
}

/** The garden keeps at least one node in a pool whose maximum is above zero. */
function effectiveMinimum({ minimum, maximum }: Pick<NodePoolSpec, 'minimum' | 'maximum'>): number {
  return maximum > 0 ? Math.max(1, minimum) : 0;
}

/**
 * Hashes a specification by content. The order of object members does not matter. The order of node pools does, because
 * it is part of what the client declared.
 *
 * @param spec complete, after defaults
 * @returns `sha256:` and the hex digest of the canonical JSON (RFC 8785)
 */
export function desiredHashOf(spec: object): string {
  // `canonicalize` returns `undefined` only for values that JSON cannot represent.
  const canonical = canonicalize(spec) as string;
  return `sha256:${createHash('sha256').update(canonical).digest('hex')}`;
}
