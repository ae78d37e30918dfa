/**
 * The type of a field, as in the published OpenAPI. It determines which fields exist, their JSON types, and the
 * granularity of ownership under server-side apply.
 */
export type FieldType =
  | {
      readonly is: 'scalar';
      readonly json: 'string' | 'base64' | 'integer' | 'number' | 'boolean' | 'integer or string';
    }
  /** Free-form JSON like a `RawExtension`: maps are granular, lists are atomic. */
  | { readonly is: 'any' }
  | { readonly is: 'struct'; readonly fields: Readonly<Record<string, FieldType>>; readonly atomic?: boolean }
  | { readonly is: 'map'; readonly of: FieldType; readonly atomic?: boolean }
  /** Without a key the list is atomic. With a key, items are identified by it. */
  | { readonly is: 'list'; readonly of: FieldType; readonly key?: string }
  /** A list of scalars. Each item is owned separately. */
  | { readonly is: 'set'; readonly of: FieldType };

type Struct = Extract<FieldType, { is: 'struct' }>;

export const text: FieldType = { is: 'scalar', json: 'string' };
/** Base64-encoded bytes. */
export const base64: FieldType = { is: 'scalar', json: 'base64' };
export const integer: FieldType = { is: 'scalar', json: 'integer' };
export const number: FieldType = { is: 'scalar', json: 'number' };
export const flag: FieldType = { is: 'scalar', json: 'boolean' };
export const integerOrText: FieldType = { is: 'scalar', json: 'integer or string' };
export const any: FieldType = { is: 'any' };
export const struct = (fields: Readonly<Record<string, FieldType>>): Struct => ({ is: 'struct', fields });
export const atomicStruct = (fields: Readonly<Record<string, FieldType>>): Struct => ({
  is: 'struct',
  fields,
  atomic: true,
});
export const mapOf = (of: FieldType): FieldType => ({ is: 'map', of });
export const listOf = (of: FieldType): FieldType => ({ is: 'list', of });
export const keyedBy = (key: string, of: FieldType): FieldType => ({ is: 'list', of, key });
const setOf = (of: FieldType): FieldType => ({ is: 'set', of });

const objectMeta = struct({
  name: text,
  generateName: text,
  namespace: text,
  selfLink: text,
  uid: text,
  resourceVersion: text,
  generation: integer,
  creationTimestamp: text,
  deletionTimestamp: text,
  deletionGracePeriodSeconds: integer,
  labels: mapOf(text),
  annotations: mapOf(text),
  ownerReferences: any,
  finalizers: setOf(text),
  managedFields: any,
});

/** Schema of a kind: its own fields and the common fields. */
export const objectSchema = (fields: Readonly<Record<string, FieldType>>): Struct =>
  struct({ apiVersion: text, kind: text, metadata: objectMeta, ...fields });

/** The type of a member of a map or struct; null if the struct has no such field. */
export function memberType(type: FieldType, name: string): FieldType | null {
  if (type.is === 'struct') return Object.hasOwn(type.fields, name) ? (type.fields[name] ?? null) : null;
  if (type.is === 'map') return type.of;
  return any;
}

/** Whether the value is owned as a whole. */
export function isAtomic(type: FieldType, value: unknown): boolean {
  if (type.is === 'struct' || type.is === 'map') return type.atomic === true;
  if (type.is === 'list') return type.key === undefined;
  if (type.is === 'any') return Array.isArray(value);
  return type.is === 'scalar';
}
