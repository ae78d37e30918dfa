import { type FieldError, forbiddenField, immutable, invalid } from '../../kube/field-error.js';
import { equalJson } from '../../kube/object.js';
import { annotationNames, isTrue } from '../annotations.js';
import { compareVersions, minorsBetween } from '../versions.js';
import { failureToleranceOf, isWorkerless, type Shoot, type ShootSpec, wantsHibernation, workersOf } from './shoot.js';

/** Codes after which Gardener lets a deletion leave the provider's resources behind. */
const forceDeletionCodes = [
  'ERR_CLEANUP_CLUSTER_RESOURCES',
  'ERR_CONFIGURATION_PROBLEM',
  'ERR_INFRA_DEPENDENCIES',
  'ERR_INFRA_UNAUTHENTICATED',
  'ERR_INFRA_UNAUTHORIZED',
];

/** What may become of a Shoot, as `ValidateShootUpdate` checks it. */
export function validateShootUpdate(shoot: Shoot, old: Shoot): FieldError[] {
  if (shoot.metadata.deletionTimestamp !== undefined && !equalJson(shoot.spec, old.spec)) {
    return [forbiddenField('spec', 'cannot update shoot spec if deletion timestamp is set')];
  }
  return [
    ...validateFixed(shoot.spec, old.spec),
    ...validateVersions(shoot.spec, old.spec),
    ...validateWorkersUpdate(shoot.spec, old.spec),
    ...validateHighAvailability(shoot, old),
    ...validateHibernation(shoot, old),
    ...validateForceDeletion(shoot, old),
  ];
}

function validateFixed(spec: ShootSpec, old: ShootSpec): FieldError[] {
  const errors: FieldError[] = [];
  const fixed = (field: string, value: unknown, before: unknown): void => {
    if (!equalJson(value, before)) errors.push(immutable(field, value));
  };
  fixed('spec.region', spec.region, old.region);
  fixed('spec.provider.type', spec.provider.type, old.provider.type);
  fixed('spec.schedulerName', spec.schedulerName, old.schedulerName);
  fixed('spec.exposureClassName', spec.exposureClassName, old.exposureClassName);
  if (old.dns?.domain !== undefined) fixed('spec.dns.domain', spec.dns?.domain, old.dns.domain);
  const mask = ({ kubernetes }: ShootSpec) => kubernetes.kubeControllerManager?.nodeCIDRMaskSize;
  fixed('spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize', mask(spec), mask(old));
  const migrates = old.secretBindingName !== undefined && (spec.credentialsBindingName ?? '') !== '';
  if (!(migrates && spec.secretBindingName === undefined)) {
    fixed('spec.secretBindingName', spec.secretBindingName, old.secretBindingName);
  }
  if (old.credentialsBindingName !== undefined && (spec.credentialsBindingName ?? '') === '') {
    errors.push(forbiddenField('spec.credentialsBindingName', 'the field cannot be unset'));
  }
  fixed('spec.networking.type', spec.networking?.type, old.networking?.type);
  for (const range of ['pods', 'services'] as const) {
    const before = old.networking?.[range];
    if (before !== undefined) fixed(`spec.networking.${range}`, spec.networking?.[range], before);
  }
  const families = ({ networking }: ShootSpec) => networking?.ipFamilies ?? [];
  if (!equalJson(families(spec), families(old))) {
    const shown = `oldIPFamilies=[${families(old).join(' ')}], newIPFamilies=[${families(spec).join(' ')}]`;
    errors.push(forbiddenField('spec.networking.ipFamilies', `unsupported IP family update: ${shown}`));
  }
  return errors;
}

function validateVersions(spec: ShootSpec, old: ShootSpec): FieldError[] {
  const errors = validateVersion(spec.kubernetes.version, old.kubernetes.version, 'spec.kubernetes.version');
  for (const [index, worker] of workersOf(spec).entries()) {
    const before = workersOf(old).find(({ name }) => name === worker.name) ?? worker;
    const version = worker.kubernetes?.version ?? spec.kubernetes.version;
    const oldVersion = before.kubernetes?.version ?? old.kubernetes.version;
    const field = `spec.provider.workers[${index}].kubernetes.version`;
    if (compareVersions(version, oldVersion) < 0) errors.push(downgrade(field));
  }
  return errors;
}

const downgrade = (field: string): FieldError => forbiddenField(field, 'kubernetes version downgrade is not supported');

function validateVersion(version: string, old: string, field: string): FieldError[] {
  if (version === '') {
    return [invalid(field, version, 'cannot validate kubernetes version upgrade because it is unset')];
  }
  if (compareVersions(version, old) < 0) return [downgrade(field)];
  if (minorsBetween(old, version) < 2) return [];
  return [forbiddenField(field, 'kubernetes version upgrade cannot skip a minor version')];
}

function validateWorkersUpdate(spec: ShootSpec, old: ShootSpec): FieldError[] {
  const field = 'spec.provider.workers';
  if (isWorkerless(spec) && !isWorkerless(old)) {
    return [forbiddenField(field, 'cannot switch from a Shoot with workers to a workerless Shoot')];
  }
  if (!isWorkerless(spec) && isWorkerless(old)) {
    return [forbiddenField(field, 'cannot switch from a workerless Shoot to a Shoot with workers')];
  }
  return workersOf(spec).flatMap((worker, index) => {
    const before = workersOf(old).find(({ name }) => name === worker.name);
    if (before === undefined || inPlace(worker.updateStrategy) === inPlace(before.updateStrategy)) return [];
    const [from, to] = inPlace(worker.updateStrategy)
      ? ['AutoRollingUpdate', 'AutoInPlaceUpdate/ManualInPlaceUpdate']
      : ['AutoInPlaceUpdate/ManualInPlaceUpdate', 'AutoRollingUpdate'];
    const rule = `update strategy cannot be changed from ${from} to ${to}`;
    return [invalid(`${field}[${index}].updateStrategy`, worker.updateStrategy, rule)];
  });
}

const inPlace = (strategy: string | undefined): boolean => /InPlace/.test(strategy ?? '');

/** One way only: what tolerates failures does so for good. */
function validateHighAvailability({ spec, status }: Shoot, { spec: old }: Shoot): FieldError[] {
  const field = 'spec.controlPlane.highAvailability.failureTolerance.type';
  const [tolerance, before] = [failureToleranceOf(spec), failureToleranceOf(old)];
  const errors: FieldError[] = [];
  if (tolerance !== undefined && before === undefined && (wantsHibernation(spec) || status.hibernated)) {
    const rule =
      'Shoot is currently hibernated and cannot be scaled up to HA. Please make sure your cluster has woken up before scaling it up to HA';
    errors.push(forbiddenField(field, rule));
  }
  if (before !== undefined && spec.seedName !== undefined && tolerance !== before) {
    errors.push(immutable(field, tolerance ?? ''));
  }
  return errors;
}

/** A rotation of keys has to reach the cluster before it may sleep. */
function validateHibernation({ spec, status }: Shoot, { spec: old }: Shoot): FieldError[] {
  if (wantsHibernation(old) || !wantsHibernation(spec)) return [];
  const rotation = ((status.credentials ?? {}) as { rotation?: Record<string, { phase?: string }> }).rotation ?? {};
  const blocking: Readonly<Record<string, readonly string[]>> = {
    etcdEncryptionKey: ['Preparing', 'Completing'],
    serviceAccountKey: ['Preparing', 'PreparingWithoutWorkersRollout', 'Completing'],
  };
  return Object.entries(blocking).flatMap(([key, phases]) => {
    const phase = rotation[key]?.phase ?? '';
    if (!phases.includes(phase)) return [];
    const rule = `shoot cannot be hibernated when .status.credentials.rotation.${key}.phase is "${phase}"`;
    return [forbiddenField('spec.hibernation.enabled', rule)];
  });
}

function validateForceDeletion({ metadata, status }: Shoot, old: Shoot): FieldError[] {
  const field = `metadata.annotations[${annotationNames.forceDeletion}]`;
  const isForced = isTrue(metadata.annotations?.[annotationNames.forceDeletion]);
  const wasForced = isTrue(old.metadata.annotations?.[annotationNames.forceDeletion]);
  if (isForced === wasForced) return [];
  if (!isForced) return [forbiddenField(field, 'force-deletion annotation cannot be removed once set')];
  const errors: FieldError[] = [];
  if (metadata.deletionTimestamp === undefined) {
    const rule = 'force-deletion annotation cannot be set when Shoot deletionTimestamp is nil';
    errors.push(forbiddenField(field, rule));
  }
  const codes = (status.lastErrors ?? []).flatMap((error) => error.codes ?? []);
  if (!codes.some((code) => forceDeletionCodes.includes(code))) {
    const rule = `force-deletion annotation cannot be set when Shoot status does not contain one of these error codes: [${forceDeletionCodes.join(' ')}]`;
    errors.push(forbiddenField(field, rule));
  }
  return errors;
}
