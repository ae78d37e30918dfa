import type { Request } from 'express';
import { type EventPosition, parsePosition } from '../live/event-position.js';
import { invalidField } from '../problem.js';

/**
 * Reads `Last-Event-ID`.
 *
 * @returns null without the header, and for an empty one: no event has arrived then
 * @throws Problem `validation_failed` for what is the id of no event
 */
export function lastEventIdOf(req: Request): EventPosition | null {
  const text = req.headers['last-event-id'];
  if (text === undefined || text === '') return null;
  const position = typeof text === 'string' ? parsePosition(text) : null;
  if (position === null) {
    throw invalidField('validation_failed', '/headers/Last-Event-ID', 'must be the `id` of an event of this stream');
  }
  return position;
}
