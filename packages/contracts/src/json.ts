export type JsonObject = Record<string, unknown>;

/** Whether the value is an object as JSON means it: neither null nor an array. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
