/**
 * A place in the order of a team's events: behind all events of transactions below `xid`, and of the transaction `xid`
 * behind all up to `id`.
 */
export interface EventPosition {
  readonly xid: bigint;
  /** 0: before the first event of the transaction. */
  readonly id: bigint;
  /** When this was the end of the events, in ms since 1970 by Postgres' clock: events are not kept for ever. */
  readonly at: number;
}

/** @returns below 0, 0 or above 0 as `a` lies before, at or behind `b` */
export function comparePositions(a: EventPosition, b: EventPosition): number {
  if (a.xid !== b.xid) return a.xid < b.xid ? -1 : 1;
  if (a.id !== b.id) return a.id < b.id ? -1 : 1;
  return 0;
}

/** What clients hand back as `Last-Event-ID`: opaque to them, and free of characters that a header cannot carry. */
export const renderPosition = ({ xid, id, at }: EventPosition): string =>
  Buffer.from(`${xid}.${id}.${at}`).toString('base64url');

/** Digits that fit into a `bigint` column, and into a `Date`. */
const wellFormed = /^(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,14})$/;

/** @returns null for what `renderPosition` did not make */
export function parsePosition(text: string): EventPosition | null {
  const [, xid, id, at] = wellFormed.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (xid === undefined || id === undefined || at === undefined) return null;
  const position = { xid: BigInt(xid), id: BigInt(id), at: Number(at) };
  return renderPosition(position) === text ? position : null;
}
