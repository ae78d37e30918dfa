import { createHash } from 'node:crypto';
import type { JsonObject } from '@corral/contracts';
import {
  type FieldManager,
  isAppliedBy,
  objectIn,
  objectsIn,
  type Shoot,
  type ShootCondition,
  type ShootStatus,
  textIn,
} from '@corral/garden';
import semver from 'semver';
import { type ProviderProblem, problemOf, remainingIn, workersIn } from './judge/provider-problems.js';
import type { Desired, Observed } from './model.js';
import {
  clusterIdLabel,
  corralPrefix,
  desiredHashAnnotation,
  generationAnnotation,
  managedLabel,
  operationAnnotation,
  poolLabel,
} from './model.js';

/**
 * Everything that decisions and verdicts use from a Shoot. The digest that wakes clusters is built from it, so other fields
 * cause no pass.
 */
export interface ShootFacts {
  readonly uid: string;
  readonly generation: number;
  readonly isDeleting: boolean;
  /** The finalizers of others than the garden. They keep a Shoot whose deletion is complete. */
  readonly foreignFinalizers: readonly string[];
  /** Generation and hash of our last apply, from annotations. Null when they are missing. */
  readonly applied: { readonly generation: number; readonly hash: string } | null;
  /** Labels and annotations of Corral, with their current values. */
  readonly corralMetadata: Readonly<Record<string, string>>;
  /** Whether the garden knows which fields we applied. A restore from a backup may have lost that. */
  readonly isAppliedByUs: boolean;
  /** The managers with the fields that they own. */
  readonly managers: readonly FieldManager[];
  /** Operation annotation that the garden has not processed yet. */
  readonly pendingOperation: string | null;
  readonly seed: { readonly desired: string | null; readonly actual: string | null };
  readonly hibernation: { readonly desired: boolean; readonly actual: boolean };
  /** Null when missing or not a semantic version. */
  readonly kubernetesVersion: string | null;
  readonly isHighlyAvailable: boolean;
  readonly connection: string | null;
  /** Zone of the control plane. Null when missing. */
  readonly zone: string | null;
  /** The existing provider network of the nodes. Null when the Shoot has its own. */
  readonly existingNetwork: string | null;
  /** External URL of the API server. Null until the garden reports it. */
  readonly apiServerUrl: string | null;
  /** Changes whenever the API server's certificate authority may have changed. Null before the first rotation. */
  readonly authorityRotation: string | null;
  readonly maintenance: MaintenanceFacts;
  readonly workers: readonly WorkerFacts[];
  readonly observedGeneration: number;
  readonly lastOperation: LastOperationFacts | null;
  /** Why the last attempt, or the one before the current one, failed. Known problems come first. */
  readonly problems: readonly ProviderProblem[];
  readonly isMoving: boolean;
  readonly retryCycleStartedAt: Date | null;
  readonly conditions: readonly GardenCondition[];
  readonly constraints: readonly GardenCondition[];
}

export interface WorkerFacts {
  readonly name: string;
  readonly machineType: string;
  readonly architecture: string | null;
  readonly minimum: number;
  readonly maximum: number;
  readonly image: { readonly name: string | null; readonly version: string | null };
  /** Image settings besides name and version. */
  readonly imageOptions: JsonObject;
  readonly publicIP: boolean;
  /** Name of the pool behind this worker, from its label. Null when missing. */
  readonly pool: string | null;
}

/** Maintenance settings of the Shoot. */
interface MaintenanceFacts {
  readonly kubernetesVersion: boolean | null;
  readonly machineImageVersion: boolean | null;
  readonly confined: boolean;
  /** Start of the daily window, as `220000+0100`. */
  readonly begin: string | null;
  readonly last: { readonly at: string; readonly state: string } | null;
}

interface LastOperationFacts {
  readonly type: string;
  readonly state: string;
  /** 0 to 100, for the current attempt. */
  readonly progress: number;
  readonly updatedAt: Date | null;
}

/** A condition of the garden. Its fourth status, `Progressing`, becomes `Unknown`. */
export interface GardenCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
}

/** `gardener`, `gardener.cloud/reference-protection`, … */
const gardenFinalizer = /^gardener$|(^|\.)gardener\.cloud(\/|$)/;

export function factsOf({ metadata, managers, spec, status }: Shoot): ShootFacts {
  const workers = objectsIn(objectIn(spec, 'provider'), 'workers').map(workerFacts);
  const { lastOperation } = status;
  return {
    uid: metadata.uid,
    generation: metadata.generation,
    isDeleting: metadata.deletionTimestamp !== null,
    foreignFinalizers: metadata.finalizers.filter((name) => !gardenFinalizer.test(name)),
    applied: appliedFacts(metadata),
    corralMetadata: corralMetadataIn(metadata),
    isAppliedByUs: isAppliedBy(managers),
    managers,
    pendingOperation: metadata.annotations[operationAnnotation] ?? null,
    seed: { desired: textIn(spec, 'seedName'), actual: status.seedName },
    hibernation: { desired: objectIn(spec, 'hibernation').enabled === true, actual: status.hibernated },
    kubernetesVersion: semver.valid(textIn(objectIn(spec, 'kubernetes'), 'version')),
    isHighlyAvailable: textIn(failureTolerance(spec), 'type') !== null,
    connection: textIn(spec, 'credentialsBindingName'),
    zone: textIn(objectIn(objectIn(spec, 'provider'), 'controlPlaneConfig'), 'zone'),
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
 * Decides whose Shoot was read. The name alone proves nothing. It is ours when its UID was recorded before or, before one was
 * recorded, when it carries the cluster's id.
 */
export function observedFrom({ id, known }: Desired, shoot: Shoot | null): Observed {
  if (shoot === null) return { kind: 'absent' };
  const { labels, uid } = shoot.metadata;
  const isOurs = known.shootUid === null ? labels[clusterIdLabel] === id : known.shootUid === uid;
  return isOurs ? { kind: 'present', shoot } : { kind: 'foreign' };
}

/** The Shoot's current Kubernetes version, or null without a Shoot. */
export function runningVersion(seen: Observed): string | null {
  return seen.kind === 'present' ? factsOf(seen.shoot).kubernetesVersion : null;
}

/** Without our labels the watch no longer reports the Shoot, so it must be applied again. */
function appliedFacts({ labels, annotations }: Shoot['metadata']): ShootFacts['applied'] {
  const generation = Number(annotations[generationAnnotation] ?? Number.NaN);
  const hash = annotations[desiredHashAnnotation];
  const isLabelled = labels[managedLabel] === 'true' && labels[clusterIdLabel] !== undefined;
  return Number.isSafeInteger(generation) && hash !== undefined && isLabelled ? { generation, hash } : null;
}

function corralMetadataIn({ labels, annotations }: Shoot['metadata']): Record<string, string> {
  const all = Object.entries({ ...labels, ...annotations });
  return Object.fromEntries(all.filter(([key]) => key.startsWith(corralPrefix)));
}

function maintenanceFacts(maintenance: JsonObject, status: ShootStatus): MaintenanceFacts {
  const { kubernetesVersion, machineImageVersion } = objectIn(maintenance, 'autoUpdate');
  const flag = (value: unknown): boolean | null => (typeof value === 'boolean' ? value : null);
  return {
    kubernetesVersion: flag(kubernetesVersion),
    machineImageVersion: flag(machineImageVersion),
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
  const machine = objectIn(worker, 'machine');
  const image = objectIn(machine, 'image');
  return {
    name: textIn(worker, 'name') ?? '',
    machineType: textIn(machine, 'type') ?? '',
    architecture: textIn(machine, 'architecture'),
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

/** Descriptions are not passed on: they are free text of the provider and may expose internals to tenants. */
function problemsOf(generation: number, status: ShootStatus, workers: readonly WorkerFacts[]): ProviderProblem[] {
  const cycleBegan = dateOf(status.retryCycleStartTime) ?? new Date(0);
  const problems = status.lastErrors.map(({ codes, description, lastUpdateTime }) => ({
    ...problemOf(codes, description),
    workers: workersIn(description, workers),
    remaining: remainingIn(codes, description),
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

/** Operation types that bring about a specification. The others migrate or delete. */
export const converging: readonly string[] = ['Create', 'Reconcile', 'Restore'];

/** Progress counts as a change in steps of this many percent. */
const progressStep = 10;

/**
 * A digest of the facts that decisions depend on: a Shoot with an unchanged digest needs no pass. It covers what `factsOf`
 * keeps, except times, which change with every heartbeat and attempt; except field managers, which matter only when a value
 * changes too; except the progress of `Reconcile`, because the garden reconciles every cluster regularly and mostly
 * without an open operation; and except that an expected run has begun.
 *
 * @returns hex
 */
export function observedHash(shoot: Shoot): string {
  const known = digests.get(shoot) ?? digestOf(shoot);
  digests.set(shoot, known);
  return known;
}

/** A Shoot is never changed, and its digest is used by the watch and by passes. */
const digests = new WeakMap<Shoot, string>();

function digestOf(shoot: Shoot): string {
  const { lastOperation, observedGeneration, retryCycleStartedAt: _, managers: __, ...facts } = factsOf(shoot);
  const run = isUnderWay(shoot)
    ? 'under way'
    : { observedGeneration, operation: lastOperation && seenOf(lastOperation) };
  return createHash('sha256').update(JSON.stringify({ facts, run })).digest('hex');
}

const seenOf = ({ type, state, progress }: LastOperationFacts) => ({
  type,
  state,
  progress: type === 'Reconcile' ? null : Math.floor(progress / progressStep),
});

/** A run of the current specification has begun or is the next thing to happen, after one that succeeded. */
function isUnderWay({ metadata, status: { observedGeneration, lastOperation } }: Shoot): boolean {
  if (lastOperation === null) return false;
  const { type, state } = lastOperation;
  if (observedGeneration < metadata.generation) return state === 'Succeeded' && converging.includes(type);
  return state === 'Processing' && type === 'Reconcile';
}
