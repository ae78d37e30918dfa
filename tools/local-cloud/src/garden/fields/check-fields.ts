import { type Fields, isFields } from '../kube/object.js';
import { any, type FieldType, memberType } from './schema.js';

export interface FieldFindings {
  /** Paths of unknown fields, for example `spec.provider.workers[0].typo`. */
  readonly unknown: readonly string[];
  /** The first field with a wrong JSON type, in the words of a Go decoder. */
  readonly mistyped: string | null;
}

/**
 * Checks a body against the schema of its kind.
 *
 * @param itemsBy how paths identify items of keyed lists: decoders use indexes, server-side apply uses keys
 */
export function checkFields(schema: FieldType, body: Fields, itemsBy: 'place' | 'key' = 'place'): FieldFindings {
  const unknown: string[] = [];
  let mistyped: string | null = null;
  const refuse = (path: string, value: unknown, expected: string): void => {
    mistyped ??=
      expected === 'base64' && typeof value === 'string'
        ? 'illegal base64 data at input byte 0'
        : `json: cannot unmarshal ${jsonType(value)} into Go struct field .${path} of type ${expected}`;
  };
  const itemStep = (type: FieldType, item: unknown, index: number): string =>
    itemsBy === 'key' && type.is === 'list' && type.key !== undefined && isFields(item)
      ? `[${type.key}=${JSON.stringify(item[type.key])}]`
      : `[${index}]`;
  const walk = (type: FieldType, value: unknown, path: string): void => {
    if (value === null || value === undefined || type.is === 'any') return;
    if (type.is === 'scalar') {
      if (!fits(type.json, value)) refuse(path, value, type.json);
    } else if (type.is === 'list' || type.is === 'set') {
      if (!Array.isArray(value)) refuse(path, value, 'array');
      else for (const [index, item] of value.entries()) walk(type.of, item, `${path}${itemStep(type, item, index)}`);
    } else {
      if (!isFields(value)) {
        refuse(path, value, 'object');
        return;
      }
      for (const [name, item] of Object.entries(value)) {
        const at = path === '' ? name : `${path}.${name}`;
        const member = memberType(type, name);
        if (member === null) unknown.push(at);
        else walk(member, item, at);
      }
    }
  };
  walk(schema, body, '');
  return { unknown, mistyped };
}

/** Removes unknown fields, as a typed server does when it decodes. */
export function withoutUnknown(type: FieldType, value: unknown): unknown {
  if (Array.isArray(value)) {
    return type.is === 'list' || type.is === 'set' ? value.map((item) => withoutUnknown(type.of, item)) : value;
  }
  if (!isFields(value) || type.is === 'any' || type.is === 'scalar') return value;
  const known = Object.entries(value).filter(([name]) => memberType(type, name) !== null);
  return Object.fromEntries(known.map(([name, item]) => [name, withoutUnknown(memberType(type, name) ?? any, item)]));
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function fits(json: Extract<FieldType, { is: 'scalar' }>['json'], value: unknown): boolean {
  switch (json) {
    case 'integer':
      return Number.isInteger(value);
    case 'base64':
      return typeof value === 'string' && base64.test(value);
    case 'integer or string':
      return Number.isInteger(value) || typeof value === 'string';
    default:
      return typeof value === json;
  }
}

const jsonType = (value: unknown): string => {
  if (typeof value === 'boolean') return 'bool';
  return Array.isArray(value) ? 'array' : typeof value;
};
