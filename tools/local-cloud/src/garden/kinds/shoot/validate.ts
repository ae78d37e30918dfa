import { Address4 } from 'ip-address';
import { isLabelKey, isLabelValue } from '../../../labels.js';
import {
  checkDnsLabel,
  duplicate,
  type FieldError,
  forbiddenField,
  immutable,
  invalid,
  notSupported,
  required,
  tooLong,
} from '../../kube/field-error.js';
import { equalJson } from '../../kube/object.js';
import { compareVersions, minorsBetween } from '../versions.js';
import { failureToleranceOf, type Shoot, type ShootSpec, type Worker, wantsHibernation, workersOf } from './shoot.js';

const toleranceTypes = ['node', 'zone'];
const architectures = ['amd64', 'arm64'];
const POOL_NAME_LENGTH_MAX = 15;

/** Checks the form of a Shoot, like `ValidateShoot` on every write. */
export function validateShoot({ spec }: Shoot): FieldError[] {
  const errors: FieldError[] = [];
  const mustHave = (field: string, value: string | undefined, what: string): void => {
    if ((value ?? '') === '') errors.push(required(field, `must specify a ${what}`));
  };
  mustHave('spec.region', spec.region, 'region');
  mustHave('spec.provider.type', spec.provider.type, 'provider type');
  mustHave('spec.cloudProfile.name', spec.cloudProfile?.name, 'cloud profile');
  mustHave('spec.credentialsBindingName', spec.credentialsBindingName, 'credentials binding');
  mustHave('spec.networking.type', spec.networking?.type, 'networking type');
  const tolerance = failureToleranceOf(spec);
  if (spec.controlPlane?.highAvailability !== undefined && !toleranceTypes.includes(tolerance ?? '')) {
    const field = 'spec.controlPlane.highAvailability.failureTolerance.type';
    errors.push(notSupported(field, tolerance ?? '', toleranceTypes));
  }
  return [...errors, ...validateWorkers(spec), ...validateRanges(spec)];
}

const rangesOf = ({ networking: { nodes, pods, services } = {} }: ShootSpec): [string, string][] =>
  Object.entries({ nodes, pods, services }).filter((entry): entry is [string, string] => entry[1] !== undefined);

function validateRanges(spec: ShootSpec): FieldError[] {
  return rangesOf(spec).flatMap(([name, text]) => {
    const field = `spec.networking.${name}`;
    if (!Address4.isValid(text) || !text.includes('/')) {
      return [invalid(field, text, `invalid CIDR address: ${text}`)];
    }
    const range = new Address4(text);
    const canonical = `${range.startAddress().correctForm()}/${range.subnetMask}`;
    return canonical === text ? [] : [invalid(field, text, `must be valid canonical CIDR: ${canonical}`)];
  });
}

/** Pairs of networks that must not overlap, and the field of the error. */
const apart = [
  ['pods', 'services', 'services'],
  ['pods', 'nodes', 'pods'],
  ['services', 'nodes', 'services'],
] as const;

/** Checks for overlapping networks, like the validator plugin. */
export function judgeRanges({ networking = {} }: ShootSpec): FieldError[] {
  return apart.flatMap(([first, second, field]) => {
    const [one, other] = [networking[first], networking[second]];
    if (one === undefined || other === undefined) return [];
    const [left, right] = [new Address4(one), new Address4(other)];
    if (!left.isInSubnet(right) && !right.isInSubnet(left)) return [];
    const rule = `shoot ${first.slice(0, -1)} network intersects with shoot ${second.slice(0, -1)} network`;
    return [invalid(`spec.networking.${field}`, networking[field], rule)];
  });
}

function validateWorkers(spec: ShootSpec): FieldError[] {
  const workers = workersOf(spec);
  const errors: FieldError[] = [];
  for (const [index, worker] of workers.entries()) {
    const at = `spec.provider.workers[${index}]`;
    const { name, zones = [], maximum } = worker;
    errors.push(...validateWorker(worker, at));
    if (workers.findIndex((other) => other.name === name) !== index) errors.push(duplicate(`${at}.name`, name));
    if (maximum !== 0 && maximum < zones.length) {
      const rule = 'maximum node count should be greater than or equal to the number of zones specified for this pool';
      errors.push(forbiddenField(`${at}.maximum`, rule));
    }
  }
  if (!workers.some(({ maximum, systemComponents }) => maximum > 0 && systemComponents?.allow !== false)) {
    const rule = 'at least one active (workers[i].maximum > 0) worker pool with systemComponents.allow=true needed';
    errors.push(forbiddenField('spec.provider.workers', rule));
  }
  return errors;
}

function validateWorker({ name = '', machine, minimum, maximum, labels = {} }: Worker, at: string): FieldError[] {
  const errors = checkDnsLabel(`${at}.name`, name);
  if (name.length > POOL_NAME_LENGTH_MAX) errors.push(tooLong(`${at}.name`, POOL_NAME_LENGTH_MAX));
  if (machine.type === '') errors.push(required(`${at}.machine.type`, 'must specify a machine type'));
  const { architecture, image } = machine;
  if ((image?.name ?? '') === '')
    errors.push(required(`${at}.machine.image.name`, 'must specify a machine image name'));
  if (architecture !== undefined && !architectures.includes(architecture)) {
    errors.push(notSupported(`${at}.machine.architecture`, architecture, architectures));
  }
  if (minimum < 0) errors.push(invalid(`${at}.minimum`, minimum, 'minimum value must not be negative'));
  if (maximum < 0) errors.push(invalid(`${at}.maximum`, maximum, 'maximum value must not be negative'));
  if (maximum < minimum) {
    errors.push(forbiddenField(`${at}.maximum`, 'maximum value must not be less than minimum value'));
  }
  for (const [key, value] of Object.entries(labels)) {
    if (!isLabelKey(key)) errors.push(invalid(`${at}.labels`, key, 'name part must be a qualified name'));
    if (!isLabelValue(value)) errors.push(invalid(`${at}.labels`, value, 'a valid label must be a label value'));
  }
  return errors;
}

/** Checks the changes of a Shoot, like `ValidateShootUpdate`. */
export function validateShootUpdate(shoot: Shoot, { spec: old }: Shoot): FieldError[] {
  const { metadata, spec } = shoot;
  if (metadata.deletionTimestamp !== undefined && !equalJson(spec, old)) {
    return [forbiddenField('spec', 'cannot update shoot spec if deletion timestamp is set')];
  }
  const errors: FieldError[] = [];
  const fixed = (field: string, value: unknown, before: unknown): void => {
    if (!equalJson(value, before)) errors.push(immutable(field, value));
  };
  fixed('spec.region', spec.region, old.region);
  fixed('spec.provider.type', spec.provider.type, old.provider.type);
  fixed('spec.networking.type', spec.networking?.type, old.networking?.type);
  for (const range of ['pods', 'services'] as const) {
    const before = old.networking?.[range];
    if (before !== undefined) fixed(`spec.networking.${range}`, spec.networking?.[range], before);
  }
  return [
    ...errors,
    ...validateVersion(spec.kubernetes.version, old.kubernetes.version),
    ...validateTolerance(shoot, old),
  ];
}

function validateVersion(version: string, old: string): FieldError[] {
  const field = 'spec.kubernetes.version';
  if (compareVersions(version, old) < 0)
    return [forbiddenField(field, 'kubernetes version downgrade is not supported')];
  if (minorsBetween(old, version) < 2) return [];
  return [forbiddenField(field, 'kubernetes version upgrade cannot skip a minor version')];
}

/** A control plane cannot lose its failure tolerance and cannot gain it while hibernated. */
function validateTolerance({ spec, status }: Shoot, old: ShootSpec): FieldError[] {
  const field = 'spec.controlPlane.highAvailability.failureTolerance.type';
  const [tolerance, before] = [failureToleranceOf(spec), failureToleranceOf(old)];
  if (before !== undefined && tolerance !== before) return [immutable(field, tolerance ?? '')];
  if (tolerance === before || !(wantsHibernation(spec) || status.hibernated)) return [];
  const rule =
    'Shoot is currently hibernated and cannot be scaled up to HA. Please make sure your cluster has woken up before scaling it up to HA';
  return [forbiddenField(field, rule)];
}
