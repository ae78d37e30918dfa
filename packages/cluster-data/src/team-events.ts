import { clusterLimits, type TeamEventChange, type TeamEventKind, type TeamId } from '@corral/contracts';
import type { Prisma, Transaction } from '@corral/database';

/* The events of a team, in a commit-safe order. */

/** Margin in ms, because events are deleted by the start of their transaction, which is before its end. */
const KEPT_MARGIN_MS = 300_000;
const KEPT_MS = clusterLimits.teamEventsKeptHours * 3_600_000 - KEPT_MARGIN_MS;

/** Events of this time and later are surely stored. */
export const keptSince = (now: Date): Date => new Date(now.getTime() - KEPT_MS);

/**
 * A position in the order of a team's events: after all events of transactions below `xid` and after those of
 * transaction `xid` up to `id`.
 */
export interface EventPosition {
  readonly xid: bigint;
  /** 0: before the first event of the transaction. */
  readonly id: bigint;
  /** The time when this was the end of the events, as Unix time in ms by Postgres' clock. Old events are deleted. */
  readonly at: number;
}

/** The columns of a position in a row that follows the events of its team. */
export const positionColumns = ({ xid, id, at }: EventPosition) => ({
  positionXid: xid,
  positionId: id,
  positionAt: new Date(at),
});

export const positionIn = ({
  positionXid,
  positionId,
  positionAt,
}: ReturnType<typeof positionColumns>): EventPosition => ({
  xid: positionXid,
  id: positionId,
  at: positionAt.getTime(),
});

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

interface Row extends Omit<EventRecord, 'position'> {
  readonly horizon: bigint;
  readonly now: Date;
  readonly isHeld: boolean;
  /** Null in the single row that is returned when there are no events. */
  readonly id: bigint | null;
  readonly xid: bigint;
  readonly createdAt: Date;
}

/**
 * Reads events of a team after a position, in an order in which no event can appear before one that was already read: up to
 * the oldest running transaction, because it may still add events before later ones. One statement reads horizon and
 * events, so both are from one snapshot.
 *
 * @param after null to read no events but only their current end
 */
export async function readEvents(
  prisma: Transaction,
  teamId: TeamId,
  after: EventPosition | null,
  limit: number,
): Promise<EventPage<EventRecord>> {
  const [xid, id] = after === null ? [0n, 0n] : [after.xid, after.id];
  const rows = await prisma.$queryRaw<Row[]>`
    WITH snapshot AS MATERIALIZED (
      SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon, now() AS "now"
    )
    SELECT snapshot.horizon, snapshot."now",
           EXISTS (SELECT FROM team_event
                   WHERE team_id = ${teamId}::uuid AND xid >= snapshot.horizon) AS "isHeld",
           event.id, event.xid, event.kind, event.change, event.target_id AS "targetId", event.target_name AS name,
           event.parent_name AS parent, event.owner_id AS "ownerId", event.created_at AS "createdAt"
    FROM snapshot LEFT JOIN LATERAL (
      SELECT * FROM team_event
      WHERE team_id = ${teamId}::uuid AND (xid, id) > (${xid}::bigint, ${id}::bigint) AND xid < snapshot.horizon
      ORDER BY xid, id LIMIT ${after === null ? 0 : limit}
    ) AS event ON true
    ORDER BY event.xid, event.id`;
  const events = rows.filter(({ id: eventId }) => eventId !== null).map(recordOf);
  const { horizon, now, isHeld } = rows[0] as Row;
  const isFull = after !== null && events.length === limit;
  const until = isFull ? (events.at(-1) as EventRecord).position : { xid: horizon, id: 0n, at: now.getTime() };
  return { events, until, isFull, isHeld };
}

function recordOf({ xid, id, createdAt, kind, change, targetId, name, parent, ownerId }: Row): EventRecord {
  const position = { xid, id: id as bigint, at: createdAt.getTime() };
  return { position, kind, change, targetId, name, parent, ownerId };
}

/**
 * Whether all events after the position are still stored. They are not when the position is too old, its own event
 * was deleted, or it lies in the future of this database, as after a restore.
 */
export async function areEventsKept(prisma: Prisma, teamId: TeamId, { xid, id, at }: EventPosition): Promise<boolean> {
  const [row] = await prisma.$queryRaw<{ isKept: boolean }[]>`
    SELECT ${xid}::bigint <= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
           AND to_timestamp(${at}::float8 / 1000) > now() - ${KEPT_MS}::float8 * interval '1 ms'
           AND (${id}::bigint = 0
                OR EXISTS (SELECT FROM team_event
                           WHERE team_id = ${teamId}::uuid AND xid = ${xid}::bigint AND id = ${id}::bigint))
           AS "isKept"`;
  return row?.isKept === true;
}
