import {
  type ClusterNetwork,
  type ClusterSpec,
  type ClusterSpecInput,
  defaultNetwork,
  type NodePoolSpec,
  type NodePoolSpecInput,
} from '@corral/contracts';
import { isManaged, type PoolPointers } from '../../node-pools/pool-spec.js';
import { Problem } from '../../problem.js';
import type { ClusterRecord } from '../record.js';

type Present = Pick<ClusterRecord, 'spec' | 'startedAt'>;

/**
 * Fills in omitted fields: from the stored cluster where it has a value to keep, else with the default.
 * `controlPlaneHA` and `network` are kept from the start of the cluster on.
 *
 * @param current the stored cluster, or null for a new one
 * @param pointers where node pools are in the body
 * @throws Problem `validation_failed` when a new cluster or pool lacks a required field
 */
export function completeSpec(declared: ClusterSpecInput, current: Present | null, pointers: PoolPointers): ClusterSpec {
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
    completePool(pool, present?.nodePools.find(({ name }) => name === pool.name) ?? null, pointers.pool(index)),
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
