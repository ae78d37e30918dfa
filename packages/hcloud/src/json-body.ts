import { isShallow } from './spans.js';

export type JsonObject = Record<string, unknown>;

export interface JsonBody {
  /** the body exactly as it came */
  text: string;
  value: JsonObject;
}

// A byte order mark must not be dropped silently: the text goes on unchanged.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a body that has to be a JSON object in UTF-8; null for everything else, absurd nesting included. */
export function readJsonObject(bytes: Uint8Array): JsonBody | null {
  try {
    const text = utf8.decode(bytes);
    const value: unknown = JSON.parse(text);
    return isObject(value) && isShallow(text) ? { text, value } : null;
  } catch {
    return null;
  }
}

/** Gives the code of an error body, or null when the body has not the upstream's error shape. */
export function errorCodeOf({ value }: JsonBody): string | null {
  const { error } = value;
  if (!isObject(error)) return null;
  return typeof error.code === 'string' && typeof error.message === 'string' ? error.code : null;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
