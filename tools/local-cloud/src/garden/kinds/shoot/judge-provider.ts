import { checkFields } from '../../fields/check-fields.js';
import { any, flag, listOf, mapOf, struct, text } from '../../fields/schema.js';
import type { ExtensionField } from '../../garden-settings.js';
import { aggregate, type FieldError, forbiddenField, immutable, invalid, required } from '../../kube/field-error.js';
import { equalJson, type Fields, fieldAt, isFields } from '../../kube/object.js';
import { findWorker, type Shoot, type ShootSpec, type Worker, workersOf } from './shoot.js';

/** Server names must be valid host names and label values. */
const NODE_NAME_MAX = 63;
/** Length of two suffixes of five characters, each after a hyphen. */
const MACHINE_SUFFIX = 12;
const API_VERSION = 'hcloud.provider.extensions.gardener.cloud/v1alpha1';

/**
 * Checks of the provider's admission webhook. It also refuses Shoots that the real extension would accept but then fail
 * to reconcile: without networks, with the control plane in a different zone than the workers, or with server names
 * that are too long.
 *
 * @param extra fields that this build of the extension supports in addition to the public ones
 * @returns null if it accepts the Shoot
 */
export function judgeByProvider(
  { metadata, spec }: Shoot,
  old: Shoot | null,
  technicalId: string,
  extra: readonly ExtensionField[],
): string | null {
  if (metadata.deletionTimestamp !== undefined) return null;
  const infrastructure = decodeProviderConfig('InfrastructureConfig', spec.provider.infrastructureConfig, extra);
  if (typeof infrastructure === 'string') {
    return `spec.provider.infrastructureConfig: Internal error: ${infrastructure}`;
  }
  const controlPlane = decodeProviderConfig('ControlPlaneConfig', spec.provider.controlPlaneConfig, extra);
  if (typeof controlPlane === 'string') return controlPlane;
  const errors = [
    ...judgeInfrastructure(infrastructure, old),
    ...judgeControlPlane(spec),
    ...workersOf(spec).flatMap((worker, index) => {
      const at = `spec.provider.workers[${index}]`;
      return judgeWorker(worker, findWorker(old?.spec, worker.name), at, { technicalId, extra });
    }),
  ];
  return errors.length === 0 ? null : aggregate(errors);
}

function judgeInfrastructure({ networks }: Fields, old: Shoot | null): FieldError[] {
  const cidr = fieldAt(networks, 'workersConfiguration', 'cidr') ?? fieldAt(networks, 'workers');
  if (typeof cidr !== 'string' || cidr === '') {
    const rule = 'networks.workersConfiguration or networks.workers is a required field';
    return [required('spec.provider.infrastructureConfig.networks', rule)];
  }
  const before = old?.spec.provider.infrastructureConfig;
  if (before === undefined || equalJson(networks, before.networks)) return [];
  return [immutable('networks', networks)];
}

function judgeControlPlane({ provider }: ShootSpec): FieldError[] {
  const field = 'spec.provider.controlPlaneConfig.zone';
  const zone = provider.controlPlaneConfig?.zone;
  if (typeof zone !== 'string' || zone === '') {
    return [required(field, 'must provide the name of a zone in this region')];
  }
  const isUsed = (provider.workers ?? []).some(({ zones }) => zones?.includes(zone));
  return isUsed ? [] : [invalid(field, zone, 'must be part of at least one worker zone')];
}

function judgeWorker(
  worker: Worker,
  before: Worker | undefined,
  at: string,
  { technicalId, extra }: { readonly technicalId: string; readonly extra: readonly ExtensionField[] },
): FieldError[] {
  const { name, zones = [], minimum, maximum, providerConfig } = worker;
  if (zones.length === 0) return [required(`${at}.zones`, 'at least one zone must be configured')];
  const errors: FieldError[] = [];
  if (maximum !== 0 && minimum === 0) {
    const rule = 'minimum value must be >= 1 if maximum value > 0 (auto scaling to 0 is not supported)';
    errors.push(forbiddenField(`${at}.minimum`, rule));
  }
  const length = Math.max(...zones.map((zone) => `${technicalId}-${name}-${zone}`.length)) + MACHINE_SUFFIX;
  if (length > NODE_NAME_MAX) {
    const rule = `names of servers of this pool would have ${length} characters, more than ${NODE_NAME_MAX}`;
    errors.push(invalid(`${at}.name`, name, rule));
  }
  if (before?.zones !== undefined && !equalJson(before.zones, zones)) errors.push(immutable(`${at}.zones`, zones));
  if (worker.machine.image?.providerConfig !== undefined && !extra.includes('imageOptions')) {
    errors.push(forbiddenField(`${at}.machine.image.providerConfig`, 'images have no options here'));
  }
  if (providerConfig === undefined) return errors;
  const config = decodeProviderConfig('WorkerConfig', providerConfig, extra);
  return typeof config === 'string' ? [...errors, invalid(`${at}.providerConfig`, providerConfig, config)] : errors;
}

const typeMeta = { apiVersion: text, kind: text };

const schemasWith = (extra: readonly ExtensionField[]) => ({
  InfrastructureConfig: struct({
    ...typeMeta,
    floatingPoolName: text,
    networks: struct({
      workersConfiguration: struct({ cidr: text, zone: text }),
      workers: text,
      ...(extra.includes('existingNetwork') ? { existingNetwork: text } : {}),
    }),
  }),
  ControlPlaneConfig: struct({
    ...typeMeta,
    zone: text,
    cloudControllerManager: struct({ featureGates: mapOf(flag) }),
    loadBalancerClasses: listOf(any),
    loadBalancerSize: text,
  }),
  WorkerConfig: struct({
    ...typeMeta,
    placementGroupType: text,
    ...(extra.includes('publicIP') ? { publicIP: flag } : {}),
  }),
});

/**
 * Decodes an object of the provider as strictly as the real extension.
 *
 * @returns the object or a description of the error
 */
function decodeProviderConfig(
  kind: keyof ReturnType<typeof schemasWith>,
  value: unknown,
  extra: readonly ExtensionField[],
): Fields | string {
  if (!isFields(value)) return `could not decode ${kind}: the object is missing`;
  if (value.apiVersion !== API_VERSION || value.kind !== kind) {
    return `no kind ${JSON.stringify(value.kind ?? '')} is registered for version ${JSON.stringify(value.apiVersion ?? '')}`;
  }
  const { unknown, mistyped } = checkFields(schemasWith(extra)[kind], value);
  if (mistyped !== null) return mistyped;
  const fields = unknown.map((field) => `unknown field ${JSON.stringify(field)}`);
  return fields.length === 0 ? value : `strict decoding error: ${fields.join(', ')}`;
}
