import { cutText } from '@corral/contracts';
import { type FieldManager, otherManagersOf } from '@corral/garden';
import semver from 'semver';
import { isApplied } from '../decide/shoot-runs.js';
import type { Desired } from '../model.js';
import type { ShootFacts, WorkerFacts } from '../observe.js';
import { autoUpdate, imageOptions, renderedMinimum, renderedPools } from '../render.js';
import { type ApiField, apiFieldOf, ownField } from './garden-fields.js';

/** A difference between the declaration and the Shoot after the declaration was applied. */
export interface Drift {
  readonly field: ApiField;
  /** The manager that owns the field now, or null when there is none or it is unknown. */
  readonly manager: string | null;
  readonly kind: DriftKind;
}

/**
 * `changed`: a declared field has another value; an operation waits for it, and a field without an owner is reverted.
 * `irreversible`: it cannot be reverted, so no operation waits. `added`: an undeclared pool, next to all declared ones.
 */
type DriftKind = 'changed' | 'irreversible' | 'added';

interface Difference {
  /** Field path as the garden writes it. */
  readonly path: string;
  readonly isFinal?: boolean;
}

/**
 * What other managers changed since the current declaration was applied. Values that the garden itself altered in that
 * write do not count, so an apply never triggers another one.
 */
export function driftOf(desired: Desired, facts: ShootFacts): Drift[] {
  if (!isApplied(desired, facts)) return [];
  const isNewer = facts.generation > (desired.known.appliedShootGeneration ?? 0);
  const changed = differences(desired, facts).flatMap(({ path, isFinal = false }): Drift[] => {
    const [holder] = otherManagersOf(facts.managers, path);
    if (holder === undefined && !isNewer) return [];
    const field = apiFieldOf(path, desired) ?? ownField(path);
    return [{ field, manager: managerOf(holder), kind: isFinal ? 'irreversible' : 'changed' }];
  });
  return [...changed, ...addedPools(desired, facts)];
}

function addedPools({ pools }: Desired, { workers, managers }: ShootFacts): Drift[] {
  const declared = new Set(renderedPools(pools).map(({ workerName }) => workerName));
  return workers
    .filter(({ name }) => !declared.has(name))
    .map(({ name }) => ({ field: addedPool(name), manager: managerOf(adderOf(managers, name)), kind: 'added' }));
}

/** Field of a pool that exists only in the garden, by its name there. */
export const addedPool = (worker: string): ApiField => ({
  pointer: '/spec/nodePools',
  name: `node pool ${shownName(worker)}`,
});

/** Field path as the garden writes it. */
export const workerPath = (worker: string): string => `.spec.provider.workers[name="${worker}"]`;

/** The manager that added a pool, or undefined when it is unknown. */
export function adderOf(managers: readonly FieldManager[], worker: string): FieldManager | undefined {
  const path = workerPath(worker);
  return otherManagersOf(managers, `${path}.name`)[0] ?? otherManagersOf(managers, path).at(-1);
}

const managerOf = (holder: FieldManager | undefined): string | null =>
  holder === undefined ? null : shownName(holder.manager);

/** Drift without an owner: the manager released the field, or no manager is known. */
export const isUnowned = ({ manager, kind }: Drift): boolean => manager === null && kind === 'changed';

/** Drift that keeps an operation from succeeding. */
export const blocksOperation = ({ kind }: Drift): boolean => kind === 'changed';

/** Drift that the team's next declaration reverts. */
export const isRevertible = ({ kind }: Drift): boolean => kind !== 'irreversible';

export function driftSentence(drift: readonly Drift[]): string {
  const [changed, added] = [namesOf(drift.filter(({ kind }) => kind !== 'added')), namesOf(drift.filter(isAdded))];
  const said = [
    changed && `Another manager changed fields that are declared here: ${changed}.`,
    added && `Another manager added fields that are not declared here: ${added}.`,
  ];
  return said.filter((each) => each !== '').join(' ');
}

const isAdded = ({ kind }: Drift): boolean => kind === 'added';

function namesOf(drift: readonly Drift[]): string {
  const named = drift.map(({ field, manager }) => (manager === null ? field.name : `${field.name} (${manager})`));
  return [...new Set(named)].join(', ');
}

/** Managers choose these names freely, and teams read them. */
export function shownName(name: string): string {
  return cutText(name.replace(/[^\x21-\x7e]/g, '?'), 64, '…');
}

function differences(desired: Desired, facts: ShootFacts): Difference[] {
  const { spec, pools } = desired;
  const { kubernetesVersion, maintenance } = facts;
  const wanted = autoUpdate(pools);
  const found: (Difference | false)[] = [
    facts.hibernation.desired !== spec.hibernated && { path: '.spec.hibernation.enabled' },
    spec.controlPlaneHA &&
      !facts.isHighlyAvailable && { path: '.spec.controlPlane.highAvailability.failureTolerance.type' },
    facts.connection !== desired.connection.gardenName && { path: '.spec.credentialsBindingName' },
    facts.existingNetwork !== (spec.network.existingNetwork ?? null) && {
      path: '.spec.provider.infrastructureConfig.networks.existingNetwork',
    },
    kubernetesVersion !== null &&
      !semver.satisfies(kubernetesVersion, spec.kubernetesVersion) && {
        path: '.spec.kubernetes.version',
        // The garden raises expired versions, and allows no downgrade.
        isFinal: semver.gtr(kubernetesVersion, spec.kubernetesVersion),
      },
    ...(['kubernetesVersion', 'machineImageVersion'] as const).map(
      (name) =>
        wanted[name] === false && maintenance[name] !== false && { path: `.spec.maintenance.autoUpdate.${name}` },
    ),
    maintenance.confined && { path: '.spec.maintenance.confineSpecUpdateRollout' },
    ...renderedPools(pools).flatMap((pool) => {
      const at = workerPath(pool.workerName);
      const worker = facts.workers.find(({ name }) => name === pool.workerName);
      return worker === undefined
        ? [{ path: at }]
        : poolDifferences(pool, worker).map((path) => ({ path: `${at}${path}` }));
    }),
  ];
  return found.filter((each) => each !== false);
}

function poolDifferences(pool: Desired['pools'][number], worker: WorkerFacts): string[] {
  const { name, version } = pool.image;
  const found: (string | false)[] = [
    worker.machineType !== pool.machineType && '.machine.type',
    worker.minimum !== renderedMinimum(pool) && '.minimum',
    worker.maximum !== pool.maximum && '.maximum',
    name !== undefined && worker.image.name !== name && '.machine.image.name',
    version !== undefined && !isVersionOf(String(version), worker.image.version) && '.machine.image.version',
    ...Object.entries(imageOptions(pool)).map(
      ([option, value]) => worker.imageOptions[option] !== value && `.machine.image.providerConfig.${option}`,
    ),
    worker.publicIP !== pool.publicIP && '.providerConfig.publicIP',
  ];
  return found.filter((each) => each !== false);
}

/** The garden completes a partial version. */
function isVersionOf(declared: string, actual: string | null): boolean {
  return actual === declared || actual?.startsWith(`${declared}.`) === true;
}
