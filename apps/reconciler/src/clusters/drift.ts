import { othersHolding } from '@corral/garden';
import semver from 'semver';
import { type ApiField, apiFieldOf, ownField } from './garden-fields.js';
import type { Desired } from './model.js';
import { autoUpdate, renderedMinimum, renderedPools } from './render-shoot.js';
import { isApplied } from './run.js';
import type { ShootFacts, WorkerFacts } from './shoot-facts.js';

/** A declared field that is not as it was declared, though that was applied. */
export interface Drift {
  readonly field: ApiField;
  /** Who holds it now; null when nobody does: then it is put back. */
  readonly manager: string | null;
  /** There is no way back, so no change waits for it. */
  readonly isFinal: boolean;
}

interface Difference {
  /** As the garden names fields. */
  readonly path: string;
  readonly isFinal?: boolean;
}

/**
 * What somebody else has changed since the present declaration was applied. What the garden made of that write itself is
 * none, so an apply is never answered by another one.
 */
export function driftOf(desired: Desired, facts: ShootFacts): Drift[] {
  if (!isApplied(desired, facts)) return [];
  const isNewer = facts.generation > (desired.known.appliedShootGeneration ?? 0);
  return differences(desired, facts).flatMap(({ path, isFinal = false }) => {
    const [holder] = othersHolding(facts.managers, path);
    if (holder === undefined && !isNewer) return [];
    const field = apiFieldOf(path, desired) ?? ownField(path);
    return [{ field, manager: holder === undefined ? null : shownManager(holder.manager), isFinal }];
  });
}

/** Drift that nobody stands for: whoever changed it has let it go, or nobody is known to hold anything. */
export const isLost = ({ manager, isFinal }: Drift): boolean => manager === null && !isFinal;

/** Drift for which a change is not what it was declared to be. */
export const isInTheWay = ({ isFinal }: Drift): boolean => !isFinal;

export function driftSentence(drift: readonly Drift[]): string {
  const named = drift.map(({ field, manager }) => (manager === null ? field.name : `${field.name} (${manager})`));
  return `Somebody else has changed what is declared here: ${[...new Set(named)].join(', ')}.`;
}

/** Managers name themselves as they like, and teams read it. */
export function shownManager(manager: string): string {
  const shown = manager.replace(/[^\x21-\x7e]/g, '?');
  return shown.length <= 64 ? shown : `${shown.slice(0, 63)}…`;
}

function differences(desired: Desired, facts: ShootFacts): Difference[] {
  const { spec, pools } = desired;
  const { kubernetesVersion, maintenance } = facts;
  const wanted = autoUpdate(pools);
  const found: (Difference | false)[] = [
    facts.hibernation.wished !== spec.hibernated && { path: '.spec.hibernation.enabled' },
    spec.controlPlaneHA &&
      !facts.isHighlyAvailable && { path: '.spec.controlPlane.highAvailability.failureTolerance.type' },
    facts.connection !== desired.connection.gardenName && { path: '.spec.credentialsBindingName' },
    kubernetesVersion !== null &&
      !semver.satisfies(kubernetesVersion, spec.kubernetesVersion) && {
        path: '.spec.kubernetes.version',
        // The garden raises what has expired, and lets nobody go back.
        isFinal: semver.gtr(kubernetesVersion, spec.kubernetesVersion),
      },
    ...(['kubernetesVersion', 'machineImageVersion'] as const).map(
      (name) =>
        wanted[name] === false && maintenance[name] !== false && { path: `.spec.maintenance.autoUpdate.${name}` },
    ),
    maintenance.confined && { path: '.spec.maintenance.confineSpecUpdateRollout' },
    ...renderedPools(pools).flatMap((pool) => {
      const at = `.spec.provider.workers[name="${pool.workerName}"]`;
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
  ];
  return found.filter((each) => each !== false);
}

/** The garden completes a version that is given in part. */
function isVersionOf(declared: string, actual: string | null): boolean {
  return actual === declared || actual?.startsWith(`${declared}.`) === true;
}
