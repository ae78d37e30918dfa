import type { FieldChange } from '@corral/contracts';
import { planNames } from '../api/words.js';

/**
 * The value of a specification at a JSON pointer below `/spec`.
 *
 * @returns undefined where the specification says nothing, so that the API chose the value
 */
export function sentAt(spec: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(2)
    .reduce<unknown>((value, member) => memberOf(value, member), spec);
}

function memberOf(value: unknown, member: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[member] : undefined;
}

const fieldNames: Readonly<Record<string, string>> = {
  connectionRef: 'connection',
  region: 'region',
  kubernetesVersion: 'Kubernetes',
  hibernated: 'hibernated',
  hibernationSchedule: 'schedule of hibernation',
  controlPlaneHA: 'highly available control plane',
  plan: 'tariff',
  deletionProtection: 'deletion protection',
  network: 'network',
  nodeCIDR: 'range of the nodes',
  podCIDR: 'range of the pods',
  serviceCIDR: 'range of the services',
  existingNetwork: 'existing network',
  nodePools: 'order of the pools',
  name: 'name',
  source: 'kind',
  machineType: 'type',
  image: 'image',
  version: 'version',
  publicIP: 'public addresses',
};

const POOL = /^\/spec\/nodePools\/(\d+)(?:\/(.*))?$/;

/** A field in words: "general, type" or "Kubernetes". @param pools names of the pools, in the order of the pointers */
export function fieldName(pointer: string, pools: readonly string[]): string {
  const [, index, below] = POOL.exec(pointer) ?? [];
  const parts = (index === undefined ? pointer.slice('/spec/'.length) : (below ?? '')).split('/').filter(Boolean);
  const words = parts.map((part) => fieldNames[part] ?? part).join(' ');
  if (index === undefined) return words;
  return [pools[Number(index)] ?? `pool ${Number(index) + 1}`, words].filter(Boolean).join(', ');
}

/**
 * A changed field as a sentence: "general: up to 3 → 5 nodes", "Kubernetes 1.34.3 → 1.35.1".
 *
 * @param pools names of the pools after the change, in their order
 */
export function changeSentence({ pointer, from, to }: FieldChange, pools: readonly string[]): string {
  const [, index, below] = POOL.exec(pointer) ?? [];
  if (index !== undefined && below === undefined) {
    const isRemoved = to === null || to === undefined;
    const name = String(memberOf(isRemoved ? from : to, 'name') ?? pools[Number(index)]);
    return `${name}: ${isRemoved ? 'removed' : 'new pool'}`;
  }
  const values = from === null || from === undefined ? valueText(to) : `${valueText(from)} → ${valueText(to)}`;
  const pool = index === undefined ? undefined : (pools[Number(index)] ?? `pool ${Number(index) + 1}`);
  if (below === 'minimum') return `${pool}: at least ${values} nodes`;
  if (below === 'maximum') return `${pool}: up to ${values} nodes`;
  const field = index === undefined ? fieldName(pointer, pools) : fieldName(`/spec/${below}`, pools);
  return pool === undefined ? `${field} ${values}` : `${pool}: ${field} ${values}`;
}

/** A value for people rather than as JSON: `yes`, `name ubuntu, version 24.04`. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string' && value in planNames) return planNames[value as keyof typeof planNames];
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueText).join('; ');
  const members = Object.entries(value).map(([name, each]) => `${fieldNames[name] ?? name} ${valueText(each)}`);
  return members.length === 0 ? 'the default' : members.join(', ');
}
