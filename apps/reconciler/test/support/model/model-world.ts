import { asOperationId, type OperationId, type OperationState } from '@corral/contracts';
import { GardenError, type Shoot, type ShootManifest } from '@corral/garden';
import semver from 'semver';
import { classifyFailure } from '../../../src/clusters/classify.js';
import { decide } from '../../../src/clusters/decide/decide.js';
import { resolveVersion } from '../../../src/clusters/decide/resolve-version.js';
import { learnedFrom } from '../../../src/clusters/decide/shoot-runs.js';
import { arbitrate, withoutFields } from '../../../src/clusters/drift/field-owners.js';
import { judge } from '../../../src/clusters/judge/judge.js';
import { judgeFailure } from '../../../src/clusters/judge/judge-failure.js';
import type { Desired, Observed, Step, Verdict } from '../../../src/clusters/model.js';
import { observedFrom, observedHash, runningVersion } from '../../../src/clusters/observe.js';
import { renderShoot } from '../../../src/clusters/render.js';
import { aDesired, noon, settings } from '../a-cluster.js';
import { checkVerdict } from './check-verdict.js';
import { ModelGarden } from './model-garden.js';
import { at, holds } from './model-spec.js';
import { declared, type TeamAct } from './team-acts.js';

/** Faults of one pass. */
export interface PassFaults {
  /** The read is this many states old. */
  readonly staleBy: number;
  /** The process dies after the first effect, before its record. */
  readonly dies: boolean;
  /** The response to an apply is lost. `late`: it takes effect only later. */
  readonly losesAnswer: 'no' | 'yes' | 'late';
  /** What the team does between the pass's read and its record. */
  readonly meanwhile: TeamAct | null;
}

interface Operation {
  readonly id: OperationId;
  readonly kind: 'cluster.create' | 'cluster.update' | 'cluster.delete';
  readonly generation: number;
  state: OperationState;
  progress: number;
  readonly acceptedAt: Date;
}

const catalogue = ['1.34.2', '1.34.3', '1.35.1', '1.36.0'].map((version) => ({
  version,
  classification: 'supported',
  expirationDate: null,
}));
const calm: PassFaults = { staleBy: 0, dies: false, losesAnswer: 'no', meanwhile: null };
const stepsMax = 8;
const leaseMs = 60_000;

/**
 * One cluster with its row, its operations and a garden, and passes like the reconciler's. Checks its invariants at every step,
 * and throws when one is violated.
 */
export class ModelWorld {
  readonly clock = { now: noon };
  readonly garden = new ModelGarden(this.clock);
  /** Null once the row is deleted. */
  row: Desired | null = aDesired({ connection: { gardenTokenVersion: 0 }, pinnedVersion: null, namespace: null });
  readonly operations: Operation[] = [
    { id: asOperationId('o1'), kind: 'cluster.create', generation: 1, state: 'queued', progress: 0, acceptedAt: noon },
  ];
  writes = 0;
  /** What wakes the cluster: a planned pass, or a digest that differs from the Shoot's. */
  private dueAt: Date | null = noon;
  private leaseEnd = noon;
  private hasDied = false;
  private digest: string | null = 'absent';
  /** The last rendered specification of each generation. */
  private readonly rendered = new Map<number, Record<string, unknown>>();
  private hashes = 1;
  private readonly hadUids = new Set<string>();

  isDue(): boolean {
    if (this.row === null) return false;
    return (this.dueAt !== null && this.dueAt <= this.clock.now) || this.digest !== this.digestNow();
  }

  sleep(ms: number): void {
    this.clock.now = new Date(this.clock.now.getTime() + ms);
    this.garden.land();
  }

  act(act: TeamAct): void {
    const { row } = this;
    if (row === null) return;
    switch (act.does) {
      case 'declare':
        if (!row.isDeleting) this.accept('cluster.update', declared(row, act.what));
        return;
      case 'retry':
        if (this.operations.at(-1)?.state === 'failed') {
          this.accept(row.isDeleting ? 'cluster.delete' : 'cluster.update', {});
        }
        return;
      case 'delete':
        if (!row.isDeleting) this.accept('cluster.delete', { isDeleting: true });
        return;
      case 'newToken': {
        const tokenVersion = row.connection.tokenVersion + 1;
        if (act.isGood) this.garden.acceptedTokens.add(tokenVersion);
        else this.garden.acceptedTokens.clear();
        this.row = { ...row, connection: { ...row.connection, tokenVersion, phase: 'Unverified' } };
        this.dueAt = this.clock.now;
        return;
      }
    }
  }

  /** Verifies the current token with the provider. */
  verify(): void {
    const { row } = this;
    if (row === null) return;
    const phase = this.garden.acceptedTokens.has(row.connection.tokenVersion) ? 'Ready' : 'Rejected';
    if (phase !== row.connection.phase) this.dueAt = this.clock.now;
    this.row = { ...row, connection: { ...row.connection, phase } };
  }

  pass(faults: PassFaults = calm): void {
    // One pass at a time: the lease of a dead process lasts until its end.
    if (this.row === null || (this.hasDied && this.clock.now < this.leaseEnd)) return;
    this.hasDied = faults.dies;
    // A pass that dies leaves the cluster due at the end of its lease.
    this.leaseEnd = new Date(this.clock.now.getTime() + leaseMs);
    this.dueAt = this.leaseEnd;
    if (this.garden.isAway) {
      this.meetNoOtherHolder();
      return;
    }
    let seen = this.read(faults.staleBy);
    for (let taken = 0; taken < stepsMax && this.row !== null; taken += 1) {
      const { known }: Desired = this.row;
      const shootUid = known.shootUid ?? (seen.kind === 'present' ? seen.shoot.metadata.uid : null);
      this.row = { ...this.row, known: { ...known, shootUid } };
      const desired = {
        ...this.row,
        operation: this.openOperation(),
        failedOperationId: this.failedOperation()?.id ?? null,
      };
      if (desired.known.shootUid !== null) this.hadUids.add(desired.known.shootUid);
      const step = decide(desired, seen, this.clock.now);
      if (faults.meanwhile !== null && taken === 0) this.act(faults.meanwhile);
      if (step.do === 'finish') {
        this.hasDied = false;
        this.record(desired, seen, judge(desired, seen, this.clock.now), 0);
        return;
      }
      try {
        const answered = this.perform(desired, seen, step, faults);
        if (faults.dies) return;
        seen = answered ?? this.read(0);
      } catch (error) {
        if (faults.dies) return;
        this.fail(desired, seen, step, error);
        return;
      }
    }
    if (this.row !== null) throw new Error('a pass does not settle');
  }

  /** A pass without any answer observes nothing, and the verdict stays. */
  private meetNoOtherHolder(): void {
    if (this.row === null || this.hasDied) return;
    const { known } = this.row;
    const error = new GardenError('unreachable', 'no connection');
    const failure = classifyFailure(error, { desired: this.row, step: 'finish', random: () => 0.5 });
    if (failure.kind !== 'pause') throw new Error('an outage is more than a pause');
    this.row = { ...this.row, known: { ...known, failures: known.failures + 1 } };
    this.dueAt = new Date(this.clock.now.getTime() + failure.afterMs);
  }

  /** Runs until the world settles, working only on what is due. */
  comeToRest(): void {
    for (let round = 0; round < 400; round += 1) {
      this.garden.advance();
      this.garden.repeat(this.row?.isDeleting ? ['Migrate', 'Restore'] : ['Migrate', 'Restore', 'Delete']);
      if (this.isDue()) this.pass();
      else if (this.garden.isIdle()) {
        if (this.row === null || this.dueAt === null) return;
        this.sleep(Math.max(0, this.dueAt.getTime() - this.clock.now.getTime()));
      }
      this.sleep(1_000);
    }
    throw new Error('the world does not settle');
  }

  private accept(kind: Operation['kind'], change: Partial<Desired>): void {
    if (this.row === null) return;
    const generation = this.row.generation + 1;
    this.hashes += 1;
    const acceptedAt = this.clock.now;
    this.row = { ...this.row, ...change, generation, desiredHash: `sha256:${this.hashes}`, declaredAt: acceptedAt };
    for (const open of this.openOperations()) open.state = 'superseded';
    this.operations.push({
      id: asOperationId(`o${generation}`),
      kind,
      generation,
      state: 'queued',
      progress: 0,
      acceptedAt,
    });
    this.dueAt = this.clock.now;
  }

  private read(staleBy: number): Observed {
    if (this.row === null) throw new Error('no row');
    const { history, shoot } = this.garden;
    const old = staleBy === 0 || shoot === null ? shoot : (history.at(-1 - staleBy) ?? shoot);
    return observedFrom(
      this.row,
      this.row.namespace === null || old?.metadata.uid !== shoot?.metadata.uid ? shoot : old,
    );
  }

  private perform(desired: Desired, seen: Observed, step: Step, faults: PassFaults): Observed | null {
    const { garden } = this;
    this.writes += 1;
    switch (step.do) {
      case 'ensureProject':
        return this.learn(faults, { namespace: 'garden-t1a2b3c4' }, seen);
      case 'applyCredentials':
        garden.secretVersion = desired.connection.tokenVersion;
        return this.learn(faults, { gardenTokenVersion: desired.connection.tokenVersion }, seen);
      case 'pinVersion': {
        const { kubernetesVersion } = desired.spec;
        const pinnedVersion = resolveVersion(kubernetesVersion, catalogue, runningVersion(seen), this.clock.now);
        return this.learn(faults, { pinnedVersion }, seen);
      }
      case 'applyShoot':
        return this.applyShoot(desired, faults);
      case 'reconcileShoot':
      case 'retryShoot': {
        if (seen.kind !== 'present') throw new Error(`${step.do} without a Shoot`);
        const order = step.do === 'retryShoot' ? 'retry' : 'reconcile';
        const { uid, resourceVersion } = seen.shoot.metadata;
        const shoot = garden.annotate(uid, order, resourceVersion);
        return this.learnWrite(step.do, desired, shoot, faults);
      }
      case 'deleteShoot':
        if (!desired.isDeleting) throw new Error('deletes a cluster that is not to be deleted');
        garden.delete(step.uid);
        return null;
      case 'forget':
        return this.forget();
      case 'finish':
        throw new Error('nothing to perform');
    }
  }

  private applyShoot(desired: Desired, faults: PassFaults): Observed | null {
    const { metadata, spec } = renderShoot(desired, settings);
    const manifest = { metadata, spec };
    this.rendered.set(desired.generation, manifest.spec);
    if (faults.losesAnswer === 'late' && this.garden.shoot === null) {
      this.garden.applyLate(manifest);
      throw new GardenError('uncertain', 'no answer');
    }
    const shoot = this.applyOverOthers(desired, manifest);
    if (faults.losesAnswer === 'yes') throw new GardenError('uncertain', 'no answer');
    return this.learnWrite('applyShoot', desired, shoot, faults);
  }

  private applyOverOthers(desired: Desired, manifest: ShootManifest): Shoot {
    const { garden, clock } = this;
    try {
      return garden.apply(manifest);
    } catch (error) {
      if (!(error instanceof GardenError) || error.causes.length === 0 || garden.shoot === null) throw error;
      const held = { shoot: garden.shoot, at: clock.now };
      const { kept } = arbitrate(desired, held, error.causes, clock.now);
      return garden.apply(withoutFields(manifest, kept), { force: true });
    }
  }

  private learnWrite(
    step: 'applyShoot' | 'reconcileShoot' | 'retryShoot',
    desired: Desired,
    shoot: Shoot,
    faults: PassFaults,
  ): Observed {
    const second = new Date(Math.floor(this.clock.now.getTime() / 1_000) * 1_000);
    if (!faults.dies && this.row !== null) {
      const known = { ...this.row.known, ...learnedFrom(step, desired, shoot, second) };
      this.row = { ...this.row, known };
    }
    return { kind: 'present', shoot };
  }

  private learn(
    faults: PassFaults,
    { gardenTokenVersion, ...learned }: Partial<Desired> & { gardenTokenVersion?: number },
    seen: Observed,
  ): Observed {
    if (faults.dies || this.row === null) return seen;
    const connection = { ...this.row.connection, ...(gardenTokenVersion === undefined ? {} : { gardenTokenVersion }) };
    this.row = { ...this.row, ...learned, connection };
    return seen;
  }

  private forget(): null {
    const { shoot } = this.garden;
    if (shoot !== null && this.hadUids.has(shoot.metadata.uid)) throw new Error('forgets a cluster that is there');
    const ended = [...this.openOperations(), this.failedOperation() ?? []].flat();
    for (const each of ended) Object.assign(each, { state: 'succeeded', progress: 100 });
    this.row = null;
    return null;
  }

  private fail(desired: Desired, seen: Observed, step: Step, error: unknown): void {
    if (this.row === null) return;
    if (!(error instanceof GardenError)) throw error;
    const failure = classifyFailure(error, { desired, step: step.do, random: () => 0.5 });
    if (failure.kind === 'bug') throw error;
    const verdict = judgeFailure(desired, seen, failure, this.clock.now);
    const nextPassMs = failure.kind === 'needsUser' ? null : failure.afterMs;
    const failures = this.row.known.failures + 1;
    if (verdict !== null) {
      this.record(desired, seen, { ...verdict, nextPassMs }, failures);
      return;
    }
    this.row = { ...this.row, known: { ...this.row.known, failures } };
    this.endTurn(seen, nextPassMs);
  }

  /** The stores do the same: a verdict on an older declaration only releases the lease. */
  private record(desired: Desired, seen: Observed, verdict: Verdict, failures: number): void {
    if (this.row === null) return;
    checkVerdict(desired, verdict, this.clock.now);
    if (verdict.operation.to === 'succeeded') this.checkSuccess(desired);
    const { phase, conditions, seedName, migrationPhase, observedGeneration } = verdict;
    const shown = { phase, conditions, seedName, migrationPhase, observedGeneration };
    const isCurrent = this.row.generation === desired.generation;
    this.row = { ...this.row, known: { ...this.row.known, ...(isCurrent ? shown : {}), failures } };
    const { operation: outcome } = verdict;
    const late = outcome.to === 'succeeded' ? this.operations.filter(({ state }) => state === 'failed') : [];
    const id = desired.operation?.id ?? desired.failedOperationId;
    const operation = [...this.openOperations(), ...late].find((each) => each.id === id);
    if (operation !== undefined && outcome.to !== 'stay') {
      operation.state = outcome.to;
      if (outcome.to === 'running') operation.progress = outcome.progress;
      if (outcome.to === 'succeeded') operation.progress = 100;
    }
    this.endTurn(seen, verdict.nextPassMs);
  }

  private endTurn(seen: Observed, nextPassMs: number | null): void {
    this.digest = digestOf(seen);
    // A cluster that became due during the pass is next.
    if (this.dueAt !== this.leaseEnd) return;
    this.dueAt = nextPassMs === null ? null : new Date(this.clock.now.getTime() + nextPassMs);
  }

  private checkSuccess({ generation }: Desired): void {
    const rendered = this.rendered.get(generation);
    const isTrue = rendered !== undefined && this.garden.achieved.some((spec) => holds(spec, rendered));
    if (!isTrue) throw new Error('an operation succeeded, and no run brought about what it declared');
  }

  /** Differences between Shoot and declaration with their managers, found without the code under test. */
  differences(): { field: string; manager: string | null }[] {
    const { row, garden } = this;
    if (row === null || garden.shoot === null) return [];
    const { spec } = garden.shoot;
    const found: { field: string; path: string }[] = [];
    const compare = (field: string, path: string, isDeclared: (actual: unknown) => boolean) => {
      if (!isDeclared(at(spec, path))) found.push({ field, path });
    };
    compare('hibernated', '.spec.hibernation.enabled', (actual) => actual === row.spec.hibernated);
    compare('kubernetesVersion', '.spec.kubernetes.version', (actual) =>
      semver.satisfies(String(actual), row.spec.kubernetesVersion),
    );
    for (const { name, workerName, source, maximum } of row.pools) {
      const path = `.spec.provider.workers[name="${workerName}"].maximum`;
      if (source === 'managed') compare(`maximum of node pool ${name}`, path, (actual) => actual === maximum);
    }
    return found.map(({ field, path }) => ({ field, manager: garden.holderOf(path) }));
  }

  private digestNow(): string | null {
    const { shoot } = this.garden;
    return this.row === null ? '' : digestOf(observedFrom(this.row, shoot));
  }

  private openOperations(): Operation[] {
    return this.operations.filter(({ state }) => state === 'queued' || state === 'running');
  }

  /** Finds the failed operation of the present generation. */
  private failedOperation(): Operation | undefined {
    return this.operations.find(({ state, generation }) => state === 'failed' && generation === this.row?.generation);
  }

  private openOperation(): Desired['operation'] {
    const open = this.openOperations().at(-1);
    return open === undefined ? null : { ...open, state: open.state === 'queued' ? 'queued' : 'running' };
  }
}

/** What a relist compares. The absence of a cluster that was never observed does not count. */
function digestOf(seen: Observed): string | null {
  return seen.kind === 'present' ? observedHash(seen.shoot) : seen.kind;
}
