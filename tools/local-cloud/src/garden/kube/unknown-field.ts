import type { FieldTree } from '../kinds/kind.js';
import { isFields } from './object.js';

/** The path of the first field that is not in the tree, for example `spec.provider.workers[name="p1"].typo`; null if all are. */
export function unknownField(tree: FieldTree | null, value: unknown, path: string): string | null {
  if (tree === null) return null;
  if (Array.isArray(value)) {
    const found = value.map((item) =>
      unknownField(tree, item, `${path}[name=${JSON.stringify(isFields(item) ? item.name : '')}]`),
    );
    return found.find((each) => each !== null) ?? null;
  }
  for (const [name, item] of Object.entries(isFields(value) ? value : {})) {
    const at = path === '' ? name : `${path}.${name}`;
    const found = Object.hasOwn(tree, name) ? unknownField(tree[name] ?? null, item, at) : at;
    if (found !== null) return found;
  }
  return null;
}
