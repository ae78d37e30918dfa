import { isText } from './storable.js';

/** The sort key of an item: what the next page begins behind. */
export type Cursor = readonly string[];

/** Makes a cursor that clients hand back as it is. It says nothing that the items did not say. */
export function renderCursor(key: Cursor): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url');
}

/** @returns null for what `renderCursor` did not make for a key of so many fields */
export function parseCursor(text: string, fields: number): Cursor | null {
  try {
    const key: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    const fits = Array.isArray(key) && key.length === fields && key.every(isKeyPart);
    return fits ? key : null;
  } catch {
    return null;
  }
}

const isKeyPart = (part: unknown): part is string => typeof part === 'string' && isText(part);

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

/**
 * Cuts a page off what was read.
 *
 * @param rows one more than the page holds, if there are so many: that is how it is known that another page follows
 */
export function pageOf<T>(rows: readonly T[], limit: number, keyOf: (row: T) => Cursor): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? renderCursor(keyOf(last)) : null };
}
