import {
  type FieldConflict,
  type FieldStep,
  fieldSteps,
  type HeldShoot,
  isRemovable,
  othersHolding,
  type ShootManifest,
} from '@corral/garden';
import { shownManager } from './drift.js';
import { apiFieldOf, ownField } from './garden-fields.js';
import { markPrefix } from './marks.js';
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
  const skewMs = at === null ? 0 : at.getTime() - now.getTime();
  const declaredMs = (desired.declaredAt?.getTime() ?? 0) + skewMs;
  const overridden: { field: string; manager: string }[] = [];
  const kept: string[] = [];
  for (const { field: path } of conflicts) {
    const [holder] = othersHolding(shoot.managers, path);
    if (holder === undefined) continue;
    const isLater = Date.parse(holder.time ?? '') > declaredMs + toleranceMs;
    if (isLater && !isMark(path)) kept.push(path);
    else overridden.push({ field: nameOf(path, desired), manager: shownManager(holder.manager) });
  }
  return { overridden, kept };
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
 * Pools that were declared and are no more, and that are not ours alone. An apply removes one in which somebody else holds
 * a field, without a word; it leaves one that somebody else holds as such, as everything is held after a restore.
 *
 * @param rendered names of the workers that are declared
 */
export function leftovers(
  { shoot }: Pick<HeldShoot, 'shoot'>,
  rendered: readonly string[],
): { readonly workers: readonly object[]; readonly removed: Arbitration['overridden'] } | null {
  const workers = workersIn(shoot.spec);
  const gone = workers.flatMap((worker) => {
    const { name, labels } = worker as { name?: string; labels?: Record<string, string> };
    const pool = labels?.[`${markPrefix}pool`];
    if (name === undefined || pool === undefined || rendered.includes(name)) return [];
    const path = `.spec.provider.workers[name="${name}"]`;
    return isRemovable(shoot.managers, path) ? [] : [{ worker, pool, holder: othersHolding(shoot.managers, path)[0] }];
  });
  if (gone.length === 0) return null;
  return {
    workers: workers.filter((worker) => !gone.some((each) => each.worker === worker)),
    removed: gone.flatMap(({ pool, holder }) =>
      holder === undefined ? [] : [{ field: `node pool ${pool}`, manager: shownManager(holder.manager) }],
    ),
  };
}

type JsonObject = Record<string, unknown>;

function workersIn(spec: JsonObject): object[] {
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
