import { isObject, type JsonObject, readJsonObject as readExactObject } from '@corral/wire';
import { isShallow } from './spans.js';

export interface JsonBody {
  /** the body exactly as it came */
  text: string;
  value: JsonObject;
}

/** Reads a body that has to be a JSON object in UTF-8; null for everything else, absurd nesting included. */
export function readJsonObject(bytes: Uint8Array): JsonBody | null {
  const body = readExactObject(bytes);
  return body !== null && isShallow(body.text) ? body : null;
}

/** Gives the code of an error body, or null when the body has not the upstream's error shape. */
export function errorCodeOf({ value }: JsonBody): string | null {
  const { error } = value;
  if (!isObject(error)) return null;
  return typeof error.code === 'string' && typeof error.message === 'string' ? error.code : null;
}
