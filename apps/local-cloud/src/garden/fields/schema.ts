/**
 * What a field of a kind is, as its published OpenAPI states it. It decides three things: which fields exist, of which
 * JSON type they are, and who can own which part of them under server-side apply.
 */
export type FieldType =
  | {
      readonly is: 'scalar';
      readonly json: 'string' | 'base64' | 'integer' | 'number' | 'boolean' | 'integer or string';
    }
  /** Free JSON, as a `RawExtension`: maps are granular, lists are one piece. */
  | { readonly is: 'any' }
  | { readonly is: 'struct'; readonly fields: Readonly<Record<string, FieldType>>; readonly atomic?: boolean }
  | { readonly is: 'map'; readonly of: FieldType; readonly atomic?: boolean }
  /** Without a key the list is one piece; with it every item is known by its key. */
  | { readonly is: 'list'; readonly of: FieldType; readonly key?: string }
  /** A list of scalars, each of which is owned by itself. */
  | { readonly is: 'set'; readonly of: FieldType };

type Struct = Extract<FieldType, { is: 'struct' }>;

export const text: FieldType = { is: 'scalar', json: 'string' };
/** Bytes. */
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

const managedFieldsEntry = struct({
  manager: text,
  operation: text,
  apiVersion: text,
  time: text,
  fieldsType: text,
  fieldsV1: any,
  subresource: text,
});

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
  ownerReferences: keyedBy(
    'uid',
    atomicStruct({
      apiVersion: text,
      kind: text,
      name: text,
      uid: text,
      controller: flag,
      blockOwnerDeletion: flag,
    }),
  ),
  finalizers: setOf(text),
  managedFields: listOf(managedFieldsEntry),
});

/** A kind with its own fields beside those that every kind has. */
export const objectSchema = (fields: Readonly<Record<string, FieldType>>): Struct =>
  struct({ apiVersion: text, kind: text, metadata: objectMeta, ...fields });

/** The type of a member of a map or struct; null when the struct has no such field. */
export function memberType(type: FieldType, name: string): FieldType | null {
  if (type.is === 'struct') return Object.hasOwn(type.fields, name) ? (type.fields[name] ?? null) : null;
  if (type.is === 'map') return type.of;
  return any;
}

/** Whether the value is owned as one piece. */
export function isAtomic(type: FieldType, value: unknown): boolean {
  if (type.is === 'struct' || type.is === 'map') return type.atomic === true;
  if (type.is === 'list') return type.key === undefined;
  if (type.is === 'any') return Array.isArray(value);
  return type.is === 'scalar';
}
