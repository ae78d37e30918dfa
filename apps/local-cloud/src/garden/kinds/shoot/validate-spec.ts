import { type FieldError, forbiddenField, invalid, notSupported, required } from '../../kube/field-error.js';
import { minorsBetween } from '../versions.js';
import { failureToleranceOf, isWorkerless, type Shoot, type ShootSpec, workersOf } from './shoot.js';
import { validateNetworking } from './validate-networking.js';
import { validateWorkers } from './validate-workers.js';
import { WORKERLESS } from './workerless.js';

const purposes = ['development', 'evaluation', 'production', 'testing'];
const toleranceTypes = ['node', 'zone'];

const isAtLeast = (version: string, minor: number): boolean => minorsBetween(`1.${minor}.0`, version) >= 0;

/** Form of a Shoot by itself, as `ValidateShoot` checks it on every write. */
export function validateShoot(shoot: Shoot): FieldError[] {
  const { metadata, spec } = shoot;
  const { name = '' } = metadata;
  const errors: FieldError[] = [];
  if (name.includes('--')) {
    errors.push(invalid('metadata.name', name, 'name may not contain two consecutive hyphens'));
  }
  if (spec.region === '') errors.push(required('spec.region', 'must specify a region'));
  if (spec.provider.type === '') errors.push(required('spec.provider.type', 'must specify a provider type'));
  const { purpose } = spec;
  const allowed = metadata.namespace === 'garden' ? [...purposes, 'infrastructure'].sort() : purposes;
  if (purpose !== undefined && !allowed.includes(purpose)) {
    errors.push(notSupported('spec.purpose', purpose, allowed));
  }
  const tolerance = failureToleranceOf(spec);
  if (spec.controlPlane?.highAvailability !== undefined && !toleranceTypes.includes(tolerance ?? '')) {
    const field = 'spec.controlPlane.highAvailability.failureTolerance.type';
    errors.push(notSupported(field, tolerance ?? '', toleranceTypes));
  }
  return [
    ...errors,
    ...validateCloudProfile(spec),
    ...validateCredentials(spec),
    ...(isWorkerless(spec) ? validateWorkerless(spec) : validateWorkers(spec)),
    ...validateAddons(spec),
    ...validateNodeMask(spec),
    ...validateNetworking(spec),
    ...validateMaintenance(spec),
    ...validateSchedules(spec),
  ];
}

function validateCloudProfile({ cloudProfile, cloudProfileName = '', kubernetes }: ShootSpec): FieldError[] {
  const errors: FieldError[] = [];
  if (cloudProfileName !== '' && isAtLeast(kubernetes.version, 34)) {
    const rule =
      'for Kubernetes version >= 1.34, cloudProfileName field is no longer supported, use spec.cloudProfile.name instead';
    errors.push(forbiddenField('spec.cloudProfileName', rule));
  }
  if ((cloudProfile?.name ?? '') === '') {
    return [...errors, required('spec.cloudProfile.name', 'must specify a cloud profile')];
  }
  const kinds = ['CloudProfile', 'NamespacedCloudProfile'];
  if (!kinds.includes(cloudProfile?.kind ?? '')) {
    errors.push(notSupported('spec.cloudProfile.kind', cloudProfile?.kind ?? '', kinds));
  }
  return errors;
}

function validateCredentials(spec: ShootSpec): FieldError[] {
  const { credentialsBindingName, secretBindingName, kubernetes } = spec;
  if (isWorkerless(spec)) {
    return (['secretBindingName', 'credentialsBindingName'] as const)
      .filter((field) => spec[field] !== undefined)
      .map((field) => forbiddenField(`spec.${field}`, WORKERLESS));
  }
  const errors: FieldError[] = [];
  const hasBinding = (credentialsBindingName ?? '') !== '';
  const hasSecret = (secretBindingName ?? '') !== '';
  if (!hasBinding && !hasSecret) {
    errors.push(required('spec.secretBindingName', 'must be set when credentialsBindingName is not'));
  }
  if (hasBinding && hasSecret) {
    errors.push(forbiddenField('spec.secretBindingName', 'is incompatible with credentialsBindingName'));
  }
  if (hasSecret && isAtLeast(kubernetes.version, 34)) {
    const rule =
      'for Kubernetes versions >= 1.34, secretBindingName field is no longer supported, use spec.credentialsBindingName instead';
    errors.push(forbiddenField('spec.secretBindingName', rule));
  }
  return errors;
}

function validateWorkerless({ provider, kubernetes, maintenance }: ShootSpec): FieldError[] {
  const refused = [
    ...(['infrastructureConfig', 'controlPlaneConfig', 'workersSettings'] as const)
      .filter((field) => provider[field] !== undefined)
      .map((field) => `spec.provider.${field}`),
    ...['kubeScheduler', 'kubeProxy', 'kubelet', 'clusterAutoscaler', 'verticalPodAutoscaler']
      .filter((field) => kubernetes[field] !== undefined)
      .map((field) => `spec.kubernetes.${field}`),
    ...(maintenance?.autoUpdate?.machineImageVersion === undefined
      ? []
      : ['spec.maintenance.autoUpdate.machineImageVersion']),
  ];
  return refused.map((field) => forbiddenField(field, WORKERLESS));
}

function validateAddons(spec: ShootSpec): FieldError[] {
  const { addons, purpose, kubernetes } = spec;
  if (addons === undefined) return [];
  if (isWorkerless(spec)) {
    return [forbiddenField('spec.addons', 'addons cannot be enabled for Workerless Shoot clusters')];
  }
  if (isAtLeast(kubernetes.version, 35)) {
    return [forbiddenField('spec.addons', 'for Kubernetes versions >= 1.35, addons field is no longer supported')];
  }
  const isEnabled = Object.values(addons).some((addon) => (addon as { enabled?: boolean }).enabled === true);
  if (!isEnabled || purpose === 'evaluation') return [];
  return [forbiddenField('spec.addons', 'addons can only be enabled on shoots with .spec.purpose=evaluation')];
}

const PODS_PER_NODE = 110;

/** Whether a node's share of the pod network holds as many pods as its kubelet may run. */
function validateNodeMask(spec: ShootSpec): FieldError[] {
  const { nodeCIDRMaskSize } = spec.kubernetes.kubeControllerManager ?? {};
  if (nodeCIDRMaskSize === undefined) return [];
  const kubelets = [spec.kubernetes.kubelet, ...workersOf(spec).map(({ kubernetes }) => kubernetes?.kubelet)];
  const wanted = kubelets.map((kubelet) => Number((kubelet as { maxPods?: number } | undefined)?.maxPods ?? 0));
  const maxPods = Math.max(...wanted) || PODS_PER_NODE;
  const available = 2 ** (32 - nodeCIDRMaskSize) - 2;
  if (available >= maxPods) return [];
  const field = 'spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize';
  const rule = `kubelet or kube-controller-manager configuration incorrect. Please adjust the nodeCIDRMaskSize to support the highest maxPod on any worker pool. The nodeCIDRMaskSize of ${nodeCIDRMaskSize} (default: 24) only supports ${available} IP addresses. The highest maxPod setting is ${maxPods} (default: 110). Please choose a nodeCIDRMaskSize that at least supports ${maxPods} IP addresses`;
  return [invalid(field, nodeCIDRMaskSize, rule)];
}

const HALF_HOUR = 30;
const SIX_HOURS = 360;

function validateMaintenance({ maintenance }: ShootSpec): FieldError[] {
  const { timeWindow } = maintenance ?? {};
  if (timeWindow === undefined) return [];
  const field = 'spec.maintenance.timeWindow';
  const [begin, end] = [minutesOf(timeWindow.begin), minutesOf(timeWindow.end)];
  if (begin === null || end === null) {
    const detail = 'could not parse the value into the maintenanceTime format: HHMMSS+ZZZZ';
    return [invalid(`${field}.begin/end`, timeWindow, detail)];
  }
  const duration = (end - begin + 1440) % 1440;
  if (duration > SIX_HOURS) {
    return [invalid(field, `${duration}m`, 'time window must not be greater than 6h0m0s')];
  }
  if (duration < HALF_HOUR) return [invalid(field, `${duration}m`, 'time window must not be smaller than 30m0s')];
  return [];
}

/** Minutes of the day in UTC; null when the text is no time of this form. */
function minutesOf(text: string | undefined): number | null {
  const [, hours = '', minutes = '', , sign = '+', zoneHours = '0', zoneMinutes = '0'] =
    /^([01]\d|2[0-3])([0-5]\d)([0-5]\d)([+-])(\d\d)(\d\d)$/.exec(text ?? '') ?? [];
  if (hours === '') return null;
  const zone = (Number(zoneHours) * 60 + Number(zoneMinutes)) * (sign === '-' ? -1 : 1);
  return (Number(hours) * 60 + Number(minutes) - zone + 1440) % 1440;
}

const cronField = /^(\*|[\d,\-/A-Za-z]+|\*\/\d+)$/;

function validateSchedules({ hibernation }: ShootSpec): FieldError[] {
  const seen = new Set<string>();
  return (hibernation?.schedules ?? []).flatMap(({ start, end, location }, index) => {
    const at = `spec.hibernation.schedules[${index}]`;
    const errors: FieldError[] = [];
    if (start === undefined && end === undefined) {
      errors.push(required(`${at}.start/end`, 'either start or end has to be provided'));
    }
    for (const [field, cron] of Object.entries({ start, end })) {
      if (cron === undefined) continue;
      const parts = cron.trim().split(/\s+/);
      if (parts.length !== 5 || !parts.every((part) => cronField.test(part))) {
        errors.push(invalid(`${at}.${field}`, cron, 'not a valid cron spec: expected exactly 5 fields'));
      } else if (seen.has(cron)) {
        errors.push({ reason: 'FieldValueDuplicate', field: `${at}.${field}`, message: `Duplicate value: "${cron}"` });
      }
      seen.add(cron);
    }
    if (location !== undefined && !isTimeZone(location)) {
      errors.push(invalid(`${at}.location`, location, `not a valid location: unknown time zone ${location}`));
    }
    return errors;
  });
}

function isTimeZone(location: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: location });
    return true;
  } catch {
    return false;
  }
}
