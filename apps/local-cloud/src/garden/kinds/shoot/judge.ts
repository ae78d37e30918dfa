import { aggregate, type FieldError, invalid } from '../../kube/field-error.js';
import { equalJson } from '../../kube/object.js';
import { forbidden, invalidObject, type ResourceName, StatusError } from '../../kube/status-error.js';
import { zonesOfSeed } from '../../seed/seeds.js';
import { annotationNames, isDeletionConfirmed } from '../annotations.js';
import type { CredentialsBinding } from '../credentials-binding.js';
import type { AdmissionContext } from '../kind.js';
import type { Project } from '../project.js';
import { judgeByCatalogue } from './judge-catalogue.js';
import { judgeByProvider } from './judge-hcloud.js';
import { cloudProfileOf } from './mutate.js';
import { failureToleranceOf, isWorkerless, type Shoot, type ShootStatus, wantsHibernation } from './shoot.js';
import { judgeNetworks } from './validate-networking.js';

const FINALIZER = 'gardener';
const NAMES_LENGTH_MAX = 21;
/** The networking extensions of this garden. */
const NETWORKING_TYPES = ['calico', 'cilium'];
const GENERATED_LENGTH = 5;
const WEBHOOK = 'validation.hcloud.provider.extensions.gardener.cloud';

/** A Shoot on its way from one seed to another: it must not be touched. */
const isMoving = ({ lastOperation }: ShootStatus): boolean =>
  lastOperation?.type === 'Migrate' || (lastOperation?.type === 'Restore' && lastOperation.state !== 'Succeeded');

/** Judges a create or update as the admission plugins and the provider's webhook do. @throws StatusError */
export function judgeShoot(resource: ResourceName, shoot: Shoot, old: Shoot | null, context: AdmissionContext): void {
  const { metadata, spec } = shoot;
  const { name = '', namespace = '' } = metadata;
  const refuse = (why: string): StatusError => forbidden(resource, name, why);
  const specChanged = old === null || !equalJson(spec, old.spec);
  const binding = specChanged ? findBinding(resource, shoot, context) : null;
  if (old !== null && !specChanged && equalJson(metadata, old.metadata)) return;
  const profile = cloudProfileOf(shoot, context);
  const project = projectOf(namespace, context);

  if (old === null) judgeNames(resource, shoot, project?.metadata.name ?? namespace);
  else {
    judgeFinalizer(resource, shoot, old);
    judgeMoving(resource, shoot, old, context);
  }
  const networking = spec.networking?.type;
  if (networking !== undefined && networking !== old?.spec.networking?.type && !NETWORKING_TYPES.includes(networking)) {
    throw refuse(`given Shoot uses non-registered networking type: spec.networking.type ("${networking}")`);
  }
  judgeHibernation(resource, shoot, old);
  judgeSeed(resource, shoot);

  const errors: FieldError[] = [];
  if (binding !== null && binding.provider.type !== spec.provider.type) {
    const rule = `provider type in shoot must match provider type of referenced CredentialsBinding: "${binding.provider.type}"`;
    errors.push(invalid('spec.provider.type', spec.provider.type, rule));
  }
  const isScheduling = spec.seedName !== old?.spec.seedName;
  errors.push(...judgeNetworks(spec.networking ?? {}, isScheduling));
  errors.push(...judgeByCatalogue(shoot, old, profile, context.nowMs));
  if (errors.length > 0) throw refuse(aggregate(errors));

  const technicalId = `shoot--${project?.metadata.name ?? namespace}--${name}`;
  const refusal = judgeByProvider(shoot, old, technicalId, context.extensionFields);
  if (refusal !== null) {
    throw new StatusError(403, 'Forbidden', `admission webhook "${WEBHOOK}" denied the request: ${refusal}`);
  }
}

/** @throws StatusError 403 */
export function judgeShootDeletion(resource: ResourceName, shoot: Shoot, context: AdmissionContext): void {
  const { name = '', annotations, namespace = '' } = shoot.metadata;
  const refuse = (why: string): StatusError => forbidden(resource, name, why);
  if (!isDeletionConfirmed(annotations)) {
    throw refuse(`must have a "${annotationNames.confirmDeletion}" annotation to delete`);
  }
  const project = projectOf(namespace, context);
  const confirmedBySame = annotations?.[annotationNames.confirmedBy] === context.user;
  if (confirmedBySame && needsTwo(project, shoot, context.user)) {
    throw refuse(
      'you are not allowed to both confirm the deletion and send the actual DELETE request - another subject must perform the deletion',
    );
  }
  if (isMoving(shoot.status)) {
    const { type, state } = shoot.status.lastOperation ?? {};
    throw refuse(`cannot mark shoot for deletion during ${type} operation that is in state ${state}`);
  }
}

interface DualApproval {
  readonly resource?: string;
  /** An empty one selects everything, none at all nothing. */
  readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  /** Default true. */
  readonly includeServiceAccounts?: boolean;
}

function needsTwo(project: Readonly<Project> | null, { metadata }: Shoot, user: string): boolean {
  const rules = (project?.spec.dualApprovalForDeletion ?? []) as DualApproval[];
  const rule = rules.find(({ resource }) => resource === 'shoots');
  if (rule?.selector === undefined) return false;
  const wanted = Object.entries(rule.selector.matchLabels ?? {});
  if (!wanted.every(([label, value]) => metadata.labels?.[label] === value)) return false;
  return !user.startsWith('system:serviceaccount:') || rule.includeServiceAccounts !== false;
}

function projectOf(namespace: string, { find }: AdmissionContext): Project | null {
  const held = find('namespaces', '', namespace);
  const name = held?.metadata.labels?.['project.gardener.cloud/name'];
  return name === undefined ? null : find<Project>('projects', '', name);
}

function findBinding(resource: ResourceName, shoot: Shoot, { find }: AdmissionContext): CredentialsBinding | null {
  const { metadata, spec } = shoot;
  const { credentialsBindingName, secretBindingName } = spec;
  if (isWorkerless(spec)) return null;
  if (secretBindingName !== undefined) {
    throw forbidden(
      resource,
      metadata.name ?? '',
      `secretbinding.core.gardener.cloud "${secretBindingName}" not found`,
    );
  }
  if (credentialsBindingName === undefined) return null;
  const binding = find<CredentialsBinding>('credentialsbindings', metadata.namespace ?? '', credentialsBindingName);
  if (binding !== null) return binding;
  const missing = `credentialsbinding.security.gardener.cloud "${credentialsBindingName}" not found`;
  throw forbidden(resource, metadata.name ?? '', missing);
}

/** The finalizer is the garden's hold on the provider's resources. */
function judgeFinalizer(resource: ResourceName, { metadata, status }: Shoot, old: Shoot): void {
  const isRemoved = old.metadata.finalizers?.includes(FINALIZER) && !metadata.finalizers?.includes(FINALIZER);
  const { type, state } = status.lastOperation ?? {};
  if (!isRemoved || (type === 'Delete' && state === 'Succeeded')) return;
  const why = `finalizer "${FINALIZER}" cannot be removed because shoot deletion has not completed successfully yet`;
  throw forbidden(resource, metadata.name ?? '', why);
}

/** Only on create: Shoots that are there keep their names whatever the limits become. */
function judgeNames(resource: ResourceName, { metadata }: Shoot, project: string): void {
  const { name = '', generateName = '' } = metadata;
  const isGenerated =
    generateName !== '' && name.startsWith(generateName) && name.length === generateName.length + GENERATED_LENGTH;
  const [given, limit] = isGenerated ? [generateName, NAMES_LENGTH_MAX - GENERATED_LENGTH] : [name, NAMES_LENGTH_MAX];
  if (project.length + given.length <= limit) return;
  const rule = isGenerated
    ? `the length of the shoot generateName and the project name must not exceed ${limit} characters (project: ${project}; shoot with generateName: ${given})`
    : `the length of the shoot name and the project name must not exceed ${limit} characters (project: ${project}; shoot: ${given})`;
  throw invalidObject(resource, name, [invalid('name', name, rule)]);
}

function judgeMoving(resource: ResourceName, shoot: Shoot, old: Shoot, { subresource }: AdmissionContext): void {
  const { metadata, spec, status } = shoot;
  const refuse = (why: string): StatusError => forbidden(resource, metadata.name ?? '', why);
  if (old.spec.seedName !== undefined && spec.seedName === undefined) {
    throw refuse(`spec.seedName is already set to '${old.spec.seedName}' and cannot be changed to 'nil'`);
  }
  if (subresource === 'binding') return;
  if (spec.seedName !== old.spec.seedName) {
    throw refuse(
      `spec.seedName '${old.spec.seedName ?? 'nil'}' cannot be changed to '${spec.seedName}' by patching the shoot, please use the shoots/binding subresource`,
    );
  }
  if (equalJson(spec, old.spec)) return;
  const isRescheduled = status.seedName !== undefined && spec.seedName !== status.seedName;
  if (isRescheduled && status.lastOperation !== undefined && status.lastOperation.type !== 'Migrate') {
    throw refuse('shoot spec cannot be changed because shoot has been rescheduled to a new seed');
  }
  if (isMoving(status)) {
    const { type, state } = status.lastOperation ?? {};
    throw refuse(`cannot change shoot spec during ${type} operation that is in state ${state}`);
  }
}

/** A control plane that survives the loss of a zone needs three of them. */
function judgeSeed(resource: ResourceName, { metadata, spec }: Shoot): void {
  const zones = spec.seedName === undefined ? null : zonesOfSeed(spec.seedName);
  if (failureToleranceOf(spec) !== 'zone' || zones === null || zones >= 3) return;
  const why = `cannot schedule shoot '${metadata.name}' with failure tolerance of zone on seed '${spec.seedName}' with only ${zones} zones, at least 3 zones are required`;
  throw forbidden(resource, metadata.name ?? '', why);
}

/** A webhook that would block the wake-up blocks the hibernation. */
function judgeHibernation(resource: ResourceName, { metadata, spec, status }: Shoot, old: Shoot | null): void {
  if (!wantsHibernation(spec) || (old !== null && wantsHibernation(old.spec))) return;
  const constraint = status.constraints?.find(({ type }) => type === 'HibernationPossible');
  if (constraint === undefined || constraint.status === 'True') return;
  const why = `'HibernationPossible' constraint is '${constraint.status}': ${constraint.message}`;
  throw forbidden(resource, metadata.name ?? '', why);
}
