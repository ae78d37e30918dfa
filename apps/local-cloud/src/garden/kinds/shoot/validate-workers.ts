import {
  duplicate,
  type FieldError,
  forbiddenField,
  invalid,
  notSupported,
  required,
  tooLong,
} from '../../kube/field-error.js';
import { isLabelKey, isLabelValue } from '../../kube/selectors.js';
import { checkDnsLabel } from '../names.js';
import { compareVersions, minorsBetween } from '../versions.js';
import { type ShootSpec, type Worker, workersOf } from './shoot.js';

const NAME_LENGTH_MAX = 15;
const strategies = ['AutoInPlaceUpdate', 'AutoRollingUpdate', 'ManualInPlaceUpdate'];
const architectures = ['amd64', 'arm64'];
const effects = ['NoExecute', 'NoSchedule', 'PreferNoSchedule'];
const RESERVED_TAINT = 'node.gardener.cloud/critical-components-not-ready';

/** Form of the worker pools, each by itself and all together. */
export function validateWorkers(spec: ShootSpec): FieldError[] {
  const workers = workersOf(spec);
  const at = (index: number): string => `spec.provider.workers[${index}]`;
  const errors = workers.flatMap((worker, index) => validateWorker(worker, spec.kubernetes.version, at(index)));
  const names = new Set<string>();
  for (const [index, { name }] of workers.entries()) {
    if (names.has(name)) errors.push(duplicate(`${at(index)}.name`, name));
    names.add(name);
  }
  for (const [index, { zones = [], maximum }] of workers.entries()) {
    if (maximum === 0 || maximum >= zones.length) continue;
    const rule = 'maximum node count should be greater than or equal to the number of zones specified for this pool';
    errors.push(forbiddenField(`${at(index)}.maximum`, rule));
  }
  if (!workers.some(({ maximum, systemComponents }) => maximum > 0 && systemComponents?.allow !== false)) {
    errors.push(
      forbiddenField(
        'spec.provider.workers',
        'at least one active (workers[i].maximum > 0) worker pool with systemComponents.allow=true needed',
      ),
    );
  }
  return errors;
}

function validateWorker(worker: Worker, controlPlaneVersion: string, at: string): FieldError[] {
  const { name = '', machine, minimum, maximum, updateStrategy, priority, kubernetes } = worker;
  const errors = checkDnsLabel(`${at}.name`, name);
  if (name.length > NAME_LENGTH_MAX) errors.push(tooLong(`${at}.name`, NAME_LENGTH_MAX));
  if (machine.type === '') errors.push(required(`${at}.machine.type`, 'must specify a machine type'));
  if (machine.image === undefined) errors.push(required(`${at}.machine.image`, 'must specify a machine image'));
  else {
    const { name: image = '', version = '' } = machine.image;
    if (image === '') errors.push(required(`${at}.machine.image.name`, 'must specify a machine image name'));
    if (version === '') errors.push(required(`${at}.machine.image.version`, 'must specify a machine image version'));
  }
  if (machine.architecture !== undefined && !architectures.includes(machine.architecture)) {
    errors.push(notSupported(`${at}.machine.architecture`, machine.architecture, architectures));
  }
  if (minimum < 0) errors.push(invalid(`${at}.minimum`, minimum, 'minimum value must not be negative'));
  if (maximum < 0) errors.push(invalid(`${at}.maximum`, maximum, 'maximum value must not be negative'));
  if (maximum < minimum) {
    errors.push(forbiddenField(`${at}.maximum`, 'maximum value must not be less than minimum value'));
  }
  if (updateStrategy !== undefined && !strategies.includes(updateStrategy)) {
    errors.push(notSupported(`${at}.updateStrategy`, updateStrategy, strategies));
  }
  if (priority !== undefined && priority < -1) {
    errors.push(invalid(`${at}.priority`, priority, 'can not be less than -1'));
  }
  if (kubernetes?.version !== undefined) {
    errors.push(...validateSkew(`${at}.kubernetes.version`, controlPlaneVersion, kubernetes.version));
  }
  return [...errors, ...validateRollout(worker, at), ...validateNodeMarks(worker, at)];
}

function validateSkew(field: string, controlPlaneVersion: string, version: string): FieldError[] {
  if (compareVersions(version, controlPlaneVersion) > 0) {
    return [forbiddenField(field, 'worker group kubernetes version must not be higher than control plane version')];
  }
  if (minorsBetween(version, controlPlaneVersion) <= 3) return [];
  const rule = 'worker group kubernetes version must be at most three minor versions behind control plane version';
  return [forbiddenField(field, rule)];
}

function validateRollout({ maxSurge, maxUnavailable, updateStrategy }: Worker, at: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [field, value] of Object.entries({ maxSurge, maxUnavailable })) {
    if (value === undefined) continue;
    const isValid = typeof value === 'number' ? value >= 0 : /^\d+%$/.test(value);
    if (!isValid) {
      errors.push(invalid(`${at}.${field}`, value, "must be an integer or percentage (e.g '5%%')"));
    } else if (field === 'maxUnavailable' && typeof value === 'string' && Number.parseInt(value, 10) > 100) {
      errors.push(invalid(`${at}.${field}`, value, 'must not be greater than 100%'));
    }
  }
  const isZero = (value: number | string | undefined): boolean => Number.parseInt(String(value ?? 0), 10) === 0;
  if (isZero(maxSurge) && isZero(maxUnavailable) && updateStrategy !== 'ManualInPlaceUpdate') {
    errors.push(invalid(`${at}.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0'));
  }
  return errors;
}

function validateNodeMarks({ labels = {}, taints = [] }: Worker, at: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(labels)) {
    if (!isLabelKey(key)) errors.push(invalid(`${at}.labels`, key, 'name part must be a qualified name'));
    if (!isLabelValue(value)) errors.push(invalid(`${at}.labels`, value, 'a valid label must be a label value'));
  }
  const seen = new Set<string>();
  for (const [index, { key = '', value = '', effect = '' }] of taints.entries()) {
    const field = `${at}.taints[${index}]`;
    if (!isLabelKey(key)) errors.push(invalid(`${field}.key`, key, 'name part must be a qualified name'));
    if (key === RESERVED_TAINT) errors.push(forbiddenField(`${field}.key`, 'taint key is reserved by gardener'));
    if (!isLabelValue(value)) errors.push(invalid(`${field}.value`, value, 'a valid label must be a label value'));
    if (effect === '') errors.push(required(`${field}.effect`, ''));
    else if (!effects.includes(effect)) errors.push(notSupported(`${field}.effect`, effect, effects));
    if (seen.has(`${key}:${effect}`)) errors.push(duplicate(field, { key, effect }));
    seen.add(`${key}:${effect}`);
  }
  return errors;
}
