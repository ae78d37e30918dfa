export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads a body that must be a JSON object in UTF-8; null for everything else. A byte order mark is dropped. */
export function parseJsonObject(bytes: Uint8Array): JsonObject | null {
  return parse(bytes, utf8)?.value ?? null;
}

const exactUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The same for a body whose text is passed on unchanged. A byte order mark is no JSON. */
export function readJsonObject(bytes: Uint8Array): { text: string; value: JsonObject } | null {
  return parse(bytes, exactUtf8);
}

function parse(bytes: Uint8Array, decoder: typeof utf8): { text: string; value: JsonObject } | null {
  try {
    const text = decoder.decode(bytes);
    const value: unknown = JSON.parse(text);
    return isObject(value) ? { text, value } : null;
  } catch {
    return null;
  }
}
