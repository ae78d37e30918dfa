import { duplicate, type FieldError, forbiddenField, invalid, notSupported } from '../../kube/field-error.js';
import { equalJson } from '../../kube/object.js';
import { type CloudProfile, isActive } from '../cloud-profile.js';
import { compareVersions } from '../versions.js';
import { findWorker, type Shoot, type ShootSpec, type Worker, workersOf } from './shoot.js';

interface Judged {
  readonly profile: CloudProfile['spec'];
  readonly spec: ShootSpec;
  /** Null on create. */
  readonly old: ShootSpec | null;
  readonly nowMs: number;
}

const namesOf = (all: readonly { readonly name: string }[]): string[] => all.map(({ name }) => name);

/**
 * Checks the changes of a write against the catalogue. Unchanged values may have expired
 * (`plugin/pkg/shoot/validator`).
 */
export function judgeByCatalogue(
  { metadata, spec }: Shoot,
  old: Shoot | null,
  { spec: profile }: CloudProfile,
  nowMs: number,
): FieldError[] {
  const judged: Judged = { profile, spec, old: old?.spec ?? null, nowMs };
  if (spec.provider.type !== profile.type) {
    const rule = `provider type in shoot must equal provider type of referenced CloudProfile: "${profile.type}"`;
    return [invalid('spec.provider.type', spec.provider.type, rule)];
  }
  const isKnownRegion = spec.region === old?.spec.region || namesOf(profile.regions).includes(spec.region);
  return [
    ...judgeVersion(judged),
    ...(isKnownRegion ? [] : [notSupported('spec.region', spec.region, namesOf(profile.regions))]),
    ...workersOf(spec).flatMap((worker, index) => {
      const before = findWorker(old?.spec, worker.name);
      const at = `spec.provider.workers[${index}]`;
      const machine = judgeMachineType(judged, worker, before, at) ?? judgeImage(judged, worker, before, at);
      return [...(machine === null ? [] : [machine]), ...judgeZones(judged, worker, before, at)];
    }),
    ...(metadata.deletionTimestamp === undefined ? judgeLimits(judged) : []),
  ];
}

/** An update to an expired version is allowed, a new cluster with one is not. */
function judgeVersion({ profile, spec, old, nowMs }: Judged): FieldError[] {
  const { version } = spec.kubernetes;
  if (version === old?.kubernetes.version) return [];
  const offered = profile.kubernetes.versions.filter((known) => old !== null || isActive(known, nowMs));
  if (offered.some((known) => known.version === version)) return [];
  const shown = offered.map((known) => known.version + (known.classification === 'preview' ? ' (preview)' : ''));
  return [notSupported('spec.kubernetes.version', version, shown)];
}

/** Refuses in fewer words than Gardener, which also names what is wrong with the type. */
function judgeMachineType(
  { profile, spec }: Judged,
  { machine: { type, architecture }, zones = [] }: Worker,
  before: Worker | undefined,
  at: string,
): FieldError | null {
  if (type === before?.machine.type && architecture === before.machine.architecture) return null;
  const inZones = profile.regions.find(({ name }) => name === spec.region)?.zones ?? [];
  const isSoldOut = (name: string): boolean =>
    inZones.some((zone) => zones.includes(zone.name) && zone.unavailableMachineTypes?.includes(name));
  const supported = profile.machineTypes.filter(
    (known) => (known.architecture ?? 'amd64') === architecture && known.usable !== false && !isSoldOut(known.name),
  );
  if (supported.some(({ name }) => name === type)) return null;
  return notSupported(`${at}.machine.type`, type, namesOf(supported).sort());
}

function judgeImage(
  { profile, nowMs }: Judged,
  { machine: { image, architecture = 'amd64' } }: Worker,
  before: Worker | undefined,
  at: string,
): FieldError | null {
  const current = before?.machine;
  if (current !== undefined && equalJson(image, current.image) && architecture === current.architecture) return null;
  const oldest = current?.image?.version;
  // An update may also select an expired version that is not older than the current one.
  const supported = (profile.machineImages.find(({ name }) => name === image?.name)?.versions ?? []).filter(
    (offered) =>
      (offered.architectures ?? ['amd64']).includes(architecture) &&
      (isActive(offered, nowMs) || (oldest !== undefined && compareVersions(offered.version, oldest) >= 0)),
  );
  if (supported.some(({ version }) => version === image?.version)) return null;
  const shown = supported.map(({ version }) => `${image?.name}:${version}`).sort();
  return notSupported(`${at}.machine.image.version`, image?.version ?? '', shown);
}

function judgeZones(
  { profile, spec, old }: Judged,
  { zones = [] }: Worker,
  before: Worker | undefined,
  at: string,
): FieldError[] {
  if (spec.region === old?.region && equalJson(zones, before?.zones ?? [])) return [];
  const offered = namesOf(profile.regions.find(({ name }) => name === spec.region)?.zones ?? []);
  return zones.flatMap((zone, index) => {
    const field = `${at}.zones[${index}]`;
    if (zones.indexOf(zone) !== index) return [duplicate(field, zone)];
    return offered.includes(zone) ? [] : [notSupported(field, zone, offered)];
  });
}

function judgeLimits({ profile, spec }: Judged): FieldError[] {
  const { maxNodesTotal = Number.POSITIVE_INFINITY } = profile.limits ?? {};
  const total = workersOf(spec).reduce((sum, { minimum }) => sum + minimum, 0);
  if (total <= maxNodesTotal) return [];
  const rule = `the total minimum node count of all worker pools must not exceed the limit of ${maxNodesTotal} configured in the CloudProfile`;
  return [forbiddenField('spec.provider.workers', rule)];
}
