import type { JSONSchema } from 'json-schema-to-ts';

/** An object with exactly these members, all required. */
export function exactly<const P extends Record<string, JSONSchema>>(properties: P) {
  return { ...atLeast(properties), additionalProperties: false } as const;
}

/** An object with at least these members, all required. */
export function atLeast<const P extends Record<string, JSONSchema>>(properties: P) {
  return { type: 'object', required: Object.keys(properties) as (keyof P & string)[], properties } as const;
}

/** An object with these members and no others, of which only the named ones are required. */
export function closed<const P extends Record<string, JSONSchema>, const R extends keyof P & string>(
  required: readonly R[],
  properties: P,
) {
  return { type: 'object', additionalProperties: false, required: required as R[], properties } as const;
}
