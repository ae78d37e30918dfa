import semver from 'semver';
import { forbidden, invalidObject } from '../../kube/errors.js';
import { shoots } from '../../kube/kinds.js';
import { equalJson, isFields, type KubeObject } from '../../kube/object.js';
import type { CatalogueVersion, CloudProfile } from '../objects.js';
import { findWorker, type MachineImage, type Shoot, type ShootStatus, type Worker, workersOf } from './shoot.js';

/** What the garden offers to a Shoot. */
export interface Catalogue {
  readonly profile: CloudProfile;
  /** Name of its Project. */
  readonly project: string;
  readonly nowMs: number;
}

/** The fields of an object, as a tree; null for one with any content. Names stand for the items of a list, too. */
interface FieldTree {
  readonly [name: string]: FieldTree | null;
}

const specFields: FieldTree = {
  cloudProfile: { kind: null, name: null },
  region: null,
  purpose: null,
  seedName: null,
  credentialsBindingName: null,
  kubernetes: { version: null },
  networking: { type: null, nodes: null, pods: null, services: null, ipFamilies: null },
  hibernation: { enabled: null, schedules: null },
  controlPlane: { highAvailability: null },
  maintenance: {
    autoUpdate: { kubernetesVersion: null, machineImageVersion: null },
    timeWindow: { begin: null, end: null },
    confineSpecUpdateRollout: null,
  },
  provider: {
    type: null,
    infrastructureConfig: null,
    controlPlaneConfig: null,
    workers: {
      name: null,
      minimum: null,
      maximum: null,
      maxSurge: null,
      maxUnavailable: null,
      zones: null,
      priority: null,
      labels: null,
      annotations: null,
      taints: null,
      machine: { type: null, architecture: null, image: { name: null, version: null, providerConfig: null } },
      cri: null,
      providerConfig: null,
      systemComponents: null,
      updateStrategy: null,
    },
  },
};

/** The path of a field of a Shoot that is not known, for example `spec.provider.workers[name="p1"].typo`; null if all are. */
export const unknownFieldOf = ({ spec }: KubeObject): string | null => unknownField(specFields, spec, 'spec');

function unknownField(tree: FieldTree | null, value: unknown, path: string): string | null {
  if (tree === null) return null;
  const below = Array.isArray(value)
    ? value.map((item) => [tree, item, `${path}[name=${JSON.stringify(isFields(item) ? item.name : '')}]`] as const)
    : Object.entries(isFields(value) ? value : {}).map(
        ([name, item]) => [Object.hasOwn(tree, name) ? tree[name] : undefined, item, `${path}.${name}`] as const,
      );
  for (const [subtree, item, at] of below) {
    const found = subtree === undefined ? at : unknownField(subtree, item, at);
    if (found !== null) return found;
  }
  return null;
}

/** Of the names of a Project and its Shoot together. */
const NAMES_LENGTH_MAX = 21;
const CONFIRMATION = 'confirmation.gardener.cloud/deletion';
const OPERATION = 'gardener.cloud/operation';
const blankStatus: ShootStatus = { hibernated: false, technicalID: '', uid: '' };

/** What Gardener sets in a pool that does not say otherwise. */
const poolDefaults = {
  maxSurge: 1,
  maxUnavailable: 0,
  cri: { name: 'containerd' },
  updateStrategy: 'AutoRollingUpdate',
  systemComponents: { allow: true },
};

/** Sets defaults and what callers cannot set. @param old null on create */
export function prepareShoot(shoot: Shoot, old: Shoot | null, catalogue: Catalogue): void {
  const { spec } = shoot;
  spec.maintenance = {
    timeWindow: { begin: '220000+0000', end: '230000+0000' },
    ...spec.maintenance,
    autoUpdate: { machineImageVersion: true, ...(spec.maintenance?.autoUpdate as object | undefined) },
  };
  for (const worker of workersOf(spec)) {
    Object.assign(worker, { ...poolDefaults, ...worker });
    const { machine } = worker;
    const type = catalogue.profile.spec.machineTypes.find(({ name }) => name === machine.type);
    machine.architecture ??= type?.architecture ?? 'amd64';
    machine.image = resolvedImage(worker, findWorker(old?.spec, worker.name)?.machine.image, catalogue);
  }
  shoot.status = old?.status ?? blankStatus;
  shoot.metadata.generation = old === null ? 1 : generationAfter(shoot, old);
}

/** A pool keeps its image unless another is requested. A new pool gets the newest image for its architecture. */
function resolvedImage(
  { machine: { image: wanted = {}, architecture = 'amd64' } }: Worker,
  current: MachineImage | undefined,
  { profile, nowMs }: Catalogue,
): MachineImage {
  const { name, version, ...more } = wanted;
  const isKept = (name ?? current?.name) === current?.name && (version ?? current?.version) === current?.version;
  if (current !== undefined && isKept) return { ...current, ...more };
  const fits = (image: CloudProfile['spec']['machineImages'][number]): boolean =>
    name === undefined ? image.versions.some((each) => each.architectures.includes(architecture)) : image.name === name;
  const image = profile.spec.machineImages.find(fits);
  const offered = (image?.versions ?? []).filter(
    (each) => each.architectures.includes(architecture) && isActive(each, nowMs) && each.classification !== 'preview',
  );
  const [newest = ''] = semver.rsort(offered.map((each) => each.version));
  return { name: image?.name ?? '', ...more, version: version ?? newest };
}

/** Changes of the specification, and an order that is heeded, raise the generation. */
function generationAfter({ metadata, spec, status }: Shoot, old: Shoot): number {
  const { generation = 1 } = old.metadata;
  const heeded = status.lastOperation?.state === 'Failed' ? 'retry' : 'reconcile';
  const isOrdered = status.lastOperation !== undefined && metadata.annotations?.[OPERATION] === heeded;
  if (isOrdered) delete metadata.annotations?.[OPERATION];
  return isOrdered || !equalJson(spec, old.spec) ? generation + 1 : generation;
}

/** Checks the changes of a write against the catalogue. What stays may have expired. @throws StatusError 403, 422 */
export function judgeShoot(shoot: Shoot, old: Shoot | null, catalogue: Catalogue): void {
  const { profile, project, nowMs } = catalogue;
  const { name = '', deletionTimestamp } = shoot.metadata;
  const { spec } = shoot;
  if (equalJson(spec, old?.spec)) return;
  if (deletionTimestamp !== undefined)
    throw invalidObject(shoots, name, 'spec', 'Forbidden: cannot update shoot spec if deletion timestamp is set');
  if (old === null && project.length + name.length > NAMES_LENGTH_MAX) {
    const rule = `the length of the shoot name and the project name must not exceed ${NAMES_LENGTH_MAX} characters`;
    throw forbidden(shoots, name, `${rule} (project: ${project}; shoot: ${name})`);
  }
  const { kubernetes, regions } = profile.spec;
  // An update to an expired version is allowed, a new cluster with one is not.
  const versions = kubernetes.versions.filter((each) => old !== null || isActive(each, nowMs));
  const before = old?.spec.kubernetes.version;
  const errors = [
    ...unlessOffered('spec.kubernetes.version', spec.kubernetes.version, before, versionsOf(versions)),
    ...unlessOffered('spec.region', spec.region, old?.spec.region, namesOf(regions)),
    ...workersOf(spec).flatMap((worker, index) => {
      const current = findWorker(old?.spec, worker.name);
      return poolErrors(`spec.provider.workers[${index}]`, spec.region, worker, current, catalogue);
    }),
  ];
  const [first, ...more] = errors;
  if (first !== undefined) throw forbidden(shoots, name, more.length === 0 ? first : `[${errors.join(', ')}]`);
}

/** What the catalogue does not offer to a pool. @param at the path of the pool */
function poolErrors(
  at: string,
  region: string,
  { machine, zones = [] }: Worker,
  current: Worker | undefined,
  { profile: { spec }, nowMs }: Catalogue,
): string[] {
  const { architecture = 'amd64', image } = machine;
  const offered = spec.regions.find(({ name }) => name === region)?.zones ?? [];
  const isSoldOut = (type: string): boolean => offered.some((zone) => zone.unavailableMachineTypes?.includes(type));
  const types = spec.machineTypes.filter(
    (type) => type.usable && type.architecture === architecture && !isSoldOut(type.name),
  );
  const before = current?.machine.image?.version;
  // An update may also select an expired version that is not older than the current one.
  const images = (spec.machineImages.find(({ name }) => name === image?.name)?.versions ?? []).filter(
    (each) =>
      each.architectures.includes(architecture) &&
      (isActive(each, nowMs) || (before !== undefined && semver.gte(each.version, before))),
  );
  return [
    ...unlessOffered(`${at}.machine.type`, machine.type, current?.machine.type, namesOf(types)),
    ...unlessOffered(`${at}.machine.image.version`, image?.version ?? '', before, versionsOf(images)),
    ...zones.flatMap((zone, index) => {
      const known = current?.zones?.includes(zone) ? zone : undefined;
      return unlessOffered(`${at}.zones[${index}]`, zone, known, namesOf(offered));
    }),
  ];
}

/** @throws StatusError 403 */
export function judgeDeletion({ metadata: { name = '', annotations } }: KubeObject): void {
  if (annotations?.[CONFIRMATION] === 'true') return;
  throw forbidden(shoots, name, `must have a "${CONFIRMATION}" annotation to delete`);
}

const namesOf = (all: readonly { readonly name: string }[]): string[] => all.map(({ name }) => name);
const versionsOf = (all: readonly CatalogueVersion[]): string[] => all.map(({ version }) => version);

/** @returns what is wrong, as Gardener says it */
function unlessOffered(field: string, value: string, before: string | undefined, offered: readonly string[]): string[] {
  if (value === before || offered.includes(value)) return [];
  const supported = offered.map((each) => JSON.stringify(each)).join(', ');
  return [`${field}: Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`];
}

const isActive = ({ expirationDate }: CatalogueVersion, nowMs: number): boolean =>
  expirationDate === undefined || Date.parse(expirationDate) > nowMs;
