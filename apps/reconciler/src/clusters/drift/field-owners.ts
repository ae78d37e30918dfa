import {
  defaultFieldManager,
  type FieldConflict,
  type FieldManager,
  type FieldPathPart,
  fieldPathParts,
  isAppliedBy,
  isRemovable,
  otherManagersOf,
  type Shoot,
  type ShootManifest,
  type TimedShoot,
} from '@corral/garden';
import type { Desired } from '../model.js';
import { corralPrefix, poolLabel } from '../model.js';
import { addedPool, adderOf, apiFieldOf, ownField, shownName, workerPath } from './drift.js';

/** The outcome of conflicts over fields that other managers own. */
interface Arbitration {
  /** Fields that are taken over, by their API names, each with its previous manager. */
  readonly overridden: readonly { readonly field: string; readonly manager: string }[];
  /** Fields that stay with the manager that changed them: paths as the garden writes them. */
  readonly kept: readonly string[];
}

/** The garden's times have a resolution of one second, and the two clocks are read one after the other. In doubt the team wins. */
const toleranceMs = 2_000;

/**
 * Decides each conflict by what came last: a declaration overrides an earlier change by another manager, and a later change
 * is kept. Labels and annotations of Corral are always reverted. Fields without an owner are neither.
 *
 * @param now time of the read by the clock that timestamps declarations
 */
export function arbitrate(
  desired: Desired,
  { shoot, at }: TimedShoot,
  conflicts: readonly FieldConflict[],
  now: Date,
): Arbitration {
  const isLater = laterThan(desired.declaredAt, at, now);
  const overridden: { field: string; manager: string }[] = [];
  const kept: string[] = [];
  for (const { field: path } of conflicts) {
    const [holder] = otherManagersOf(shoot.managers, path);
    if (holder === undefined) continue;
    if (isLater(holder) && !isCorralMetadata(path)) kept.push(path);
    else overridden.push({ field: nameOf(path, desired), manager: shownName(holder.manager) });
  }
  return { overridden, kept };
}

/** Whether a manager changed something after a declaration. Both times are by the garden's clock, which shows `at` now. */
function laterThan(declaredAt: Date | null, at: Date | null, now: Date): (holder: FieldManager) => boolean {
  const skewMs = at === null ? 0 : at.getTime() - now.getTime();
  const declaredMs = (declaredAt?.getTime() ?? 0) + skewMs;
  return ({ time }) => Date.parse(time ?? '') > declaredMs + toleranceMs;
}

const isCorralMetadata = (path: string): boolean => new RegExp(`\\.(labels|annotations)\\.${corralPrefix}`).test(path);

const nameOf = (path: string, desired: Desired): string => (apiFieldOf(path, desired) ?? ownField(path)).name;

/** The manifest without fields that other managers keep. Releasing a field leaves it to its other managers. */
export function withoutFields(manifest: ShootManifest, paths: readonly string[]): ShootManifest {
  const reduced = structuredClone(manifest) as unknown as JsonObject;
  for (const path of paths) remove(reduced, fieldPathParts(path));
  return reduced as unknown as ShootManifest;
}

/**
 * Pools that other managers added, which an apply leaves alone. The first apply of a later declaration of pools removes them.
 * A pool that was added after the declaration is kept. When its manager is unknown, so is its age: only a new declaration of
 * pools removes it.
 *
 * @param rendered names of the declared workers
 * @param now time of the read by the clock that timestamps declarations
 * @returns names of the workers to remove
 */
export function outdatedAdditions(
  { poolsDeclaredAt, declaredAt, known, generation }: Desired,
  { shoot, at }: TimedShoot,
  rendered: readonly string[],
  now: Date,
): string[] {
  const isLater = laterThan(poolsDeclaredAt, at, now);
  const isDeclaration = poolsDeclaredAt !== null && poolsDeclaredAt.getTime() === declaredAt?.getTime();
  const isNew = isDeclaration && known.appliedGeneration < generation;
  return additionsIn(shoot, rendered).filter((name) => {
    const adder = adderOf(shoot.managers, name);
    return adder === undefined ? isNew : !isLater(adder);
  });
}

/** Names of the pools that were never declared. */
export function additionsIn(
  { spec, managers }: Pick<Shoot, 'spec' | 'managers'>,
  rendered: readonly string[],
): string[] {
  return workersIn(spec).flatMap(({ name, labels }) => {
    if (name === undefined || rendered.includes(name)) return [];
    return labels?.[poolLabel] === undefined || isCopy(managers, name) ? [name] : [];
  });
}

/** A copied pool carries the copied label. While applies are on record, Corral owns a field in each of its own pools. */
function isCopy(managers: readonly FieldManager[], name: string): boolean {
  const path = workerPath(name);
  const isOwnedByUs = otherManagersOf(managers, path, '').some(({ manager }) => manager === defaultFieldManager);
  return isAppliedBy(managers) && !isOwnedByUs && otherManagersOf(managers, `${path}.name`).length > 0;
}

/**
 * Pools to remove that Corral does not own alone: formerly declared pools, and outdated ones of other managers. An apply
 * silently removes a pool in which another manager owns a field. It keeps one that another manager owns as a whole, which is
 * the case for all pools after a restore.
 *
 * @param rendered names of the declared workers
 * @param outdated names of outdated workers that other managers added
 */
export function leftovers(
  { shoot }: Pick<TimedShoot, 'shoot'>,
  rendered: readonly string[],
  outdated: readonly string[] = [],
): { readonly workers: readonly object[]; readonly removed: Arbitration['overridden'] } | null {
  const workers = workersIn(shoot.spec);
  const additions = additionsIn(shoot, rendered);
  const gone = workers.flatMap((worker) => {
    const { name, labels } = worker;
    if (name === undefined || rendered.includes(name)) return [];
    if (outdated.includes(name)) {
      const manager = adderOf(shoot.managers, name)?.manager ?? 'unknown';
      return [{ worker, removed: [{ field: addedPool(name).name, manager: shownName(manager) }] }];
    }
    const pool = labels?.[poolLabel];
    const path = workerPath(name);
    if (pool === undefined || additions.includes(name) || isRemovable(shoot.managers, path)) return [];
    const removed = otherManagersOf(shoot.managers, path).slice(0, 1);
    return [
      { worker, removed: removed.map(({ manager }) => ({ field: `node pool ${pool}`, manager: shownName(manager) })) },
    ];
  });
  if (gone.length === 0) return null;
  return {
    workers: workers.filter((worker) => !gone.some((each) => each.worker === worker)),
    removed: gone.flatMap(({ removed }) => removed),
  };
}

type JsonObject = Record<string, unknown>;

interface Worker {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

function workersIn(spec: JsonObject): Worker[] {
  const { workers } = (spec.provider ?? {}) as { workers?: unknown };
  return Array.isArray(workers) ? workers : [];
}

function remove(value: unknown, [step, ...rest]: readonly FieldPathPart[]): void {
  if (step === undefined || typeof value !== 'object' || value === null) return;
  if (typeof step !== 'string') {
    if (Array.isArray(value))
      remove(
        value.find((item) => item.name === step.name),
        rest,
      );
  } else if (rest.length === 0) delete (value as JsonObject)[step];
  else remove((value as JsonObject)[step], rest);
}
