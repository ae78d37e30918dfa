import { duplicate, type FieldError, forbiddenField, invalid, notSupported } from '../../kube/field-error.js';
import { equalJson } from '../../kube/object.js';
import { type CloudProfile, isActive } from '../cloud-profile.js';
import { compareVersions } from '../versions.js';
import { type Shoot, type ShootSpec, type Worker, workersOf } from './shoot.js';

interface Judged {
  readonly profile: CloudProfile['spec'];
  readonly spec: ShootSpec;
  /** Null on create. */
  readonly old: ShootSpec | null;
  readonly nowMs: number;
}

/**
 * Compares what a write changes with the catalogue: what stays as it is may have expired meanwhile
 * (`plugin/pkg/shoot/validator`).
 */
export function judgeByCatalogue(shoot: Shoot, old: Shoot | null, profile: CloudProfile, nowMs: number): FieldError[] {
  const judged: Judged = { profile: profile.spec, spec: shoot.spec, old: old?.spec ?? null, nowMs };
  const { spec } = shoot;
  const errors = [
    ...judgeVersion(judged, spec.kubernetes.version, judged.old?.kubernetes.version, false, 'spec.kubernetes.version'),
    ...judgeRegion(judged),
  ];
  if (spec.provider.type !== profile.spec.type) {
    const rule = `provider type in shoot must equal provider type of referenced CloudProfile: "${profile.spec.type}"`;
    return [...errors, invalid('spec.provider.type', spec.provider.type, rule)];
  }
  for (const [index, worker] of workersOf(spec).entries()) {
    const before = workersOf(judged.old ?? spec).find(({ name }) => name === worker.name);
    const known = judged.old === null ? undefined : before;
    errors.push(...judgeWorker(judged, worker, known, `spec.provider.workers[${index}]`));
  }
  return shoot.metadata.deletionTimestamp === undefined ? [...errors, ...judgeLimits(judged)] : errors;
}

function judgeVersion(
  { profile, old, nowMs }: Judged,
  version: string,
  before: string | undefined,
  isNewPool: boolean,
  field: string,
): FieldError[] {
  if (version === before) return [];
  const offered = profile.kubernetes.versions.filter((known) => (old !== null && !isNewPool) || isActive(known, nowMs));
  if (offered.some((known) => known.version === version)) return [];
  const shown = offered.map((known) => known.version + (known.classification === 'preview' ? ' (preview)' : ''));
  return [notSupported(field, version, shown)];
}

function judgeRegion({ profile, spec, old }: Judged): FieldError[] {
  if (spec.region === old?.region || profile.regions.some(({ name }) => name === spec.region)) return [];
  return [
    notSupported(
      'spec.region',
      spec.region,
      profile.regions.map(({ name }) => name),
    ),
  ];
}

function judgeWorker(judged: Judged, worker: Worker, before: Worker | undefined, at: string): FieldError[] {
  const machine = judgeMachineType(judged, worker, before, at) ?? judgeImage(judged, worker, before, at);
  const errors = machine === null ? [] : [machine];
  if (worker.kubernetes?.version !== undefined) {
    const known = before?.kubernetes?.version ?? judged.old?.kubernetes.version;
    const isNew = before === undefined;
    errors.push(...judgeVersion(judged, worker.kubernetes.version, known, isNew, `${at}.kubernetes.version`));
  }
  return [...errors, ...judgeZones(judged, worker, before, at)];
}

function judgeMachineType(
  { profile, spec }: Judged,
  { machine, zones = [] }: Worker,
  before: Worker | undefined,
  at: string,
): FieldError | null {
  const { type, architecture } = machine;
  if (type === before?.machine.type && architecture === before.machine.architecture) return null;
  const inZones = profile.regions.find(({ name }) => name === spec.region)?.zones ?? [];
  const isSoldOut = (name: string): boolean =>
    inZones.some((zone) => zones.includes(zone.name) && zone.unavailableMachineTypes?.includes(name));
  const ofArchitecture = profile.machineTypes.filter((known) => (known.architecture ?? 'amd64') === architecture);
  const supported = ofArchitecture
    .filter(({ name, usable }) => usable !== false && !isSoldOut(name))
    .map(({ name }) => name)
    .sort();
  const known = profile.machineTypes.find(({ name }) => name === type);
  const field = `${at}.machine.type`;
  if (known === undefined) return notSupported(field, type, supported);
  if (supported.includes(type)) return null;
  const detail = [
    `machine type "${type}" `,
    known.usable === false ? 'is unusable, ' : '',
    isSoldOut(type) ? 'is unavailable in at least one zone, ' : '',
    (known.architecture ?? 'amd64') === architecture ? '' : `does not support CPU architecture "${architecture}", `,
  ].join('');
  return invalid(field, type, `${detail}supported types are [${supported.join(' ')}]`);
}

function judgeImage(
  { profile, old, nowMs }: Judged,
  { machine }: Worker,
  before: Worker | undefined,
  at: string,
): FieldError | null {
  const { image, architecture = 'amd64' } = machine;
  const kept = before !== undefined && equalJson(image, before.machine.image);
  if (kept && architecture === before.machine.architecture) return null;
  const versions = profile.machineImages.find(({ name }) => name === image?.name)?.versions ?? [];
  const isUsable = (version: (typeof versions)[number]): boolean => {
    if (isActive(version, nowMs)) return true;
    // A forced update may lead to a version that has expired as well, but never back.
    const current = before?.machine.image?.version;
    return old !== null && current !== undefined && compareVersions(version.version, current) >= 0;
  };
  const runsOn = (version: (typeof versions)[number]): boolean =>
    (version.architectures ?? ['amd64']).includes(architecture);
  const shown = (version: string): string => `${image?.name}:${version}`;
  const supported = versions
    .filter((version) => isUsable(version) && runsOn(version))
    .map(({ version }) => shown(version));
  const known = versions.find(({ version }) => version === image?.version);
  if (known === undefined) return notSupported(`${at}.machine.image.version`, image?.version ?? '', supported.sort());
  if (isUsable(known) && runsOn(known)) return null;
  const detail = [
    `machine image version '${shown(known.version)}' `,
    runsOn(known) ? '' : `does not support CPU architecture "${architecture}", `,
    isUsable(known) ? '' : 'is expired, ',
  ].join('');
  const rule = `${detail}supported machine image versions are: [${supported.sort().join(' ')}]`;
  return invalid(`${at}.machine.image`, image, rule);
}

function judgeZones(
  { profile, spec, old }: Judged,
  { zones = [] }: Worker,
  before: Worker | undefined,
  at: string,
): FieldError[] {
  if (spec.region === old?.region && equalJson(zones, before?.zones ?? [])) return [];
  const offered = (profile.regions.find(({ name }) => name === spec.region)?.zones ?? []).map(({ name }) => name);
  return zones.flatMap((zone, index) => {
    const field = `${at}.zones[${index}]`;
    if (zones.indexOf(zone) !== index) return [duplicate(field, zone)];
    if (offered.includes(zone)) return [];
    if (offered.length > 0) return [notSupported(field, zone, offered)];
    return [
      invalid(field, spec.region, 'this region does not support availability zones, please do not configure them'),
    ];
  });
}

function judgeLimits({ profile, spec }: Judged): FieldError[] {
  const { maxNodesTotal } = profile.limits ?? {};
  const total = workersOf(spec).reduce((sum, { minimum }) => sum + minimum, 0);
  if (maxNodesTotal === undefined) return [];
  const field = 'spec.provider.workers';
  const errors: FieldError[] = [];
  if (total > maxNodesTotal) {
    const rule = `the total minimum node count of all worker pools must not exceed the limit of ${maxNodesTotal} configured in the CloudProfile`;
    errors.push(forbiddenField(field, rule));
  }
  return errors;
}
