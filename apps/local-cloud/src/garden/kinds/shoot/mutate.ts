import { aggregate, type FieldError } from '../../kube/field-error.js';
import { equalJson, type Fields } from '../../kube/object.js';
import { forbidden, internalError, type ResourceName } from '../../kube/status-error.js';
import { annotationNames, isDeletionConfirmed } from '../annotations.js';
import type { CloudProfile } from '../cloud-profile.js';
import type { AdmissionContext } from '../kind.js';
import { resolveImage } from './resolve-image.js';
import { resolveVersion } from './resolve-version.js';
import { type Shoot, wantsHibernation, workersOf } from './shoot.js';

const DEFAULT_PODS = '100.96.0.0/11';
const DEFAULT_SERVICES = '100.64.0.0/13';
const DEFAULT_DOMAIN = 'shoots.local-garden.test';

/** @throws StatusError 500, as Gardener answers for a profile that is not there */
export function cloudProfileOf(shoot: Shoot, { find }: AdmissionContext): CloudProfile {
  const name = shoot.spec.cloudProfile?.name ?? shoot.spec.cloudProfileName ?? '';
  const profile = find<CloudProfile>('cloudprofiles', '', name);
  if (profile !== null) return profile;
  throw internalError(`could not find referenced cloud profile: cloudprofile.core.gardener.cloud "${name}" not found`);
}

/**
 * What Gardener changes in a Shoot on every write, past its caller (`plugin/pkg/shoot/mutator`): versions and images
 * are resolved, networks of a scheduled Shoot defaulted, tasks and the names of those who acted noted down.
 */
export function mutateShoot(resource: ResourceName, shoot: Shoot, old: Shoot | null, context: AdmissionContext): void {
  const { spec, metadata } = shoot;
  if (old === null && spec.cloudProfile !== undefined && (spec.cloudProfileName ?? '') !== '') {
    throw internalError('new shoot can only specify either cloudProfileName or cloudProfile reference');
  }
  if (spec.cloudProfile === undefined && spec.cloudProfileName === undefined) return;
  const profile = cloudProfileOf(shoot, context);
  noteConfirmation(shoot, old, context.user);
  if (old === null) {
    setAnnotation(shoot, annotationNames.createdBy, context.user);
    defaultKeyRotation(shoot);
  }
  noteTasks(shoot, old);
  if (spec.seedName !== undefined) {
    defaultNetworks(shoot);
    defaultDomain(shoot, context);
  }

  const errors = resolveVersions(shoot, old, profile, context.nowMs);
  if (errors.length > 0) throw forbidden(resource, metadata.name ?? '', aggregate(errors));
}

/** @returns what could not be resolved */
function resolveVersions(shoot: Shoot, old: Shoot | null, profile: CloudProfile, nowMs: number): FieldError[] {
  const { spec, metadata } = shoot;
  const errors: FieldError[] = [];
  const resolve = (version: string, field: string): string => {
    const resolved = resolveVersion(profile, version, field, nowMs);
    if (typeof resolved === 'string') return resolved;
    errors.push(resolved);
    return version;
  };
  spec.kubernetes.version = resolve(spec.kubernetes.version, 'spec.kubernetes.version');
  for (const [index, worker] of workersOf(spec).entries()) {
    const at = `spec.provider.workers[${index}]`;
    const { kubernetes, machine } = worker;
    if (kubernetes?.version !== undefined) {
      kubernetes.version = resolve(kubernetes.version, `${at}.kubernetes.version`);
    }
    const type = profile.spec.machineTypes.find(({ name }) => name === machine.type);
    machine.architecture ??= type?.architecture ?? 'amd64';
    if (metadata.deletionTimestamp !== undefined) continue;
    const before = old === null ? undefined : workersOf(old.spec).find(({ name }) => name === worker.name);
    const image = resolveImage(profile, worker, before?.machine.image, at, nowMs);
    if ('reason' in image) errors.push(image);
    else machine.image = image;
  }
  return errors;
}

function setAnnotation({ metadata }: Shoot, name: string, value: string): void {
  metadata.annotations = { ...metadata.annotations, [name]: value };
}

/** Whoever confirms a deletion is remembered: with dual approval somebody else has to delete. */
function noteConfirmation(shoot: Shoot, old: Shoot | null, user: string): void {
  if (!isDeletionConfirmed(shoot.metadata.annotations)) {
    delete shoot.metadata.annotations?.[annotationNames.confirmedBy];
  } else if (old === null || !isDeletionConfirmed(old.metadata.annotations)) {
    setAnnotation(shoot, annotationNames.confirmedBy, user);
  } else {
    setAnnotation(shoot, annotationNames.confirmedBy, old.metadata.annotations?.[annotationNames.confirmedBy] ?? '');
  }
}

function noteTasks(shoot: Shoot, old: Shoot | null): void {
  const woken = old !== null && wantsHibernation(old.spec) && !wantsHibernation(shoot.spec);
  const infrastructureChanged =
    old !== null && !equalJson(old.spec.provider.infrastructureConfig, shoot.spec.provider.infrastructureConfig);
  const tasks = [
    ...(old === null || woken || infrastructureChanged ? ['deployInfrastructure'] : []),
    ...(old === null || woken || !equalJson(old?.spec.dns, shoot.spec.dns)
      ? ['deployDNSRecordInternal', 'deployDNSRecordExternal', 'deployDNSRecordIngress']
      : []),
  ];
  if (tasks.length === 0) return;
  const known = (shoot.metadata.annotations?.[annotationNames.tasks] ?? '').split(',').filter((task) => task !== '');
  setAnnotation(shoot, annotationNames.tasks, [...new Set([...known, ...tasks])].join(','));
}

function defaultKeyRotation({ spec }: Shoot): void {
  spec.maintenance ??= {};
  const rotation = ((spec.maintenance.autoRotation as Fields | undefined)?.credentials ?? {}) as Fields;
  rotation.etcdEncryptionKey ??= { rotationPeriod: '672h0m0s' };
  spec.maintenance.autoRotation = { credentials: rotation };
}

/** Known only once the Shoot has its seed: the ranges are the seed's defaults. */
function defaultNetworks({ spec }: Shoot): void {
  spec.networking ??= {};
  if (workersOf(spec).length > 0) spec.networking.pods ??= DEFAULT_PODS;
  spec.networking.services ??= DEFAULT_SERVICES;
}

/** The seed's default domain; from then on it is fixed. */
function defaultDomain({ metadata, spec }: Shoot, { find }: AdmissionContext): void {
  const { name = '', namespace = '' } = metadata;
  const project = find('namespaces', '', namespace)?.metadata.labels?.['project.gardener.cloud/name'] ?? namespace;
  spec.dns = { ...spec.dns, domain: spec.dns?.domain ?? `${name}.${project}.${DEFAULT_DOMAIN}` };
}
