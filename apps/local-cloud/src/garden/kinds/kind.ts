import type { FieldType } from '../fields/schema.js';
import type { ExtensionField } from '../garden-settings.js';
import type { FieldError } from '../kube/field-error.js';
import type { KubeObject } from '../kube/object.js';
import type { ResourceName } from '../kube/status-error.js';

/** What admission knows beside the object. */
export interface AdmissionContext {
  readonly nowMs: number;
  /** Name of the caller. */
  readonly user: string;
  readonly operation: 'create' | 'update' | 'delete';
  readonly subresource: string;
  /** What the provider's extension takes beyond its public builds. */
  readonly extensionFields: readonly ExtensionField[];
  /** For reading only. */
  find<T extends KubeObject>(plural: string, namespace: string, name: string): Readonly<T> | null;
  list<T extends KubeObject>(plural: string): Iterable<T>;
}

export interface Column {
  readonly name: string;
  readonly type: 'string' | 'date' | 'integer';
  /** 0 is shown always, 1 only in wide tables. */
  readonly priority: 0 | 1;
  cell(object: KubeObject): unknown;
}

/**
 * One kind of the API: its name, its fields, and the rules for writing it. The steps run in the order given here. They may
 * change the object; the old one is only to be read.
 */
export interface Kind<T extends KubeObject = KubeObject> extends ResourceName {
  readonly version: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
  /** Whether names have no dots. */
  readonly nameIsLabel: boolean;
  readonly schema: FieldType;
  readonly subresources: readonly { readonly name: string; readonly kind: string; readonly verbs: readonly string[] }[];
  /** What a member of a project may do; anything else is refused by RBAC. */
  readonly userVerbs: readonly string[];
  /** Whether a PUT without `resourceVersion` is accepted. */
  readonly unconditionalUpdate: boolean;
  readonly columns: readonly Column[];
  /** Field selectors beside `metadata.name` and `metadata.namespace`. */
  readonly selectable: readonly { readonly field: string; read(object: T): string }[];
  /** Fills in defaults that need nothing but the object. */
  setDefaults?(object: T): void;
  /** Mutating admission. @throws StatusError */
  admit?(object: T, old: T | null, context: AdmissionContext): void;
  /** Sets what callers cannot; `old` is null on create. */
  prepare?(object: T, old: T | null, context: AdmissionContext): void;
  /** Findings are answered with 422. */
  validate?(object: T, old: T | null, context: AdmissionContext): FieldError[];
  /** Validating admission. @throws StatusError */
  judge?(object: T, old: T | null, context: AdmissionContext): void;
  /** Judges a deletion. @throws StatusError */
  judgeDeletion?(object: T, context: AdmissionContext): void;
}

export const apiVersionOf = ({ group, version }: { group: string; version: string }): string =>
  group === '' ? version : `${group}/${version}`;

export const readVerbs = ['get', 'list', 'watch'] as const;
export const allVerbs = [...readVerbs, 'create', 'update', 'patch', 'delete'] as const;

const column = (name: string, cell: Column['cell'], priority: 0 | 1 = 0, type: Column['type'] = 'string'): Column => ({
  name,
  type,
  priority,
  cell,
});

export const nameColumn = column('Name', ({ metadata }) => metadata.name ?? '');
export const textColumn = (name: string, cell: Column['cell'], priority: 0 | 1 = 0) => column(name, cell, priority);
export const numberColumn = (name: string, cell: Column['cell']) => column(name, cell, 0, 'integer');
