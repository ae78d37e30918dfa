import { parseTime } from '@corral/contracts';
import { isText } from './http/storable.js';
import { invalidField } from './problem.js';

/** Where a page begins in a list that is read newest first: behind the item of this time and id. */
export interface Position {
  readonly createdAt: Date;
  readonly id: string;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Postgres takes no other text for an id. */
export const isId = (text: string): boolean => uuid.test(text);

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

interface Page<T> {
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

/** The cursor of a list that is read newest first. @throws Problem `validation_failed` for what no such list made */
export function positionOf([time, id]: Cursor): Position {
  const createdAt = parseTime(time as string);
  if (createdAt === null || !isId(id as string)) {
    throw invalidField('validation_failed', '/query/cursor', 'must be the `next` value of a page');
  }
  return { createdAt, id: id as string };
}

/** What such a list has for a cursor. */
export const cursorAt = ({ createdAt, id }: Position): Cursor => [createdAt.toISOString(), id];

/** A total order, so that no item is met twice or never, also when several were made in the same moment. */
export const newestFirst = [{ createdAt: 'desc' as const }, { id: 'asc' as const }];

export function isBehind({ createdAt, id }: Position) {
  return { OR: [{ createdAt: { lt: createdAt } }, { createdAt, id: { gt: id } }] };
}
