import { aggregate, type FieldError, invalid } from '../../kube/field-error.js';
import { forbidden, internalError, type ResourceName } from '../../kube/status-error.js';
import { type CloudProfile, isPickable } from '../cloud-profile.js';
import type { AdmissionContext } from '../kind.js';
import { newestIn } from '../versions.js';
import { blankStatus, findWorker, type MachineImage, type Shoot, type Worker, workersOf } from './shoot.js';

/** Sets the defaults of the API type, for every writer (`pkg/apis/core/v1beta1/defaults_shoot.go`). */
export function setShootDefaults(shoot: Shoot): void {
  shoot.spec ??= {} as Shoot['spec'];
  const { spec } = shoot;
  spec.kubernetes ??= { version: '' };
  spec.kubernetes.version ??= '';
  spec.provider ??= { type: '' };
  spec.provider.type ??= '';
  spec.region ??= '';
  spec.purpose ??= 'evaluation';
  spec.networking ??= {};
  if ((spec.networking.ipFamilies ?? []).length === 0) spec.networking.ipFamilies = ['IPv4'];
  if (spec.cloudProfile !== undefined) spec.cloudProfile.kind ??= 'CloudProfile';
  spec.maintenance ??= {};
  spec.maintenance.autoUpdate ??= { kubernetesVersion: true };
  spec.maintenance.autoUpdate.kubernetesVersion ??= false;
  spec.maintenance.autoUpdate.machineImageVersion ??= true;
  spec.maintenance.timeWindow ??= { begin: '220000+0000', end: '230000+0000' };
  for (const worker of workersOf(spec)) setPoolDefaults(worker);
  shoot.status ??= blankStatus();
}

function setPoolDefaults(worker: Worker): void {
  worker.minimum ??= 0;
  worker.maximum ??= 0;
  worker.machine ??= { type: '' };
  worker.machine.type ??= '';
  worker.cri ??= { name: 'containerd' };
  worker.updateStrategy ??= 'AutoRollingUpdate';
  worker.maxSurge ??= 1;
  worker.maxUnavailable ??= 0;
  worker.systemComponents ??= { allow: true };
}

/** @throws StatusError 500 if the profile does not exist, as Gardener answers */
export function cloudProfileOf(shoot: Shoot, { find }: AdmissionContext): CloudProfile {
  const name = shoot.spec.cloudProfile?.name ?? '';
  const profile = find<CloudProfile>('cloudprofiles', '', name);
  if (profile !== null) return profile;
  throw internalError(`could not find referenced cloud profile: cloudprofile.core.gardener.cloud "${name}" not found`);
}

/**
 * Mutating admission (`plugin/pkg/shoot/mutator`): resolves the architecture and the image of each pool.
 *
 * @throws StatusError 403 for an image that cannot be resolved
 */
export function admitShoot(resource: ResourceName, shoot: Shoot, old: Shoot | null, context: AdmissionContext): void {
  const { spec, metadata } = shoot;
  if (spec.cloudProfile === undefined) return;
  const profile = cloudProfileOf(shoot, context);
  const errors: FieldError[] = [];
  for (const [index, worker] of workersOf(spec).entries()) {
    const { machine } = worker;
    const type = profile.spec.machineTypes.find(({ name }) => name === machine.type);
    machine.architecture ??= type?.architecture ?? 'amd64';
    if (metadata.deletionTimestamp !== undefined) continue;
    const current = findWorker(old?.spec, worker.name)?.machine.image;
    const image = resolveImage(profile, worker, current, `spec.provider.workers[${index}]`, context.nowMs);
    if ('reason' in image) errors.push(image);
    else machine.image = image;
  }
  if (errors.length > 0) throw forbidden(resource, metadata.name ?? '', aggregate(errors));
}

type OfferedImage = CloudProfile['spec']['machineImages'][number];

/** A pool keeps its image unless another is requested. A new pool gets the newest image for its architecture. */
function resolveImage(
  { spec: { machineImages } }: CloudProfile,
  { machine: { image: wanted, architecture = 'amd64' } }: Worker,
  current: MachineImage | undefined,
  field: string,
  nowMs: number,
): MachineImage | FieldError {
  if (current !== undefined && keeps(wanted, current)) return { ...current, ...providerConfigOf(wanted ?? current) };
  const runs = ({ architectures = ['amd64'] }: OfferedImage['versions'][number]): boolean =>
    architectures.includes(architecture);
  const { name = '', version = '' } = wanted ?? {};
  const image = machineImages.find((offered) => (name === '' ? offered.versions.some(runs) : offered.name === name));
  if (image === undefined) {
    const none = `no valid machine image found that supports architecture \`${architecture}\``;
    return name === '' ? invalid(field, `@${version}`, none) : invalid(field, name, 'image is not supported');
  }
  const isFull = version.split('.').length === 3 || image.versions.some((offered) => offered.version === version);
  if (isFull && wanted !== undefined) return wanted;
  const found = newestIn(
    image.versions.filter((offered) => runs(offered) && isPickable(offered, nowMs)),
    version,
  );
  if (found !== undefined) return { name: image.name, ...providerConfigOf(wanted), version: found.version };
  const why = 'failed to determine latest machine image from cloud profile: no latest machine image found';
  return invalid(field, `${image.name}@${version}`, why);
}

/** Whether a write keeps the image: it omits the image or repeats it. */
function keeps(wanted: MachineImage | undefined, current: MachineImage): boolean {
  if (wanted === undefined) return true;
  const { name, version = '' } = wanted;
  return name === current.name && (version === '' || version === current.version);
}

const providerConfigOf = (image: MachineImage | undefined): Pick<MachineImage, 'providerConfig'> =>
  image?.providerConfig === undefined ? {} : { providerConfig: image.providerConfig };
