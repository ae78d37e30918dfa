export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// Kubernetes grows: what is missing or of another type than expected reads as absent and harms nothing else.

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

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads a body that has to be a JSON object in UTF-8; null for everything else. */
export function parseJsonObject(bytes: Uint8Array): JsonObject | null {
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
