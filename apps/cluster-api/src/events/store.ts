import { clusterLimits, type TeamEventChange, type TeamEventKind, type TeamId } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import type { EventPage, EventRecord } from './event.js';
import type { EventPosition } from './event-position.js';
import type { TeamEnd } from './live-changes.js';

/** Margin in ms, because events are deleted by the start of their transaction, which is before its end. */
const KEPT_MARGIN_MS = 300_000;
const KEPT_MS = clusterLimits.teamEventsKeptHours * 3_600_000 - KEPT_MARGIN_MS;

interface Row {
  readonly horizon: bigint;
  readonly now: Date;
  readonly isHeld: boolean;
  /** Null in the single row that is returned when there are no events. */
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

/** Events of a team, in an order in which no event can appear before one that was already read. */
export const teamEventStore = (prisma: Prisma) => ({
  /**
   * Reads events after a position, up to the oldest running transaction, because it may still add events before later
   * ones. One statement reads horizon and events, so both are from one snapshot.
   *
   * @param after null to read no events but only their current end
   */
  async read(teamId: TeamId, after: EventPosition | null, limit: number): Promise<EventPage<EventRecord>> {
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

  /** The ids of the teams with events after their end, including events of transactions above the horizon. */
  async findTeamsWithEvents(ends: readonly TeamEnd[]): Promise<TeamId[]> {
    const rows = await prisma.$queryRaw<{ teamId: TeamId }[]>`
      SELECT ends.team_id AS "teamId"
      FROM unnest(${ends.map(({ teamId }) => teamId)}::uuid[], ${ends.map(({ after }) => after.xid)}::bigint[],
                  ${ends.map(({ after }) => after.id)}::bigint[]) AS ends (team_id, xid, id)
      WHERE EXISTS (SELECT FROM team_event
                    WHERE team_event.team_id = ends.team_id AND (team_event.xid, team_event.id) > (ends.xid, ends.id))`;
    return rows.map(({ teamId }) => teamId);
  },

  /**
   * Whether all events after the position are still stored. They are not when the position is too old, its own event
   * was deleted, or it lies in the future of this database, as after a restore.
   */
  async isKept(teamId: TeamId, { xid, id, at }: EventPosition): Promise<boolean> {
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
