import { clusterLimits, type TeamEventChange, type TeamEventKind } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import type { EventPosition } from '../live/event-position.js';
import type { EventPage, EventRecord } from '../live/event-record.js';
import type { TeamEnd } from '../live/live-changes.js';

/** Ends of transactions lag behind their beginnings, by which events are deleted. */
const KEPT_MARGIN_MS = 300_000;
const KEPT_MS = clusterLimits.teamEventsKeptHours * 3_600_000 - KEPT_MARGIN_MS;

interface Row {
  readonly horizon: bigint;
  readonly now: Date;
  readonly isHeld: boolean;
  /** Null: the one row that is there when there is no event. */
  readonly id: bigint | null;
  readonly xid: bigint;
  readonly kind: TeamEventKind;
  readonly change: TeamEventChange;
  readonly targetId: string;
  readonly name: string;
  readonly parent: string | null;
  readonly ownerId: string | null;
  readonly createdAt: Date;
}

export type TeamEventStore = ReturnType<typeof teamEventStore>;

/** What happened in a team, in an order in which nothing appears behind one's back. */
export const teamEventStore = (prisma: Prisma) => ({
  /**
   * Events behind a position, up to the oldest transaction that is not over: it may still tell of something before all
   * that follows. Read by one statement, so that horizon and events are of one moment.
   *
   * @param after null for none: where the events end now
   */
  async read(teamId: string, after: EventPosition | null, limit: number): Promise<EventPage<EventRecord>> {
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
  },

  /** Which of the teams have events behind the place, be they over or not. */
  async findNews(ends: readonly TeamEnd[]): Promise<string[]> {
    const rows = await prisma.$queryRaw<{ teamId: string }[]>`
      SELECT ends.team_id AS "teamId"
      FROM unnest(${ends.map(({ teamId }) => teamId)}::uuid[], ${ends.map(({ after }) => after.xid)}::bigint[],
                  ${ends.map(({ after }) => after.id)}::bigint[]) AS ends (team_id, xid, id)
      WHERE EXISTS (SELECT FROM team_event
                    WHERE team_event.team_id = ends.team_id AND (team_event.xid, team_event.id) > (ends.xid, ends.id))`;
    return rows.map(({ teamId }) => teamId);
  },

  /**
   * Whether all events behind the position are still there. They are not when it is old, when its own event is gone, or
   * when it is of a time that this database has not come to, as after a restore.
   */
  async isKept(teamId: string, { xid, id, at }: EventPosition): Promise<boolean> {
    const [row] = await prisma.$queryRaw<{ isKept: boolean }[]>`
      SELECT ${xid}::bigint <= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
             AND to_timestamp(${at}::float8 / 1000) > now() - ${KEPT_MS}::float8 * interval '1 ms'
             AND (${id}::bigint = 0
                  OR EXISTS (SELECT FROM team_event
                             WHERE team_id = ${teamId}::uuid AND xid = ${xid}::bigint AND id = ${id}::bigint))
             AS "isKept"`;
    return row?.isKept === true;
  },
});

function recordOf(row: Row): EventRecord {
  const { xid, id, createdAt, kind, change, targetId, name, parent, ownerId } = row;
  const position = { xid, id: id as bigint, at: createdAt.getTime() };
  return { position, kind, change, targetId, name, parent, ownerId };
}
