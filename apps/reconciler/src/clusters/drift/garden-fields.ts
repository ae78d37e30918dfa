import type { Desired } from '../model.js';
import { renderedPools } from '../render.js';

/** The API field that a field of the Shoot was rendered from. */
export interface ApiField {
  /** JSON pointer into the body of a PUT, e.g. `/spec/nodePools/0/machineType`. */
  readonly pointer: string;
  /** Name for messages, e.g. `machineType of node pool general`. */
  readonly name: string;
}

/**
 * Finds the API field behind a field of the Shoot.
 *
 * @param path as the garden writes it: `spec.provider.workers[0].machine.type` when it refuses a field,
 *   `.spec.provider.workers[name="p1a2b3"].machine.type` when another manager owns one
 * @returns null for a field that teams do not declare
 */
export function apiFieldOf(path: string, desired: Desired): ApiField | null {
  const field = path.replace(/^\./, '');
  const worker = /^spec\.provider\.workers\[(?:(\d+)|name="([^"]+)")\]\.?(.*)$/.exec(field);
  if (worker !== null) return poolField(desired, worker[1], worker[2], worker[3] ?? '');
  const found = clusterFields.find(([prefix]) => field === prefix || field.startsWith(`${prefix}.`));
  return found === undefined ? null : { pointer: `/spec/${found[1]}`, name: found[1].replaceAll('/', '.') };
}

/** Names a field that has no counterpart in the API. */
export function ownField(path: string): ApiField {
  return { pointer: '', name: path.replace(/^\./, '') };
}

const clusterFields: readonly (readonly [string, string])[] = [
  ['spec.kubernetes', 'kubernetesVersion'],
  ['spec.region', 'region'],
  ['spec.provider.controlPlaneConfig', 'region'],
  ['spec.credentialsBindingName', 'connectionRef'],
  ['spec.hibernation', 'hibernated'],
  ['spec.controlPlane', 'controlPlaneHA'],
  ['spec.networking.nodes', 'network/nodeCIDR'],
  ['spec.provider.infrastructureConfig.networks.existingNetwork', 'network/existingNetwork'],
  ['spec.provider.infrastructureConfig', 'network/nodeCIDR'],
  ['spec.networking.pods', 'network/podCIDR'],
  ['spec.networking.services', 'network/serviceCIDR'],
  ['spec.provider.workers', 'nodePools'],
];

const poolFields: readonly (readonly [string, string])[] = [
  ['machine.type', 'machineType'],
  ['machine.architecture', 'machineType'],
  ['machine.image.name', 'image/name'],
  ['machine.image.version', 'image/version'],
  ['machine.image', 'image'],
  ['machine', 'machineType'],
  ['providerConfig', 'publicIP'],
  ['minimum', 'minimum'],
  ['maximum', 'maximum'],
];

function poolField(
  desired: Desired,
  at: string | undefined,
  workerName: string | undefined,
  rest: string,
): ApiField | null {
  const rendered = renderedPools(desired.pools);
  const pool = at === undefined ? rendered.find((each) => each.workerName === workerName) : rendered[Number(at)];
  if (pool === undefined) return null;
  const pointer = `/spec/nodePools/${desired.pools.indexOf(pool)}`;
  const found = poolFields.find(([prefix]) => rest === prefix || rest.startsWith(`${prefix}.`));
  if (found === undefined) return { pointer, name: `node pool ${pool.name}` };
  return { pointer: `${pointer}/${found[1]}`, name: `${found[1].replaceAll('/', '.')} of node pool ${pool.name}` };
}
