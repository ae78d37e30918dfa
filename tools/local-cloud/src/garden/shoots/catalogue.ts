import semver from 'semver';
import type { CatalogueVersion, CloudProfile } from '../kinds/core-kinds.js';
import type { WriteContext } from '../kinds/kind.js';
import { type FieldError, internalError } from '../kube/errors.js';
import { equalJson } from '../kube/object.js';
import { findWorker, type MachineImage, type Shoot, type Worker, workersOf } from './shoot.js';

/** What Gardener sets in a pool that does not say otherwise. */
const poolDefaults = {
  maxSurge: 1,
  maxUnavailable: 0,
  cri: { name: 'containerd' },
  updateStrategy: 'AutoRollingUpdate',
  systemComponents: { allow: true },
};

/** Sets the defaults of pools, and resolves their architectures and images. @returns the images that cannot be resolved */
export function prepareWorkers(shoot: Shoot, old: Shoot | null, context: WriteContext): FieldError[] {
  const profile = profileOf(shoot, context);
  const errors: FieldError[] = [];
  for (const [index, worker] of workersOf(shoot.spec).entries()) {
    Object.assign(worker, { ...poolDefaults, ...worker });
    const { machine } = worker;
    machine.architecture ??= profile.machineTypes.find(({ name }) => name === machine.type)?.architecture ?? 'amd64';
    const image = resolvedImage(profile, worker, findWorker(old?.spec, worker.name)?.machine.image, context.nowMs);
    if (image !== null) machine.image = image;
    else
      errors.push({ field: `spec.provider.workers[${index}]`, message: 'Invalid value: no such machine image found' });
  }
  return errors;
}

/** @throws StatusError 500 if there is no such profile, as Gardener answers */
function profileOf({ spec }: Shoot, { find }: WriteContext): CloudProfile['spec'] {
  const name = spec.cloudProfile?.name ?? '';
  const profile = find<CloudProfile>('cloudprofiles', '', name);
  if (profile !== null) return profile.spec;
  throw internalError(`could not find referenced cloud profile: cloudprofile.core.gardener.cloud "${name}" not found`);
}

/** A pool keeps its image unless another is requested. A new pool gets the newest image for its architecture. */
function resolvedImage(
  { machineImages }: CloudProfile['spec'],
  { machine: { image: wanted = {}, architecture = 'amd64' } }: Worker,
  current: MachineImage | undefined,
  nowMs: number,
): MachineImage | null {
  const { name, version = '', ...more } = wanted;
  const isKept = (name ?? current?.name) === current?.name && (version === '' || version === current?.version);
  if (current !== undefined && isKept) return { ...current, ...more };
  const image = machineImages.find((offered) =>
    name === undefined
      ? offered.versions.some(({ architectures }) => architectures.includes(architecture))
      : offered.name === name,
  );
  if (image === undefined) return null;
  if (semver.valid(version) !== null) return { name: image.name, ...wanted };
  const offered = image.versions.filter(
    (each) => each.architectures.includes(architecture) && isActive(each, nowMs) && each.classification !== 'preview',
  );
  const newest = semver.maxSatisfying(
    offered.map((each) => each.version),
    version,
  );
  return newest === null ? null : { name: image.name, ...more, version: newest };
}

/** Checks the changes of a write against the catalogue. What stays may have expired. */
export function judgeByCatalogue(shoot: Shoot, old: Shoot | null, context: WriteContext): FieldError[] {
  const { spec } = shoot;
  if (equalJson(spec, old?.spec)) return [];
  const profile = profileOf(shoot, context);
  // An update to an expired version is allowed, a new cluster with one is not.
  const versions = profile.kubernetes.versions.filter((each) => old !== null || isActive(each, context.nowMs));
  const zones = profile.regions.find(({ name }) => name === spec.region)?.zones ?? [];
  return [
    ...unlessOffered(
      'spec.kubernetes.version',
      spec.kubernetes.version,
      old?.spec.kubernetes.version,
      versionsOf(versions),
    ),
    ...unlessOffered('spec.region', spec.region, old?.spec.region, namesOf(profile.regions)),
    ...workersOf(spec).flatMap((worker, index) => {
      const at = `spec.provider.workers[${index}].machine`;
      const { machine } = worker;
      const before = findWorker(old?.spec, worker.name)?.machine;
      const isSoldOut = (type: string): boolean => zones.some((zone) => zone.unavailableMachineTypes?.includes(type));
      const types = profile.machineTypes.filter(
        ({ name, usable, architecture }) => usable && architecture === machine.architecture && !isSoldOut(name),
      );
      const images = imagesFor(profile, worker, before?.image?.version, context.nowMs);
      return [
        ...unlessOffered(`${at}.type`, machine.type, before?.type, namesOf(types)),
        ...unlessOffered(
          `${at}.image.version`,
          machine.image?.version ?? '',
          before?.image?.version,
          versionsOf(images),
        ),
      ];
    }),
  ];
}

/** An update may also select an expired version that is not older than the current one. */
const imagesFor = (
  { machineImages }: CloudProfile['spec'],
  { machine: { image, architecture = 'amd64' } }: Worker,
  current: string | undefined,
  nowMs: number,
) =>
  (machineImages.find(({ name }) => name === image?.name)?.versions ?? []).filter(
    (each) =>
      each.architectures.includes(architecture) &&
      (isActive(each, nowMs) || (current !== undefined && semver.gte(each.version, current))),
  );

const namesOf = (all: readonly { readonly name: string }[]): string[] => all.map(({ name }) => name);
const versionsOf = (all: readonly CatalogueVersion[]): string[] => all.map(({ version }) => version);

function unlessOffered(
  field: string,
  value: string,
  before: string | undefined,
  offered: readonly string[],
): FieldError[] {
  if (value === before || offered.includes(value)) return [];
  const supported = offered.map((each) => JSON.stringify(each)).join(', ');
  return [{ field, message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}` }];
}

const isActive = ({ expirationDate }: CatalogueVersion, nowMs: number): boolean =>
  expirationDate === undefined || Date.parse(expirationDate) > nowMs;
