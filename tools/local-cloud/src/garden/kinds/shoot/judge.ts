import { aggregate, type FieldError, invalid } from '../../kube/field-error.js';
import { equalJson } from '../../kube/object.js';
import { forbidden, invalidObject, type ResourceName, StatusError } from '../../kube/status-error.js';
import type { AdmissionContext } from '../kind.js';
import type { CredentialsBinding } from '../projects.js';
import { cloudProfileOf } from './defaults.js';
import { judgeByCatalogue } from './judge-catalogue.js';
import { judgeByProvider } from './judge-provider.js';
import type { Shoot, ShootStatus } from './shoot.js';
import { judgeRanges } from './validate.js';

const NAMES_LENGTH_MAX = 21;
/** The networking extensions of this garden. */
const NETWORKING_TYPES = ['calico', 'cilium'];
const WEBHOOK = 'validation.hcloud.provider.extensions.gardener.cloud';
const CONFIRMATION = 'confirmation.gardener.cloud/deletion';

/** Whether the control plane is migrating. Such a Shoot must not change. */
const isMoving = ({ lastOperation }: ShootStatus): boolean =>
  lastOperation?.type === 'Migrate' || (lastOperation?.type === 'Restore' && lastOperation.state !== 'Succeeded');

/** Validates a create or update like the admission plugins and the provider's webhook. @throws StatusError */
export function judgeShoot(resource: ResourceName, shoot: Shoot, old: Shoot | null, context: AdmissionContext): void {
  const { metadata, spec } = shoot;
  const { name = '', namespace = '' } = metadata;
  const specChanged = old === null || !equalJson(spec, old.spec);
  const binding = specChanged ? findBinding(resource, shoot, context) : null;
  if (!specChanged && equalJson(metadata, old?.metadata)) return;
  const profile = cloudProfileOf(shoot, context);
  const project = projectOf(namespace, context);

  if (old === null) judgeName(resource, name, project);
  else judgeMoving(resource, shoot, old, context);
  const networking = spec.networking?.type ?? '';
  if (networking !== old?.spec.networking?.type && !NETWORKING_TYPES.includes(networking)) {
    const why = `given Shoot uses non-registered networking type: spec.networking.type ("${networking}")`;
    throw forbidden(resource, name, why);
  }

  const errors: FieldError[] = [];
  if (binding !== null && binding.provider.type !== spec.provider.type) {
    const rule = `provider type in shoot must match provider type of referenced CredentialsBinding: "${binding.provider.type}"`;
    errors.push(invalid('spec.provider.type', spec.provider.type, rule));
  }
  errors.push(...judgeRanges(spec), ...judgeByCatalogue(shoot, old, profile, context.nowMs));
  if (errors.length > 0) throw forbidden(resource, name, aggregate(errors));

  const refusal = judgeByProvider(shoot, old, `shoot--${project}--${name}`, context.extensionFields);
  if (refusal !== null) {
    throw new StatusError(403, 'Forbidden', `admission webhook "${WEBHOOK}" denied the request: ${refusal}`);
  }
}

/** @throws StatusError 403 */
export function judgeShootDeletion(resource: ResourceName, { metadata, status }: Shoot): void {
  const { name = '', annotations } = metadata;
  if (annotations?.[CONFIRMATION] !== 'true') {
    throw forbidden(resource, name, `must have a "${CONFIRMATION}" annotation to delete`);
  }
  if (!isMoving(status)) return;
  const { type, state } = status.lastOperation ?? {};
  throw forbidden(resource, name, `cannot mark shoot for deletion during ${type} operation that is in state ${state}`);
}

/** Name of the Project that a namespace belongs to. */
const projectOf = (namespace: string, { find }: AdmissionContext): string =>
  find('namespaces', '', namespace)?.metadata.labels?.['project.gardener.cloud/name'] ?? namespace;

function findBinding(resource: ResourceName, shoot: Shoot, { find }: AdmissionContext): CredentialsBinding {
  const { metadata, spec } = shoot;
  const { credentialsBindingName = '' } = spec;
  const binding = find<CredentialsBinding>('credentialsbindings', metadata.namespace ?? '', credentialsBindingName);
  if (binding !== null) return binding;
  const missing = `credentialsbinding.security.gardener.cloud "${credentialsBindingName}" not found`;
  throw forbidden(resource, metadata.name ?? '', missing);
}

/** Checked on create only: existing Shoots keep names that exceed a lower limit. */
function judgeName(resource: ResourceName, name: string, project: string): void {
  if (project.length + name.length <= NAMES_LENGTH_MAX) return;
  const rule = `the length of the shoot name and the project name must not exceed ${NAMES_LENGTH_MAX} characters (project: ${project}; shoot: ${name})`;
  throw invalidObject(resource, name, [invalid('name', name, rule)]);
}

function judgeMoving(resource: ResourceName, shoot: Shoot, old: Shoot, { subresource }: AdmissionContext): void {
  const { metadata, spec, status } = shoot;
  const refuse = (why: string): StatusError => forbidden(resource, metadata.name ?? '', why);
  if (subresource === 'binding') return;
  if (spec.seedName !== old.spec.seedName) {
    throw refuse(
      `spec.seedName '${old.spec.seedName ?? 'nil'}' cannot be changed to '${spec.seedName ?? 'nil'}' by patching the shoot, please use the shoots/binding subresource`,
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
