import { isDeepStrictEqual } from 'node:util';
import { GardenError, type Shoot, type ShootManifest } from '@corral/garden';
import { clusterIdLabel } from '../../../src/clusters/model.js';
import { FieldOwners } from './model-owners.js';
import { at, clone, isLower, type Spec, withWorkers, workersOf } from './model-spec.js';
import { newShoot } from './new-shoot.js';

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
  private readonly owners = new FieldOwners();
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
    const spec = this.owners.merged(shoot.spec, manifest.spec);
    const isChange = !isDeepStrictEqual(spec, shoot.spec);
    if (isChange && this.isMoving()) throw refusal('spec', 'cannot change spec while the shoot is migrated');
    if (isChange && shoot.metadata.deletionTimestamp !== null) throw refusal('spec', 'deletionTimestamp is set');
    const taken = this.owners.changed(shoot.spec, spec);
    if (taken.length > 0 && !force) throw conflicts(taken);
    if (this.owners.isForgotten && isChange && !force) {
      throw conflicts([{ field: '.spec.provider.workers[name="p1a2b3"].maximum', manager: 'before-first-apply' }]);
    }
    if (isLower(at(spec, 'spec.kubernetes.version'), at(shoot.spec, 'spec.kubernetes.version'))) {
      throw refusal('spec.kubernetes.version', 'downgrade is not supported');
    }
    this.owners.takeOver(taken.map(({ field }) => field));
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
    const condition = { reason: 'NodesCounted', message: 'secret', codes: [], lastTransitionTime: null };
    this.putStatus({
      conditions: [
        { ...condition, type: 'APIServerAvailable', status: 'True', lastUpdateTime: null },
        { ...condition, type: 'ControlPlaneHealthy', status: 'True', lastUpdateTime: null },
        { ...condition, type: 'EveryNodeReady', status, lastUpdateTime: this.time() },
      ],
    });
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

  /** Another manager sets annotations. @param changed undefined removes one */
  mark(changed: Record<string, string | undefined>): void {
    const entries = Object.entries({ ...this.shoot?.metadata.annotations, ...changed });
    const annotations = Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Record<
      string,
      string
    >;
    this.putMetadata({ annotations });
  }

  /** The garden is restored from a backup. */
  forgetManagers(): void {
    if (this.shoot === null) return;
    this.owners.forget();
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
    if (path === null) this.owners.clear();
    else this.owners.set(path, manager, this.time());
    this.putSpec(shoot, spec);
  }

  holderOf(path: string): string | null {
    return this.owners.holderOf(path);
  }

  private create(manifest: ShootManifest): Shoot {
    // Not modelled: a request that is delayed for longer than the whole life of a cluster.
    this.late = [];
    this.creations += 1;
    this.owners.takeOver([]);
    this.owners.clear();
    this.uids += 1;
    return this.put(newShoot(manifest, `uid-${this.uids}`, this.time()));
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

  private terminate({ metadata }: Shoot): void {
    if (metadata.deletionTimestamp !== null) return;
    this.putMetadata({ deletionTimestamp: this.time(), generation: metadata.generation + 1 });
  }

  private expectOurs(uid: string): Shoot {
    if (this.shoot === null) throw new GardenError('not_found', 'gone');
    if (this.shoot.metadata.uid !== uid) throw uidConflict();
    return this.shoot;
  }

  private putSpec(shoot: Shoot, spec: Spec): void {
    this.put({ ...shoot, spec, metadata: { ...shoot.metadata, generation: shoot.metadata.generation + 1 } });
  }

  private putMetadata(change: Partial<Shoot['metadata']>): void {
    if (this.shoot !== null) this.put({ ...this.shoot, metadata: { ...this.shoot.metadata, ...change } });
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
      managers: this.owners.managers(this.time()),
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

const uidConflict = () => new GardenError('conflict', 'another uid', { uidMismatch: true });
const conflicts = (causes: { field: string; manager: string }[]) => new GardenError('conflict', 'owned', { causes });
const refusal = (field: string, message: string) =>
  new GardenError('refused', 'refused', { sentences: [message], fields: field === '' ? [] : [{ field, message }] });
