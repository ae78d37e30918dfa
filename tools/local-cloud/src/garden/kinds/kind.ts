import type { ResourceName } from '../kube/errors.js';
import { isFields, type KubeObject } from '../kube/object.js';

/** What the rules of a kind see apart from the object. */
export interface WriteContext {
  readonly nowMs: number;
  find<T extends KubeObject>(plural: string, namespace: string, name: string): Readonly<T> | null;
}

/** The fields of an object, as a tree; null for one with any content. Names stand for the items of a list, too. */
export interface FieldTree {
  readonly [name: string]: FieldTree | null;
}

/** A kind of the API: its name and the rules for writes, in the order in which they run. */
export interface Kind<T extends KubeObject = KubeObject> extends ResourceName {
  readonly version: string;
  readonly namespaced: boolean;
  /** Subresources that can only be created. */
  readonly subresources?: readonly string[];
  /** The known fields of the specification. An apply with another one is refused. Default: any. */
  readonly specFields?: FieldTree;
  /** Sets defaults and what callers cannot set; `old` is null on create. @throws StatusError */
  prepare?(object: T, old: T | null, context: WriteContext): void;
  /** @throws StatusError */
  judge?(object: T, old: T | null, context: WriteContext): void;
  /** @throws StatusError */
  judgeDeletion?(object: T): void;
}

export const apiVersionOf = ({ group, version }: Pick<Kind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

/** The path of the first field that is not in the tree, for example `spec.provider.workers[name="p1"].typo`; null if all are. */
export function unknownField(tree: FieldTree | null, value: unknown, path: string): string | null {
  if (tree === null) return null;
  const below = Array.isArray(value)
    ? value.map((item) => [tree, item, `${path}[name=${JSON.stringify(isFields(item) ? item.name : '')}]`] as const)
    : Object.entries(isFields(value) ? value : {}).map(
        ([name, item]) => [Object.hasOwn(tree, name) ? tree[name] : undefined, item, `${path}.${name}`] as const,
      );
  for (const [subtree, item, at] of below) {
    const found = subtree === undefined ? at : unknownField(subtree, item, at);
    if (found !== null) return found;
  }
  return null;
}
