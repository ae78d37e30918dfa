import { isDeepStrictEqual } from 'node:util';
import { type FieldManager, GardenError, type Shoot, type ShootManifest } from '@corral/garden';
import { clusterIdLabel } from '../../../src/clusters/shoot-labels.js';

type Spec = Record<string, unknown>;
interface Worker {
  name: string;
  minimum: number;
  maximum: number;
}

/** Why runs fail. `Error` is retried by the garden, `Failed` is not. */
export interface Fault {
  readonly state: 'Error' | 'Failed';
  readonly code: string | null;
  readonly description: string;
}

/**
 * A garden with one Shoot as a small state machine: when the generation increases, when a run starts, how it changes the status,
 * and who may write what. It follows gardener's strategy.go, reconciler.go and validator. The caller controls time.
 */
export class ModelGarden {
  shoot: Shoot | null = null;
  /** Every state that a read may have returned, newest last. */
  readonly history: Shoot[] = [];
  /** Specifications of successful runs, newest last. */
  readonly achieved: Spec[] = [];
  fault: Fault | null = null;
  /** PEM, stored next to the Shoot. */
  authority: string | null = null;
  refusesApplies = false;
  /** No request is answered. */
  isAway = false;
  secretVersion = 0;
  /** The token at the start of the last run. */
  runningToken = 0;
  acceptedTokens = new Set<number>([1]);
  /** Fields that other managers set, by path, with the time. */
  private readonly held = new Map<string, { manager: string; time: string }>();
  /** A restore has lost the field managers. */
  private isForgotten = false;
  creations = 0;
  retries = 0;
  /** Creations that were received and not processed yet. */
  private late: { manifest: ShootManifest; at: Date }[] = [];
  private uids = 0;
  private begunWith: Spec = {};

  constructor(private readonly clock: { now: Date }) {}

  // Actions of a pass.

  apply(manifest: ShootManifest, { force = false } = {}): Shoot {
    const { shoot } = this;
    if (this.refusesApplies) throw refusal('spec.provider.workers[0].machine.type', 'not today');
    if (shoot === null) {
      if (manifest.metadata.uid !== undefined) throw uidConflict();
      return this.create(manifest);
    }
    if (manifest.metadata.uid !== undefined && manifest.metadata.uid !== shoot.metadata.uid) throw uidConflict();
    if (shoot.metadata.labels[clusterIdLabel] !== manifest.metadata.labels?.[clusterIdLabel]) {
      throw new GardenError('conflict', 'another cluster', { uidMismatch: true });
    }
    if ((manifest.metadata.resourceVersion ?? shoot.metadata.resourceVersion) !== shoot.metadata.resourceVersion)
      throw new GardenError('conflict', 'another version');
    const spec = this.mergedWithOthers(shoot.spec, manifest.spec);
    const isChange = !isDeepStrictEqual(spec, shoot.spec);
    if (isChange && this.isMoving()) throw refusal('spec', 'cannot change spec while the shoot is migrated');
    if (isChange && shoot.metadata.deletionTimestamp !== null) throw refusal('spec', 'deletionTimestamp is set');
    const taken = [...this.held].filter(([path]) => !isDeepStrictEqual(at(spec, path), at(shoot.spec, path)));
    if (taken.length > 0 && !force) throw conflicts(taken.map(([field, { manager }]) => ({ field, manager })));
    if (this.isForgotten && isChange && !force) {
      throw conflicts([{ field: '.spec.provider.workers[name="p1a2b3"].maximum', manager: 'before-first-apply' }]);
    }
    if (isLower(at(spec, 'spec.kubernetes.version'), at(shoot.spec, 'spec.kubernetes.version'))) {
      throw refusal('spec.kubernetes.version', 'downgrade is not supported');
    }
    for (const [path] of taken) this.held.delete(path);
    this.isForgotten = false;
    const { metadata } = shoot;
    return this.put({
      ...shoot,
      spec,
      metadata: {
        ...metadata,
        labels: { ...metadata.labels, ...manifest.metadata.labels },
        annotations: { ...metadata.annotations, ...manifest.metadata.annotations },
        generation: metadata.generation + (isChange ? 1 : 0),
      },
    });
  }

  /** The request arrived, and its response is lost. The garden may take up to a minute to process it. */
  applyLate(manifest: ShootManifest): void {
    this.late.push({ manifest, at: new Date(this.clock.now.getTime() + 55_000) });
  }

  annotate(uid: string, operation: 'retry' | 'reconcile', resourceVersion?: string): Shoot {
    const shoot = this.expectOurs(uid);
    if ((resourceVersion ?? shoot.metadata.resourceVersion) !== shoot.metadata.resourceVersion)
      throw new GardenError('conflict', 'another version');
    const slot = shoot.metadata.annotations['gardener.cloud/operation'];
    if (slot !== undefined && slot !== 'retry' && slot !== 'reconcile') throw new Error(`overwrote ${slot}`);
    const isFailed = shoot.status.lastOperation?.state === 'Failed';
    const isHeard = shoot.status.lastOperation !== null && isFailed === (operation === 'retry');
    if (operation === 'retry') this.retries += 1;
    const annotations = { ...shoot.metadata.annotations };
    if (isHeard) delete annotations['gardener.cloud/operation'];
    else annotations['gardener.cloud/operation'] = operation;
    const generation = shoot.metadata.generation + (isHeard ? 1 : 0);
    return this.put({ ...shoot, metadata: { ...shoot.metadata, annotations, generation } });
  }

  delete(uid: string): void {
    const shoot = this.expectOurs(uid);
    if (this.isMoving()) throw refusal('', 'cannot delete while the shoot is restored');
    this.terminate(shoot);
  }

  // Actions of the garden.

  /** Performs the garden's next action. */
  advance(): void {
    const { shoot } = this;
    if (shoot === null) return;
    const operation = shoot.status.lastOperation;
    const isDue = shoot.status.observedGeneration < shoot.metadata.generation;
    if (operation?.state === 'Processing') {
      if (operation.progress < 80) this.patchOperation({ progress: operation.progress + 40 });
      else this.finish();
    } else if (operation === null || isDue || operation.state === 'Error') this.begin();
    else if (operation.type === 'Migrate') this.begin();
  }

  /** Processes delayed requests. */
  land(): void {
    const due = this.late.filter(({ at: when }) => when <= this.clock.now);
    this.late = this.late.filter((each) => !due.includes(each));
    for (const { manifest } of due) if (this.shoot === null) this.create(manifest);
  }

  /** Whether nothing happens until the next write. */
  isIdle(): boolean {
    if (this.late.length > 0) return false;
    const { shoot } = this;
    if (shoot === null) return true;
    const { lastOperation, observedGeneration } = shoot.status;
    if (lastOperation === null || observedGeneration < shoot.metadata.generation) return false;
    return (
      (lastOperation.state === 'Succeeded' && lastOperation.type !== 'Migrate') || lastOperation.state === 'Failed'
    );
  }

  /** The regular reconciliation. */
  reconcileByItself(): void {
    const operation = this.shoot?.status.lastOperation;
    if (operation?.state === 'Succeeded' && operation.type !== 'Migrate') this.begin();
  }

  care(status: 'True' | 'False' | 'Progressing'): void {
    const { shoot } = this;
    if (shoot === null) return;
    const condition = { type: 'EveryNodeReady', status, reason: 'NodesCounted', message: 'secret', codes: [] };
    const conditions = [
      { ...condition, type: 'APIServerAvailable', status: 'True', lastTransitionTime: null, lastUpdateTime: null },
      { ...condition, type: 'ControlPlaneHealthy', status: 'True', lastTransitionTime: null, lastUpdateTime: null },
      { ...condition, lastTransitionTime: null, lastUpdateTime: this.time() },
    ];
    this.put({ ...shoot, status: { ...shoot.status, conditions } });
  }

  // Actions of others.

  hibernate(): void {
    this.edit('.spec.hibernation.enabled', 'gardener-controller-manager', (spec) => ({
      ...spec,
      hibernation: { enabled: true },
    }));
  }

  scale(maximum: number): void {
    this.edit('.spec.provider.workers[name="p1a2b3"].maximum', 'kubectl-edit', (spec) => {
      const [first, ...others] = workersOf(spec);
      return first === undefined ? spec : withWorkers(spec, [{ ...first, maximum }, ...others]);
    });
  }

  /** Another manager removes our marks. */
  unmark(): void {
    const { shoot } = this;
    if (shoot === null) return;
    const { 'corral.dev/plan': _, ...annotations } = shoot.metadata.annotations;
    this.put({ ...shoot, metadata: { ...shoot.metadata, annotations } });
  }

  /** The garden is restored from a backup. */
  forgetManagers(): void {
    if (this.shoot === null) return;
    this.held.clear();
    this.isForgotten = true;
    this.put(this.shoot);
  }

  raiseVersion(): void {
    this.edit('.spec.kubernetes.version', 'gardener-controller-manager', (spec) => {
      const [major, minor, patch] = String(at(spec, 'spec.kubernetes.version')).split('.');
      return { ...spec, kubernetes: { version: `${major}.${minor}.${Number(patch) + 1}` } };
    });
  }

  /** The manager does not keep ownership of the field. */
  removeWorkers(): void {
    this.edit(null, '', (spec) => withWorkers(spec, []));
  }

  occupySlot(): void {
    this.putAnnotations({ 'gardener.cloud/operation': 'rotate-credentials-start' });
  }

  freeSlot(): void {
    if (this.shoot === null) return;
    const { 'gardener.cloud/operation': _, ...annotations } = this.shoot.metadata.annotations;
    this.put({ ...this.shoot, metadata: { ...this.shoot.metadata, annotations } });
  }

  move(): void {
    const { shoot } = this;
    if (shoot?.status.lastOperation?.state !== 'Succeeded' || shoot.metadata.deletionTimestamp !== null) return;
    if (this.isMoving()) return;
    this.putSpec(shoot, { ...shoot.spec, seedName: shoot.spec.seedName === 'seed-a' ? 'seed-b' : 'seed-a' });
  }

  /** Operators retry what they started. */
  repeat(types: readonly string[]): void {
    const { shoot } = this;
    const operation = shoot?.status.lastOperation;
    if (!shoot || operation?.state !== 'Failed' || !types.includes(operation.type)) return;
    if (shoot.status.observedGeneration === shoot.metadata.generation) this.putSpec(shoot, shoot.spec);
  }

  deleteBehindOurBack(): void {
    if (this.shoot !== null && !this.isMoving()) this.terminate(this.shoot);
  }

  vanish(): void {
    this.shoot = null;
  }

  private edit(path: string | null, manager: string, change: (spec: Spec) => Spec): void {
    const { shoot } = this;
    if (shoot === null || this.isMoving() || shoot.metadata.deletionTimestamp !== null) return;
    const spec = change(shoot.spec);
    // An edit without a change takes no ownership.
    if (isDeepStrictEqual(spec, shoot.spec)) return;
    if (path === null) this.held.clear();
    else this.held.set(path, { manager, time: this.time() });
    this.putSpec(shoot, spec);
  }

  /** Fields that an apply leaves out keep the value of their other manager. */
  private mergedWithOthers(live: Spec, applied: Spec): Spec {
    const spec = merged(live, applied);
    for (const path of this.held.keys()) if (at(spec, path) === undefined) putAt(spec, path, at(live, path));
    return spec;
  }

  holderOf(path: string): string | null {
    return this.held.get(path)?.manager ?? null;
  }

  private managers(): FieldManager[] {
    const others = [...this.held].map(([path, { manager, time }]) => ({
      manager,
      operation: 'Update',
      time,
      fields: stepsOf(path).reduceRight<Spec>(
        (below, step) => ({ [typeof step === 'string' ? `f:${step}` : `k:${JSON.stringify(step)}`]: below }),
        {},
      ),
    }));
    const ours = { manager: 'corral', operation: 'Apply', time: this.time(), fields: {} };
    return this.isForgotten ? others : [ours, ...others];
  }

  private create({ metadata, spec }: ShootManifest): Shoot {
    // Not modelled: a request that is delayed for longer than the whole life of a cluster.
    this.late = [];
    this.creations += 1;
    this.held.clear();
    this.isForgotten = false;
    this.uids += 1;
    return this.put({
      metadata: {
        name: metadata.name,
        namespace: metadata.namespace,
        uid: `uid-${this.uids}`,
        resourceVersion: '0',
        generation: 1,
        creationTimestamp: this.time(),
        deletionTimestamp: null,
        finalizers: ['gardener'],
        labels: { ...metadata.labels },
        annotations: { ...metadata.annotations },
      },
      managers: [],
      spec: { ...clone(spec), seedName: 'seed-a' },
      status: {
        observedGeneration: 0,
        technicalID: null,
        uid: null,
        seedName: null,
        clusterIdentity: null,
        hibernated: false,
        lastOperation: null,
        lastErrors: [],
        conditions: [],
        constraints: [],
        advertisedAddresses: [],
        lastMaintenance: null,
        authorityRotation: null,
        retryCycleStartTime: null,
        migrationStartTime: null,
      },
    });
  }

  private isMoving(): boolean {
    const operation = this.shoot?.status.lastOperation;
    return operation?.type === 'Migrate' || (operation?.type === 'Restore' && operation.state !== 'Succeeded');
  }

  private begin(): void {
    const { shoot } = this;
    if (shoot === null) return;
    const { metadata, spec, status } = shoot;
    const isNewCycle = status.observedGeneration < metadata.generation || status.retryCycleStartTime === null;
    const type = this.nextType(shoot);
    this.begunWith = clone(spec);
    this.runningToken = this.secretVersion;
    this.putStatus({
      observedGeneration: metadata.generation,
      seedName: type === 'Migrate' ? status.seedName : String(spec.seedName),
      retryCycleStartTime: isNewCycle ? this.time() : status.retryCycleStartTime,
      migrationStartTime: type === 'Migrate' ? this.time() : status.migrationStartTime,
      lastOperation: { type, state: 'Processing', progress: 0, description: 'secret', lastUpdateTime: this.time() },
    });
  }

  private nextType({ metadata, spec, status }: Shoot): string {
    const last = status.lastOperation;
    if (metadata.deletionTimestamp !== null) return 'Delete';
    if (last === null || (last.type === 'Create' && last.state !== 'Succeeded')) return 'Create';
    if (last.type === 'Restore' && last.state !== 'Succeeded') return 'Restore';
    if (last.type === 'Migrate') return last.state === 'Succeeded' ? 'Restore' : 'Migrate';
    return status.seedName !== null && status.seedName !== spec.seedName ? 'Migrate' : 'Reconcile';
  }

  private finish(): void {
    const operation = this.shoot?.status.lastOperation;
    if (this.shoot === null || operation === null || operation === undefined) return;
    const fault = this.acceptedTokens.has(this.runningToken) ? this.fault : badToken;
    if (fault !== null) {
      this.fail(fault);
      return;
    }
    if (operation.type === 'Delete') {
      this.shoot = null;
      return;
    }
    const isMigrated = operation.type === 'Migrate';
    if (!isMigrated) this.achieved.push(this.begunWith);
    const { metadata, status } = this.shoot;
    this.put({
      ...this.shoot,
      metadata: { ...metadata, generation: metadata.generation + (isMigrated ? 1 : 0) },
      status: {
        ...status,
        seedName: isMigrated ? null : status.seedName,
        hibernated: isMigrated ? status.hibernated : at(this.begunWith, 'spec.hibernation.enabled') === true,
        migrationStartTime: operation.type === 'Restore' ? null : status.migrationStartTime,
        lastErrors: [],
        retryCycleStartTime: null,
        lastOperation: { ...operation, state: 'Succeeded', progress: 100, lastUpdateTime: this.time() },
      },
    });
  }

  private fail({ state, code, description }: Fault): void {
    const operation = this.shoot?.status.lastOperation;
    if (!operation) return;
    const error = { taskID: null, codes: code === null ? [] : [code], description, lastUpdateTime: this.time() };
    this.putStatus({
      lastErrors: [error],
      ...(state === 'Failed' ? { retryCycleStartTime: null } : {}),
      lastOperation: { ...operation, state, lastUpdateTime: this.time() },
    });
  }

  private terminate(shoot: Shoot): void {
    if (shoot.metadata.deletionTimestamp !== null) return;
    const { metadata } = shoot;
    this.put({
      ...shoot,
      metadata: { ...metadata, deletionTimestamp: this.time(), generation: metadata.generation + 1 },
    });
  }

  private expectOurs(uid: string): Shoot {
    if (this.shoot === null) throw new GardenError('not_found', 'gone');
    if (this.shoot.metadata.uid !== uid) throw uidConflict();
    return this.shoot;
  }

  private putSpec(shoot: Shoot, spec: Spec): void {
    this.put({ ...shoot, spec, metadata: { ...shoot.metadata, generation: shoot.metadata.generation + 1 } });
  }

  private putAnnotations(annotations: Record<string, string>): void {
    const { shoot } = this;
    if (shoot === null) return;
    this.put({
      ...shoot,
      metadata: { ...shoot.metadata, annotations: { ...shoot.metadata.annotations, ...annotations } },
    });
  }

  private patchOperation(change: Partial<NonNullable<Shoot['status']['lastOperation']>>): void {
    const operation = this.shoot?.status.lastOperation;
    if (operation) this.putStatus({ lastOperation: { ...operation, ...change, lastUpdateTime: this.time() } });
  }

  private putStatus(change: Partial<Shoot['status']>): void {
    if (this.shoot !== null) this.put({ ...this.shoot, status: { ...this.shoot.status, ...change } });
  }

  private put(shoot: Shoot): Shoot {
    const stored = {
      ...shoot,
      managers: this.managers(),
      metadata: { ...shoot.metadata, resourceVersion: String(this.history.length) },
    };
    this.shoot = stored;
    this.history.push(stored);
    return stored;
  }

  /** Whole seconds, like the garden's times. */
  private time(): string {
    return new Date(Math.floor(this.clock.now.getTime() / 1_000) * 1_000).toISOString();
  }
}

const badToken: Fault = { state: 'Failed', code: 'ERR_INFRA_UNAUTHENTICATED', description: 'unauthorized' };

/** Whether a specification contains everything rendered. Maintenance may have raised its version. */
export function holds(spec: Spec, rendered: Spec): boolean {
  const version = at(spec, 'spec.kubernetes.version');
  const kubernetes = isLower(version, at(rendered, 'spec.kubernetes.version')) ? rendered.kubernetes : { version };
  return isDeepStrictEqual(merged(spec, { ...rendered, kubernetes }), spec);
}

/** What an apply does to owned fields: merges workers by name, and replaces the rest. */
function merged(live: Spec, applied: Spec): Spec {
  const { seedName } = live;
  const workers = workersOf(applied);
  return withWorkers({ ...clone(applied), ...(seedName === undefined ? {} : { seedName }) }, workers);
}

function workersOf(spec: Spec): Worker[] {
  return (spec.provider as { workers: Worker[] }).workers;
}

function withWorkers(spec: Spec, workers: Worker[]): Spec {
  return { ...spec, provider: { ...(spec.provider as object), workers } };
}

export function at(spec: Spec, path: string): unknown {
  return stepsOf(path).slice(1).reduce<unknown>(stepInto, spec);
}

type PathStep = string | { readonly name: string };

/** Reads `.spec.provider.workers[name="p1"].maximum`. */
function stepsOf(path: string): PathStep[] {
  return [...path.matchAll(/([^.[\]]+)(?=[.[]|$)|\[name="([^"]*)"\]/g)].map(([, field, name]) =>
    field === undefined ? { name: name ?? '' } : field,
  );
}

function stepInto(value: unknown, step: PathStep): unknown {
  if (typeof step === 'string') return (value as Spec | undefined)?.[step];
  return Array.isArray(value) ? value.find(({ name }) => name === step.name) : undefined;
}

function putAt(spec: Spec, path: string, value: unknown): void {
  const steps = stepsOf(path).slice(1);
  const last = steps.pop();
  const parent = steps.reduce<unknown>(stepInto, spec);
  if (typeof last === 'string' && typeof parent === 'object' && parent !== null) (parent as Spec)[last] = value;
}

function isLower(one: unknown, other: unknown): boolean {
  return String(one).localeCompare(String(other), 'en', { numeric: true }) < 0;
}

const uidConflict = () => new GardenError('conflict', 'another uid', { uidMismatch: true });
const conflicts = (causes: { field: string; manager: string }[]) => new GardenError('conflict', 'owned', { causes });
const refusal = (field: string, message: string) =>
  new GardenError('refused', 'refused', { sentences: [message], fields: field === '' ? [] : [{ field, message }] });
/** Under Jest, `structuredClone` returns objects of another realm, which are never strictly equal to ours. */
const clone = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
