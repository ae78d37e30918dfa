import { type FieldError, forbiddenField, invalid, required } from '../../kube/field-error.js';
import { intersect, parseCidr, toAddress } from '../cidr.js';
import type { Networking, ShootSpec } from './shoot.js';
import { isWorkerless } from './shoot.js';
import { WORKERLESS } from './workerless.js';

/** Ranges that Gardener maps the seed and the Shoot to inside its VPN. */
const reserved = {
  '240.0.0.0/8': 'reserved kube-apiserver mapping range (240.0.0.0/8)',
  '241.0.0.0/8': 'reserved seed pod network mapping range (241.0.0.0/8)',
  '242.0.0.0/8': 'reserved shoot node network mapping range (242.0.0.0/8)',
  '243.0.0.0/8': 'reserved shoot service network mapping range (243.0.0.0/8)',
  '244.0.0.0/8': 'reserved shoot pod network mapping range (244.0.0.0/8)',
} as const;

const ranges = ['nodes', 'pods', 'services'] as const;

/** Form of the networks, as `ValidateShoot` checks it. */
export function validateNetworking(spec: ShootSpec): FieldError[] {
  const { networking } = spec;
  const at = 'spec.networking';
  if (isWorkerless(spec)) {
    return (['type', 'providerConfig', 'pods', 'nodes'] as const)
      .filter((field) => networking?.[field] !== undefined)
      .map((field) => forbiddenField(`${at}.${field}`, WORKERLESS));
  }
  if (networking === undefined) return [required(at, 'networking should not be nil for a Shoot with workers')];
  const errors: FieldError[] = [];
  if ((networking.type ?? '') === '') errors.push(required(`${at}.type`, 'networking type must be provided'));
  const families = networking.ipFamilies ?? [];
  if (families.some((family) => family !== 'IPv4')) {
    errors.push(invalid(`${at}.ipFamilies`, families, 'only IPv4 is supported by the networks of this provider'));
  }
  return [...errors, ...ranges.flatMap((range) => validateRange(`${at}.${range}`, networking[range]))];
}

function validateRange(field: string, text: string | undefined): FieldError[] {
  if (text === undefined) return [];
  const cidr = parseCidr(text);
  if (cidr === null) return [invalid(field, text, `invalid CIDR address: ${text}`)];
  if (cidr.isCanonical) return [];
  return [invalid(field, text, `must be valid canonical CIDR: ${toAddress(cidr.first)}/${cidr.bits}`)];
}

/** Ranges that overlap, as the validator plugin looks for them. */
export function judgeNetworks({ nodes, pods, services }: Networking, isScheduling: boolean): FieldError[] {
  const at = 'spec.networking';
  const errors: FieldError[] = [];
  const overlap = (a: string | undefined, b: string | undefined): boolean =>
    a !== undefined && b !== undefined && intersect(a, b);
  if (overlap(pods, services)) {
    errors.push(invalid(`${at}.services`, services, 'shoot pod network intersects with shoot service network'));
  }
  if (overlap(pods, nodes)) {
    errors.push(invalid(`${at}.pods`, pods, 'shoot pod network intersects with shoot node network'));
  }
  if (overlap(services, nodes)) {
    errors.push(invalid(`${at}.services`, services, 'shoot service network intersects with shoot node network'));
  }
  if (!isScheduling) return errors;
  for (const [range, what] of Object.entries(reserved)) {
    for (const [name, network] of Object.entries({ nodes, services, pods })) {
      if (network === undefined || !intersect(network, range)) continue;
      errors.push(invalid(`${at}.${name}`, network, `${name.slice(0, -1)} network intersects with ${what}`));
    }
  }
  return errors;
}
