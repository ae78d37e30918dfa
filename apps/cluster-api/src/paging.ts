import { parseId, parseTime } from '@corral/contracts';
import { found, invalidField } from './problem.js';

/** The position of an item in a list that is sorted newest first. The next page starts after it. */
export interface Position {
  readonly createdAt: Date;
  readonly id: string;
}

/** The id in a path, as answers have it. @throws Problem `not_found` for another text: no resource can have it */
export const requiredId = (text: unknown): string => found(parseId(String(text)));

/** The sort key of an item. The next page starts after it. */
export type Cursor = readonly string[];

/** Renders an opaque cursor. It contains only values that the items already showed. */
export function renderCursor(key: Cursor): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url');
}

/** @returns null unless `renderCursor` rendered the text for a key with this number of fields */
export function parseCursor(text: string, fields: number): Cursor | null {
  try {
    const key: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    const fits = Array.isArray(key) && key.length === fields && key.every((part) => typeof part === 'string');
    return fits ? key : null;
  } catch {
    return null;
  }
}

interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

/**
 * Returns one page of the rows that were read.
 *
 * @param rows up to `limit` + 1 rows. The additional one shows that another page follows
 */
export function pageOf<T>(rows: readonly T[], limit: number, keyOf: (row: T) => Cursor): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? renderCursor(keyOf(last)) : null };
}

/** Reads the cursor of a list that is sorted newest first. @throws Problem `validation_failed` for an invalid one */
export function positionOf([time, id]: Cursor): Position {
  const createdAt = parseTime(time as string);
  if (createdAt === null || parseId(id as string) !== id) {
    throw invalidField('validation_failed', '/query/cursor', 'must be the `next` value of a page');
  }
  return { createdAt, id };
}

/** The cursor of an item in a list that is sorted newest first. */
export const cursorAt = ({ createdAt, id }: Position): Cursor => [createdAt.toISOString(), id];

/** A total order: pages neither repeat nor skip items, even when several were created at the same time. */
export const newestFirst = [{ createdAt: 'desc' as const }, { id: 'asc' as const }];

export function isBehind({ createdAt, id }: Position) {
  return { OR: [{ createdAt: { lt: createdAt } }, { createdAt, id: { gt: id } }] };
}
