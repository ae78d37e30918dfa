import { isObject, type JsonObject } from '@corral/contracts';

// The Kubernetes API evolves: a member of an unexpected type reads as absent and does not affect others.

export function objectIn(value: unknown, key: string): JsonObject {
  const member = isObject(value) ? value[key] : undefined;
  return isObject(member) ? member : {};
}

export function objectsIn(value: unknown, key: string): JsonObject[] {
  const member = isObject(value) ? value[key] : undefined;
  return Array.isArray(member) ? member.filter(isObject) : [];
}

export function textIn(value: JsonObject, key: string): string | null {
  const member = value[key];
  return typeof member === 'string' && member !== '' ? member : null;
}

export function wholeIn(value: JsonObject, key: string): number | null {
  const member = value[key];
  return typeof member === 'number' && Number.isSafeInteger(member) ? member : null;
}

export function textsIn(value: JsonObject, key: string): string[] {
  const member = value[key];
  return Array.isArray(member) ? member.filter((element) => typeof element === 'string') : [];
}

/** A map of labels or annotations. */
export function textMapIn(value: JsonObject, key: string): Record<string, string> {
  const entries = Object.entries(objectIn(value, key)).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(entries);
}
