import { type FieldManager, isAppliedBy, type Shoot, type ShootCondition, type ShootStatus } from '@corral/garden';
import semver from 'semver';
import {
  clusterIdLabel,
  desiredHashAnnotation,
  generationAnnotation,
  managedLabel,
  markPrefix,
  operationAnnotation,
  poolLabel,
} from './marks.js';
import type { Desired, Observed } from './model.js';
import { type ProviderProblem, problemOf } from './provider-problems.js';

/**
 * All that decisions and verdicts know of a Shoot. What is not here moves nothing, so the digest that wakes clusters is
 * made of it as well.
 */
export interface ShootFacts {
  readonly uid: string;
  readonly generation: number;
  readonly isDeleting: boolean;
  /** What our last apply declared; null when the Shoot does not say so. */
  readonly applied: { readonly generation: number; readonly hash: string } | null;
  /** Labels and annotations of ours, as they are. */
  readonly marks: Readonly<Record<string, string>>;
  /** Whether the garden knows what we have applied. A restore from a backup may have lost it. */
  readonly isHeld: boolean;
  /** Who holds which field. */
  readonly managers: readonly FieldManager[];
  /** Something that the Shoot was told and has not taken up yet. */
  readonly pendingOperation: string | null;
  readonly seed: { readonly wished: string | null; readonly actual: string | null };
  readonly hibernation: { readonly wished: boolean; readonly actual: boolean };
  /** Null when it is none that could be compared. */
  readonly kubernetesVersion: string | null;
  readonly isHighlyAvailable: boolean;
  readonly connection: string | null;
  /** The network of the provider that the nodes are in; null: one of the Shoot's own. */
  readonly existingNetwork: string | null;
  /** Where the API server answers from outside; null until the garden says. */
  readonly apiServerUrl: string | null;
  /** Changes whenever the certificate authority of the API server may have; null before the first exchange. */
  readonly authorityRotation: string | null;
  readonly maintenance: MaintenanceFacts;
  readonly workers: readonly WorkerFacts[];
  readonly observedGeneration: number;
  readonly lastOperation: LastOperationFacts | null;
  /** Why the last attempt failed, or the one before the present one; what is known by name comes first. */
  readonly problems: readonly ProviderProblem[];
  readonly isMoving: boolean;
  readonly retryCycleStartedAt: Date | null;
  readonly conditions: readonly GardenCondition[];
  readonly constraints: readonly GardenCondition[];
}

export interface WorkerFacts {
  readonly name: string;
  readonly machineType: string;
  readonly minimum: number;
  readonly maximum: number;
  readonly image: { readonly name: string | null; readonly version: string | null };
  /** What the image has beside name and version. */
  readonly imageOptions: JsonObject;
  readonly publicIP: boolean;
  /** The pool that it was made of, as its label says; null when it does not. */
  readonly pool: string | null;
}

/** What is left to the garden. */
export interface MaintenanceFacts {
  readonly kubernetesVersion: boolean | null;
  readonly machineImageVersion: boolean | null;
  readonly confined: boolean;
  /** When the daily window begins, as `220000+0100`. */
  readonly begin: string | null;
  readonly last: { readonly at: string; readonly state: string } | null;
}

export interface LastOperationFacts {
  readonly type: string;
  readonly state: string;
  /** 0 to 100 of this attempt. */
  readonly progress: number;
  readonly updatedAt: Date | null;
}

/** With the fourth value that conditions have on a garden: `Progressing`, here `Unknown`. */
export interface GardenCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
}

export function factsOf({ metadata, managers, spec, status }: Shoot): ShootFacts {
  const workers = listIn(objectIn(spec, 'provider'), 'workers').map(workerFacts);
  const { lastOperation } = status;
  return {
    uid: metadata.uid,
    generation: metadata.generation,
    isDeleting: metadata.deletionTimestamp !== null,
    applied: appliedFacts(metadata),
    marks: marksIn(metadata),
    isHeld: isAppliedBy(managers),
    managers,
    pendingOperation: metadata.annotations[operationAnnotation] ?? null,
    seed: { wished: textIn(spec, 'seedName'), actual: status.seedName },
    hibernation: { wished: objectIn(spec, 'hibernation').enabled === true, actual: status.hibernated },
    kubernetesVersion: semver.valid(textIn(objectIn(spec, 'kubernetes'), 'version')),
    isHighlyAvailable: textIn(failureTolerance(spec), 'type') !== null,
    connection: textIn(spec, 'credentialsBindingName'),
    existingNetwork: textIn(networksOf(spec), 'existingNetwork'),
    apiServerUrl: apiServerUrlOf(status),
    authorityRotation: status.authorityRotation && Object.values(status.authorityRotation).join(' '),
    maintenance: maintenanceFacts(objectIn(spec, 'maintenance'), status),
    workers,
    observedGeneration: status.observedGeneration,
    lastOperation: lastOperation && { ...lastOperation, updatedAt: dateOf(lastOperation.lastUpdateTime) },
    problems: problemsOf(metadata.generation, status, workers),
    isMoving: status.migrationStartTime !== null,
    retryCycleStartedAt: dateOf(status.retryCycleStartTime),
    conditions: status.conditions.map(gardenCondition),
    constraints: status.constraints.map(gardenCondition),
  };
}

/**
 * Says whose Shoot was read. A name alone proves nothing: it is ours when it is the one that was seen before, or, before
 * one was seen, when it carries the cluster's id.
 */
export function observedFrom({ id, known }: Pick<Desired, 'id' | 'known'>, shoot: Shoot | null): Observed {
  if (shoot === null) return { kind: 'absent' };
  const { labels, uid } = shoot.metadata;
  const isOurs = known.shootUid === null ? labels[clusterIdLabel] === id : known.shootUid === uid;
  return isOurs ? { kind: 'present', shoot } : { kind: 'foreign' };
}

/** The Kubernetes version that the Shoot has now; null without one. */
export function runningVersion(seen: Observed): string | null {
  return seen.kind === 'present' ? factsOf(seen.shoot).kubernetesVersion : null;
}

/** Without our labels no watch would tell of it any more: then it has to be applied again. */
function appliedFacts({ labels, annotations }: Shoot['metadata']): ShootFacts['applied'] {
  const generation = Number(annotations[generationAnnotation] ?? Number.NaN);
  const hash = annotations[desiredHashAnnotation];
  const isLabelled = labels[managedLabel] === 'true' && labels[clusterIdLabel] !== undefined;
  return Number.isSafeInteger(generation) && hash !== undefined && isLabelled ? { generation, hash } : null;
}

function marksIn({ labels, annotations }: Shoot['metadata']): Record<string, string> {
  const all = Object.entries({ ...labels, ...annotations });
  return Object.fromEntries(all.filter(([key]) => key.startsWith(markPrefix)));
}

function maintenanceFacts(maintenance: JsonObject, status: ShootStatus): MaintenanceFacts {
  const { kubernetesVersion, machineImageVersion } = objectIn(maintenance, 'autoUpdate');
  const flag = (value: unknown): boolean | null => (typeof value === 'boolean' ? value : null);
  return {
    ...{ kubernetesVersion: flag(kubernetesVersion), machineImageVersion: flag(machineImageVersion) },
    confined: maintenance.confineSpecUpdateRollout === true,
    begin: textIn(objectIn(maintenance, 'timeWindow'), 'begin'),
    last: lastMaintenanceOf(status),
  };
}

function failureTolerance(spec: JsonObject): JsonObject {
  return objectIn(objectIn(objectIn(spec, 'controlPlane'), 'highAvailability'), 'failureTolerance');
}

function networksOf(spec: JsonObject): JsonObject {
  return objectIn(objectIn(objectIn(spec, 'provider'), 'infrastructureConfig'), 'networks');
}

function workerFacts(worker: JsonObject): WorkerFacts {
  const image = objectIn(objectIn(worker, 'machine'), 'image');
  return {
    name: textIn(worker, 'name') ?? '',
    machineType: textIn(objectIn(worker, 'machine'), 'type') ?? '',
    minimum: Number(worker.minimum ?? 0),
    maximum: Number(worker.maximum ?? 0),
    image: { name: textIn(image, 'name'), version: textIn(image, 'version') },
    imageOptions: objectIn(image, 'providerConfig'),
    publicIP: objectIn(worker, 'providerConfig').publicIP !== false,
    pool: textIn(objectIn(worker, 'labels'), poolLabel),
  };
}

function apiServerUrlOf({ advertisedAddresses }: ShootStatus): string | null {
  const found = advertisedAddresses.find(({ name }) => name === 'external') ?? advertisedAddresses[0];
  return found === undefined || found.url === '' ? null : found.url;
}

function lastMaintenanceOf({ lastMaintenance }: ShootStatus): MaintenanceFacts['last'] {
  const at = dateOf(lastMaintenance?.triggeredTime ?? null);
  const state = lastMaintenance?.state ?? '';
  return at === null || !/^[A-Za-z]{1,64}$/.test(state) ? null : { at: at.toISOString(), state };
}

/** Descriptions go no further than this: they are free text of the provider and not fit for tenants. */
function problemsOf(generation: number, status: ShootStatus, workers: readonly WorkerFacts[]): ProviderProblem[] {
  const cycleBegan = dateOf(status.retryCycleStartTime) ?? new Date(0);
  const problems = status.lastErrors.map(({ codes, description, lastUpdateTime }) => ({
    ...problemOf(codes, description),
    workers: workers.map(({ name }) => name).filter((name) => description.includes(`-${name}-`)),
    isCurrent: status.observedGeneration >= generation && (dateOf(lastUpdateTime) ?? cycleBegan) >= cycleBegan,
  }));
  return problems.sort((one, other) => Number(one.code === 'internal_error') - Number(other.code === 'internal_error'));
}

function gardenCondition({ type, status, reason }: ShootCondition): GardenCondition {
  const isClear = status === 'True' || status === 'False';
  return { type, status: isClear ? status : 'Unknown', reason: /^[A-Za-z]{1,64}$/.test(reason) ? reason : 'Unknown' };
}

function dateOf(time: string | null): Date | null {
  const date = new Date(time ?? '');
  return Number.isNaN(date.getTime()) ? null : date;
}

type JsonObject = Record<string, unknown>;

// What is missing or of another type than expected reads as absent.

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectIn(value: JsonObject, key: string): JsonObject {
  const member = value[key];
  return isObject(member) ? member : {};
}

function listIn(value: JsonObject, key: string): JsonObject[] {
  const member = value[key];
  return Array.isArray(member) ? member.filter(isObject) : [];
}

function textIn(value: JsonObject, key: string): string | null {
  const member = value[key];
  return typeof member === 'string' && member !== '' ? member : null;
}
