import {
  type Role,
  roleCovers,
  type TeamEvent,
  type TeamEventChange,
  type TeamEventKind,
  teamEventName,
  type UserId,
} from '@corral/contracts';
import { type EventPosition, renderPosition } from './event-position.js';

/** A row of the team's event table. */
export interface EventRecord {
  readonly position: EventPosition;
  readonly kind: TeamEventKind;
  readonly change: TeamEventChange;
  readonly targetId: string;
  readonly name: string;
  readonly parent: string | null;
  /** The only member besides administrators who may read it, for kinds with an owner. */
  readonly ownerId: string | null;
}

/** Events after a position. */
export interface EventPage<E> {
  readonly events: readonly E[];
  /** No events are between the last event and this position. */
  readonly until: EventPosition;
  /** Whether the page is full, so more events may follow. */
  readonly isFull: boolean;
  /** Whether further events exist but wait for older transactions to end. */
  readonly isHeld: boolean;
}

/** An event as sent, rendered once for all streams. */
export interface RenderedEvent extends Pick<EventRecord, 'kind' | 'ownerId'> {
  readonly position: EventPosition;
  readonly bytes: Buffer;
}

/** @param resource the current body of the resource, or null when it was deleted */
export function renderEvent(record: EventRecord, resource: TeamEvent['resource']): RenderedEvent {
  const { position, kind, change, name, targetId, parent, ownerId } = record;
  const id = renderPosition(position);
  const at = new Date(position.at).toISOString();
  const data: TeamEvent = { id, kind, change, name, targetId, parent, at, resource };
  return { position, kind, ownerId, bytes: renderBlock({ event: teamEventName(kind, change), id, data }) };
}

interface SseBlock {
  readonly event?: string;
  readonly id?: string;
  readonly data?: object;
  /** Reconnection delay for clients in ms. */
  readonly retry?: number;
  readonly comment?: string;
}

/**
 * Renders one block of an event stream (HTML, section 9.2.5). Clients do not dispatch a block without data, but they
 * store its `id`. Values must not contain line breaks. JSON has none.
 */
export function renderBlock({ comment, retry, event, id, data }: SseBlock): Buffer {
  const lines = [
    ...(comment === undefined ? [] : [`: ${comment}`]),
    ...(retry === undefined ? [] : [`retry: ${retry}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(data === undefined ? [] : [`data: ${JSON.stringify(data)}`]),
  ];
  return Buffer.from(`${lines.join('\n')}\n\n`);
}

/** The user of a stream, with the current role. */
export interface Viewer {
  readonly userId: UserId;
  readonly role: Role;
}

/** Whether the user could GET the resource. Members see their own DNS tokens and everything else of the team. */
export function mayRead({ kind, ownerId }: Pick<EventRecord, 'kind' | 'ownerId'>, { userId, role }: Viewer): boolean {
  return kind !== 'DnsToken' || roleCovers(role, 'admin') || ownerId === userId;
}
