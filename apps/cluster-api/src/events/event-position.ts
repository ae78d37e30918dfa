/**
 * A position in the order of a team's events: after all events of transactions below `xid` and after those of
 * transaction `xid` up to `id`.
 */
export interface EventPosition {
  readonly xid: bigint;
  /** 0: before the first event of the transaction. */
  readonly id: bigint;
  /** When this was the end of the events, as Unix time in ms by Postgres' clock. Old events are deleted. */
  readonly at: number;
}

/** @returns a negative number, 0 or a positive number when `a` is before, at or after `b` */
export function comparePositions(a: EventPosition, b: EventPosition): number {
  if (a.xid !== b.xid) return a.xid < b.xid ? -1 : 1;
  if (a.id !== b.id) return a.id < b.id ? -1 : 1;
  return 0;
}

/** Renders the event id that clients send back as `Last-Event-ID`. Opaque and safe in headers. */
export const renderPosition = ({ xid, id, at }: EventPosition): string =>
  Buffer.from(`${xid}.${id}.${at}`).toString('base64url');

/** Values that fit into a `bigint` column and a `Date`. */
const wellFormed = /^(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,14})$/;

/** @returns null unless `renderPosition` rendered the text */
export function parsePosition(text: string): EventPosition | null {
  const [, xid, id, at] = wellFormed.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (xid === undefined || id === undefined || at === undefined) return null;
  const position = { xid: BigInt(xid), id: BigInt(id), at: Number(at) };
  return renderPosition(position) === text ? position : null;
}
