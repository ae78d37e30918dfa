import {
  defaultFieldManager,
  type FieldConflict,
  type FieldManager,
  type FieldStep,
  fieldSteps,
  type HeldShoot,
  isAppliedBy,
  isRemovable,
  othersHolding,
  type Shoot,
  type ShootManifest,
} from '@corral/garden';
import { addedPool, adderOf, shownName, workerPath } from './drift.js';
import { apiFieldOf, ownField } from './garden-fields.js';
import { markPrefix, poolLabel } from './marks.js';
import type { Desired } from './model.js';

/** What becomes of fields that others hold and that are to be applied. */
export interface Arbitration {
  /** Taken over, each with who held it, in the words of the team's specification. */
  readonly overridden: readonly { readonly field: string; readonly manager: string }[];
  /** Left to whoever changed them: paths as the garden names them. */
  readonly kept: readonly string[];
}

/** The garden's times are whole seconds, and two clocks are read one after the other. In doubt the team is right. */
const toleranceMs = 2_000;

/**
 * Decides each conflict by what came later: what the team declared after somebody's change wins, what somebody changed
 * after the declaration stays. Marks of ours are always put back, and what nobody holds any more has no say.
 *
 * @param now the clock by which the declaration was accepted, at the time of `held`
 */
export function arbitrate(
  desired: Desired,
  { shoot, at }: HeldShoot,
  conflicts: readonly FieldConflict[],
  now: Date,
): Arbitration {
  const isLater = laterThan(desired.declaredAt, at, now);
  const overridden: { field: string; manager: string }[] = [];
  const kept: string[] = [];
  for (const { field: path } of conflicts) {
    const [holder] = othersHolding(shoot.managers, path);
    if (holder === undefined) continue;
    if (isLater(holder) && !isMark(path)) kept.push(path);
    else overridden.push({ field: nameOf(path, desired), manager: shownName(holder.manager) });
  }
  return { overridden, kept };
}

/** Whether a holder has changed something after a declaration, both by the clock of the garden, which shows `at` now. */
function laterThan(declaredAt: Date | null, at: Date | null, now: Date): (holder: FieldManager) => boolean {
  const skewMs = at === null ? 0 : at.getTime() - now.getTime();
  const declaredMs = (declaredAt?.getTime() ?? 0) + skewMs;
  return ({ time }) => Date.parse(time ?? '') > declaredMs + toleranceMs;
}

const isMark = (path: string): boolean => new RegExp(`\\.(labels|annotations)\\.${markPrefix}`).test(path);

const nameOf = (path: string, desired: Desired): string => (apiFieldOf(path, desired) ?? ownField(path)).name;

/** The manifest without fields that others keep. What is left out and was ours goes to whoever else holds it. */
export function withoutFields(manifest: ShootManifest, paths: readonly string[]): ShootManifest {
  const reduced = structuredClone(manifest) as unknown as JsonObject;
  for (const path of paths) remove(reduced, fieldSteps(path));
  return reduced as unknown as ShootManifest;
}

/**
 * Pools that somebody else has put beside those that are declared, and that an apply leaves there. They go with the first
 * apply of what the team declares later; one that came after the declaration stays. Of one of which nobody knows any more
 * who added it, nobody knows when either: it goes with a new declaration of pools only.
 *
 * @param rendered names of the workers that are declared
 * @param now the clock by which the declaration was accepted, at the time of `held`
 * @returns names of the workers that go
 */
export function outdatedAdditions(
  { poolsDeclaredAt, declaredAt, known, generation }: Desired,
  { shoot, at }: HeldShoot,
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

/** Names of the pools that are not declared and never were. */
export function additionsIn(
  { spec, managers }: Pick<Shoot, 'spec' | 'managers'>,
  rendered: readonly string[],
): string[] {
  return workersIn(spec).flatMap(({ name, labels }) => {
    if (name === undefined || rendered.includes(name)) return [];
    return labels?.[poolLabel] === undefined || isCopy(managers, name) ? [name] : [];
  });
}

/** Who copies a pool copies its label as well. Where our applies are known, we hold something in what is ours. */
function isCopy(managers: readonly FieldManager[], name: string): boolean {
  const path = workerPath(name);
  const isHeldByUs = othersHolding(managers, path, '').some(({ manager }) => manager === defaultFieldManager);
  return isAppliedBy(managers) && !isHeldByUs && othersHolding(managers, `${path}.name`).length > 0;
}

/**
 * Pools that are not to be there, and that are not ours alone: those that were declared and are no more, and those of
 * others that have to go. An apply removes one in which somebody else holds a field, without a word; it leaves one that
 * somebody else holds as such, as everything is held after a restore.
 *
 * @param rendered names of the workers that are declared
 * @param outdated names of those that others have added
 */
export function leftovers(
  { shoot }: Pick<HeldShoot, 'shoot'>,
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
    const removed = othersHolding(shoot.managers, path).slice(0, 1);
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

function remove(value: unknown, [step, ...rest]: readonly FieldStep[]): void {
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
