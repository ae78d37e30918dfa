import { isObject, type JsonObject } from '@corral/service';
import { objectIn, objectsIn, textIn } from '../calls/json.js';

/** An owner of fields, an entry of `managedFields` (kubernetes.io/docs/reference/using-api/server-side-apply). */
export interface FieldManager {
  readonly manager: string;
  readonly operation: string;
  /** when it last changed one of its fields: RFC 3339, by the garden's clock, to the second */
  readonly time: string | null;
  /** a tree of parts such as `f:spec` and `k:{"name":"p1"}`; nodes that are `{}` or have `.` are owned */
  readonly fields: JsonObject;
}

/** The default field manager of this client. */
export const defaultFieldManager = 'corral';
/** The API server assigns unowned fields to this manager at the first apply. */
export const beforeFirstApply = 'before-first-apply';

export function parseManagers(metadata: JsonObject): FieldManager[] {
  return objectsIn(metadata, 'managedFields').map((entry) => ({
    manager: textIn(entry, 'manager') ?? 'unknown',
    operation: textIn(entry, 'operation') ?? '',
    time: textIn(entry, 'time'),
    fields: objectIn(entry, 'fieldsV1'),
  }));
}

/** Whether `managedFields` lists our applies. After a restore from a backup it may not. */
export function isAppliedBy(managers: readonly FieldManager[], name: string = defaultFieldManager): boolean {
  return managers.some(({ manager, operation }) => manager === name && operation === 'Apply');
}

/**
 * Finds the other owners of a field or of parts of it, latest first.
 *
 * @param path in the form of a conflict, e.g. `.spec.provider.workers[name="p1"].maximum`
 */
export function otherManagersOf(
  managers: readonly FieldManager[],
  path: string,
  us: string = defaultFieldManager,
): FieldManager[] {
  const parts = ownedPathOf(path);
  return managers
    .filter(({ manager, fields }) => manager !== us && manager !== beforeFirstApply && owns(fields, parts))
    .sort((one, other) => (other.time ?? '').localeCompare(one.time ?? ''));
}

/** Whether omitting the field from our next apply removes it: no other manager owns a part, and our applies are known. */
export function isRemovable(
  managers: readonly FieldManager[],
  path: string,
  us: string = defaultFieldManager,
): boolean {
  const parts = ownedPathOf(path);
  return isAppliedBy(managers, us) && !managers.some(({ manager, fields }) => manager !== us && owns(fields, parts));
}

function owns(fields: JsonObject, [part, ...rest]: readonly string[]): boolean {
  if (part === undefined) return true;
  const below = fields[part];
  if (!isObject(below)) return false;
  // A leaf is owned with everything in it.
  return Object.keys(below).length === 0 || owns(below, rest);
}

/** A part into an object, or to a named item of a list. */
export type FieldPathPart = string | { readonly name: string };

/**
 * Parses the path of a conflict, e.g. `.spec.provider.workers[name="p1"].maximum`. Names of labels and annotations
 * contain dots; they are always the last part.
 */
export function fieldPathParts(path: string): FieldPathPart[] {
  const [, before = path, key] = /^(.*\.(?:labels|annotations))\.(.+)$/.exec(path) ?? [];
  const parts = [...before.matchAll(/\.([^.[\]]+)|\[name="([^"]*)"\]/g)].map(([, field, name]) =>
    field === undefined ? { name: name ?? '' } : field,
  );
  return key === undefined ? parts : [...parts, key];
}

const ownedPathOf = (path: string): string[] =>
  fieldPathParts(path).map((part) => (typeof part === 'string' ? `f:${part}` : `k:${JSON.stringify(part)}`));
