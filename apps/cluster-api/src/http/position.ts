import { parseTime } from '@corral/contracts';
import { isId, type Position } from '../domain/position.js';
import { invalidField } from '../problem.js';
import type { Cursor } from './cursor.js';

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
