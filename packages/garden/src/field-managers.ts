import { isObject, type JsonObject, objectIn, objectsIn, textIn } from './json.js';

/** Whoever holds fields of an object, as its `managedFields` say (kubernetes.io/docs/reference/using-api/server-side-apply). */
export interface FieldManager {
  readonly manager: string;
  readonly operation: string;
  /** RFC 3339, by the garden's clock, to the second: when it last changed one of its fields */
  readonly time: string | null;
  /** a tree of steps such as `f:spec` and `k:{"name":"p1"}`; what ends in `{}` or has `.` is held */
  readonly fields: JsonObject;
}

/** Who applies as this client does unless told otherwise. */
export const defaultFieldManager = 'corral';
/** To whom the API server gives what nobody holds when something is applied for the first time. */
export const nobodysManager = 'before-first-apply';

export function parseManagers(metadata: JsonObject): FieldManager[] {
  return objectsIn(metadata, 'managedFields').map((entry) => ({
    manager: textIn(entry, 'manager') ?? 'unknown',
    operation: textIn(entry, 'operation') ?? '',
    time: textIn(entry, 'time'),
    fields: objectIn(entry, 'fieldsV1'),
  }));
}

/** Whether our applies are known: after a restore from a backup they may not be. */
export function isAppliedBy(managers: readonly FieldManager[], name: string = defaultFieldManager): boolean {
  return managers.some(({ manager, operation }) => manager === name && operation === 'Apply');
}

/**
 * Who else holds a field, or something in it; the latest first.
 *
 * @param path as a conflict names it, e.g. `.spec.provider.workers[name="p1"].maximum`
 */
export function othersHolding(
  managers: readonly FieldManager[],
  path: string,
  us: string = defaultFieldManager,
): FieldManager[] {
  const steps = stepsOf(path);
  return managers
    .filter(({ manager, fields }) => manager !== us && manager !== nobodysManager && holds(fields, steps))
    .sort((one, other) => (other.time ?? '').localeCompare(one.time ?? ''));
}

/** Whether an apply of ours that leaves this out removes it: nobody else holds anything in it, and what we hold is known. */
export function isRemovable(
  managers: readonly FieldManager[],
  path: string,
  us: string = defaultFieldManager,
): boolean {
  const steps = stepsOf(path);
  return isAppliedBy(managers, us) && !managers.some(({ manager, fields }) => manager !== us && holds(fields, steps));
}

function holds(fields: JsonObject, [step, ...rest]: readonly string[]): boolean {
  if (step === undefined) return true;
  const below = fields[step];
  if (!isObject(below)) return false;
  // A leaf is held as a whole, whatever is in it.
  return Object.keys(below).length === 0 || holds(below, rest);
}

/** A step into an object, or to an item of a list whose items have names. */
export type FieldStep = string | { readonly name: string };

/**
 * Reads a path as a conflict has it, e.g. `.spec.provider.workers[name="p1"].maximum`. Labels and annotations have dots in
 * their names, and are the last step.
 */
export function fieldSteps(path: string): FieldStep[] {
  const [, before = path, key] = /^(.*\.(?:labels|annotations))\.(.+)$/.exec(path) ?? [];
  const steps = [...before.matchAll(/\.([^.[\]]+)|\[name="([^"]*)"\]/g)].map(([, field, name]) =>
    field === undefined ? { name: name ?? '' } : field,
  );
  return key === undefined ? steps : [...steps, key];
}

const stepsOf = (path: string): string[] =>
  fieldSteps(path).map((step) => (typeof step === 'string' ? `f:${step}` : `k:${JSON.stringify(step)}`));
