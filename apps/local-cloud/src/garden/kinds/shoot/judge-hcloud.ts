import type { ExtensionField } from '../../garden-settings.js';
import { aggregate, type FieldError, forbiddenField, immutable, invalid, required } from '../../kube/field-error.js';
import { equalJson, type Fields, fieldAt } from '../../kube/object.js';
import { decodeProviderConfig } from './provider-config.js';
import { isWorkerless, type Shoot, type ShootSpec, type Worker, workersOf } from './shoot.js';

/** Names of servers are host names and values of labels. */
const NODE_NAME_MAX = 63;
/** Two suffixes of five characters, each after a hyphen. */
const MACHINE_SUFFIX = 12;
const PLACEMENT_GROUP_MAX = 10;

/**
 * What the provider's admission webhook refuses. Beyond the extension's own checks it refuses what the extension would
 * accept and then fail at: no networks, another zone for the control plane than for workers, names of servers that are
 * too long.
 *
 * @param extra fields that this build of the extension takes beyond the public ones
 * @returns null when it is content
 */
export function judgeByProvider(
  shoot: Shoot,
  old: Shoot | null,
  technicalId: string,
  extra: readonly ExtensionField[],
): string | null {
  const { spec } = shoot;
  if (isWorkerless(spec) || shoot.metadata.deletionTimestamp !== undefined) return null;
  const infrastructure = decodeProviderConfig('InfrastructureConfig', spec.provider.infrastructureConfig, extra);
  if (typeof infrastructure === 'string') {
    return `spec.provider.infrastructureConfig: Internal error: ${infrastructure}`;
  }
  if (spec.provider.controlPlaneConfig !== undefined) {
    const controlPlane = decodeProviderConfig('ControlPlaneConfig', spec.provider.controlPlaneConfig, extra);
    if (typeof controlPlane === 'string') return controlPlane;
  }
  const errors = [
    ...judgeInfrastructure(infrastructure, old),
    ...judgeControlPlane(spec),
    ...workersOf(spec).flatMap((worker, index) =>
      judgeWorker(worker, findWorker(old, worker.name), `spec.provider.workers[${index}]`, { technicalId, extra }),
    ),
  ];
  return errors.length === 0 ? null : aggregate(errors);
}

const findWorker = (shoot: Shoot | null, wanted: string): Worker | undefined =>
  shoot === null ? undefined : workersOf(shoot.spec).find(({ name }) => name === wanted);

function judgeInfrastructure({ networks }: Fields, old: Shoot | null): FieldError[] {
  const cidr = fieldAt(networks, 'workersConfiguration', 'cidr') ?? fieldAt(networks, 'workers');
  if (typeof cidr !== 'string' || cidr === '') {
    return [
      required(
        'spec.provider.infrastructureConfig.networks',
        'networks.workersConfiguration or networks.workers is a required field',
      ),
    ];
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
  const { name, zones = [], minimum, maximum, maxSurge = 0, providerConfig } = worker;
  if (zones.length === 0) return [required(`${at}.zones`, 'at least one zone must be configured')];
  const errors: FieldError[] = [];
  if (maximum !== 0 && minimum === 0) {
    const rule = 'minimum value must be >= 1 if maximum value > 0 (auto scaling to 0 is not supported)';
    errors.push(forbiddenField(`${at}.minimum`, rule));
  }
  for (const [index, zone] of zones.entries()) {
    if (zones.indexOf(zone) !== index) {
      errors.push(invalid(`${at}.zones[${index}]`, zone, 'must only be specified once per worker group'));
    }
    const length = technicalId.length + 1 + name.length + 1 + zone.length + MACHINE_SUFFIX;
    if (length > NODE_NAME_MAX) {
      const rule = `names of servers of this pool would have ${length} characters, more than ${NODE_NAME_MAX}`;
      errors.push(invalid(`${at}.name`, name, rule));
    }
  }
  if (before?.zones !== undefined && !equalJson(before.zones, zones)) errors.push(immutable(`${at}.zones`, zones));
  if (worker.machine.image?.providerConfig !== undefined && !extra.includes('imageOptions')) {
    errors.push(forbiddenField(`${at}.machine.image.providerConfig`, 'images have no options here'));
  }
  if (providerConfig === undefined) return errors;
  const config = decodeProviderConfig('WorkerConfig', providerConfig, extra);
  if (typeof config === 'string') return [...errors, invalid(`${at}.providerConfig`, providerConfig, config)];
  if (config.placementGroupType === 'spread' && maximum + Number(maxSurge) > PLACEMENT_GROUP_MAX) {
    const rule =
      'When the workers of this pool should be placed in a placmentgroup, the pool must not be lager than 10 - MaxSurge';
    errors.push(forbiddenField(`${at}.maximum`, rule));
  }
  return errors;
}
