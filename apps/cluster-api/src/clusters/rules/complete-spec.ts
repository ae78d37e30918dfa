import { isManaged } from '@corral/cluster-data';
import {
  type ClusterNetwork,
  type ClusterSpec,
  type ClusterSpecInput,
  defaultNetwork,
  InvalidBody,
  type NodePoolSpec,
  type NodePoolSpecInput,
  nodePoolDefaults,
  placeOf,
} from '@corral/contracts';
import type { PoolPointers } from '../../node-pools/rules.js';
import type { ClusterRecord } from '../store.js';

type Present = Pick<ClusterRecord, 'spec'>;

/**
 * Fills in omitted fields: with what the stored cluster has, or the initial value of a new one. Only the fields of a pool that
 * have a default in the specification of the API take it.
 *
 * @param current the stored cluster, or null for a new one
 * @param pointers where node pools are in the body
 * @throws InvalidBody with the required fields that a new cluster or pool lacks
 */
export function completeSpec(declared: ClusterSpecInput, current: Present | null, pointers: PoolPointers): ClusterSpec {
  const present = current?.spec ?? null;
  const { connectionRef = present?.connectionRef, region = present?.region } = declared;
  const presentOf = (name: string) => present?.nodePools.find((pool) => pool.name === name) ?? null;
  const missing = [
    ...(connectionRef === undefined ? [lacking('/spec/connectionRef')] : []),
    ...(region === undefined ? [lacking('/spec/region')] : []),
    ...(declared.nodePools ?? []).flatMap((pool, index) => {
      const before = presentOf(pool.name);
      return machineTypeOf(pool, before) === undefined ? [lacking(`${pointers.pool(index)}/machineType`, before)] : [];
    }),
  ];
  if (connectionRef === undefined || region === undefined || missing.length > 0) throw new InvalidBody(missing);
  const { kubernetesVersion } = declared;
  const declaredPools = declared.nodePools?.map((pool, index) =>
    completePool(pool, presentOf(pool.name), pointers.pool(index)),
  );
  return {
    connectionRef,
    region,
    kubernetesVersion,
    plan: declared.plan ?? present?.plan ?? 'payg',
    hibernated: declared.hibernated ?? present?.hibernated ?? false,
    controlPlaneHA: declared.controlPlaneHA ?? present?.controlPlaneHA ?? false,
    network: completeNetwork(declared.network ?? {}, present?.network ?? defaultNetwork),
    nodePools: declaredPools ?? present?.nodePools ?? [],
  };
}

/**
 * Fills in omitted fields of a declared pool: its source, its image and on adopted servers the machine type from the stored pool,
 * the others with their defaults.
 *
 * @throws InvalidBody for a pool without a machine type
 */
export function completePool(declared: NodePoolSpecInput, present: NodePoolSpec | null, place: string): NodePoolSpec {
  const source = sourceOf(declared, present);
  const machineType = machineTypeOf(declared, present);
  if (machineType === undefined) throw new InvalidBody([lacking(`${place}/machineType`, present)]);
  const { name, image = present?.image ?? {}, minimum, maximum, publicIP } = { ...nodePoolDefaults, ...declared };
  return { name, source, machineType, image, minimum, maximum, publicIP };
}

const sourceOf = ({ source }: NodePoolSpecInput, present: NodePoolSpec | null): NodePoolSpec['source'] =>
  source ?? present?.source ?? 'managed';

function machineTypeOf(declared: NodePoolSpecInput, present: NodePoolSpec | null): string | undefined {
  const isFixed = present !== null && !isManaged(present) && present.source === sourceOf(declared, present);
  return declared.machineType ?? (isFixed ? present.machineType : undefined);
}

function completeNetwork(declared: Partial<ClusterNetwork>, present: ClusterNetwork): ClusterNetwork {
  const { nodeCIDR, podCIDR, serviceCIDR, existingNetwork } = { ...present, ...declared };
  return { nodeCIDR, podCIDR, serviceCIDR, ...(existingNetwork === undefined ? {} : { existingNetwork }) };
}

const lacking = (pointer: string, present: object | null = null) => ({
  name: placeOf(pointer),
  pointer,
  message: present === null ? 'must be set for a new resource' : 'is required',
});
