import { type TeamEvent, type TeamEventChange, type TeamEventKind, teamEventName } from '@corral/contracts';
import { type EventPosition, renderPosition } from './event-position.js';
import { renderBlock } from './sse.js';

/** A row of the team's events. */
export interface EventRecord {
  readonly position: EventPosition;
  readonly kind: TeamEventKind;
  readonly change: TeamEventChange;
  readonly targetId: string;
  readonly name: string;
  readonly parent: string | null;
  /** Who alone may read of it beside administrators, of the kinds that are somebody's own. */
  readonly ownerId: string | null;
}

/** Events behind a position. */
export interface EventPage<E> {
  readonly events: readonly E[];
  /** There is nothing between the last event and this. */
  readonly until: EventPosition;
  /** Whether more may follow at once. */
  readonly isFull: boolean;
  /** Whether events are there that cannot be passed on yet. */
  readonly isHeld: boolean;
}

/** An event as it is on the wire, made once for all who get it. */
export interface RenderedEvent extends Pick<EventRecord, 'kind' | 'ownerId'> {
  readonly position: EventPosition;
  readonly bytes: Buffer;
}

/** @param resource the present body of what the event is about; null when it is gone */
export function renderEvent(record: EventRecord, resource: TeamEvent['resource']): RenderedEvent {
  const { position, kind, change, name, targetId, parent, ownerId } = record;
  const id = renderPosition(position);
  const at = new Date(position.at).toISOString();
  const data: TeamEvent = { id, kind, change, name, targetId, parent, at, resource };
  return { position, kind, ownerId, bytes: renderBlock({ event: teamEventName(kind, change), id, data }) };
}
