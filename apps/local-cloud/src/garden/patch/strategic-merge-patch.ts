import { any, type FieldType, memberType } from '../fields/schema.js';
import { isFields } from '../kube/object.js';

/**
 * Strategic merge patch: as a merge patch, but keyed lists merge by their key and sets grow.
 * Of the directives `$patch: delete` and `$patch: replace` are known.
 */
export function strategicMergePatch(type: FieldType, target: unknown, patch: unknown): unknown {
  if (Array.isArray(patch)) return mergeList(type, Array.isArray(target) ? target : [], patch);
  if (!isFields(patch)) return patch;
  const { $patch, ...changes } = patch;
  if ($patch === 'delete') return {};
  const merged = isFields(target) && $patch !== 'replace' ? { ...target } : {};
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete merged[name];
    else if (!name.startsWith('$'))
      merged[name] = strategicMergePatch(memberType(type, name) ?? any, merged[name], value);
  }
  return merged;
}

function mergeList(type: FieldType, target: readonly unknown[], patch: readonly unknown[]): unknown[] {
  if (type.is === 'set') return [...target, ...patch.filter((item) => !target.includes(item))];
  if (type.is !== 'list' || type.key === undefined) return [...patch];
  const { key, of } = type;
  if (patch.some((item) => isFields(item) && item.$patch === 'replace')) {
    return patch.filter((item) => !isFields(item) || item.$patch === undefined);
  }
  const merged = [...target];
  for (const item of patch) {
    if (!isFields(item)) continue;
    const index = merged.findIndex((known) => isFields(known) && known[key] === item[key]);
    if (item.$patch === 'delete') {
      if (index >= 0) merged.splice(index, 1);
    } else if (index >= 0) merged[index] = strategicMergePatch(of, merged[index], item);
    else merged.push(strategicMergePatch(of, {}, item));
  }
  return merged;
}
