import { dnsTokenRecordOf, shownOfDnsToken } from '@corral/auth';
import { includeCreator, operationOf } from '@corral/cluster-data';
import {
  asTeamId,
  clusterLimits,
  type TeamEvent,
  type TeamEventChange,
  type TeamEventKind,
  type TeamId,
} from '@corral/contracts';
import { type ListenOptions, listen, type Prisma, readClock } from '@corral/database';
import { findClusters } from '../clusters/store.js';
import { clusterBody } from '../clusters/view.js';
import { connectionRecordOf, shownOfConnection } from '../connections/store.js';
import { connectionBody } from '../connections/view.js';
import { dnsTokenBody } from '../dns/view.js';
import { nodePoolBody, poolRecordOf } from '../node-pools/view.js';
import type { EventNotifications } from '../operations/operation-waits.js';
import { operationBody } from '../operations/view.js';
import { serverRecordOf, shownOfServer } from '../servers/store.js';
import { adoptedServerBody } from '../servers/view.js';
import { memberOf, shownOfMember } from '../teams/store.js';
import { memberBody } from '../teams/view.js';

/** Margin in ms, because events are deleted by the start of their transaction, which is before its end. */
const KEPT_MARGIN_MS = 300_000;
const KEPT_MS = clusterLimits.teamEventsKeptHours * 3_600_000 - KEPT_MARGIN_MS;

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
  prisma: Prisma,
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

/** The end of the known events of a team. */
export interface TeamEnd {
  readonly teamId: TeamId;
  readonly after: EventPosition;
}

/** The ids of the teams with events after their end, including events of transactions above the horizon. */
export async function findTeamsWithEvents(prisma: Prisma, ends: readonly TeamEnd[]): Promise<TeamId[]> {
  const rows = await prisma.$queryRaw<{ teamId: TeamId }[]>`
    SELECT ends.team_id AS "teamId"
    FROM unnest(${ends.map(({ teamId }) => teamId)}::uuid[], ${ends.map(({ after }) => after.xid)}::bigint[],
                ${ends.map(({ after }) => after.id)}::bigint[]) AS ends (team_id, xid, id)
    WHERE EXISTS (SELECT FROM team_event
                  WHERE team_event.team_id = ends.team_id AND (team_event.xid, team_event.id) > (ends.xid, ends.id))`;
  return rows.map(({ teamId }) => teamId);
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

export interface EventTeam {
  readonly id: TeamId;
  readonly slug: string;
}

export type ResourceBody = Exclude<TeamEvent['resource'], null>;
/** Reads the resources of a team that exist, as a GET shows them. */
type BodyReader = (
  prisma: Prisma,
  team: EventTeam,
  ids: string[],
  publicUrl: string,
) => Promise<[string, ResourceBody][]>;

/** Reads the resources of events: one statement for all events of a kind. Pairs of `targetId` and body. */
export const readBodies: Readonly<Record<TeamEventKind, BodyReader>> = {
  async Cluster(prisma, team, ids) {
    const clusters = await findClusters(prisma, team.id, ids);
    return clusters.map((cluster) => [cluster.id, clusterBody(cluster, team)]);
  },
  async NodePool(prisma, { id: teamId }, ids) {
    const rows = await prisma.nodePool.findMany({
      where: { teamId, id: { in: ids } },
      include: { _count: { select: { claimedServers: { where: { nodeReady: true } } } } },
    });
    return rows.map((row) => [row.id, nodePoolBody(poolRecordOf(row, row._count.claimedServers))]);
  },
  async Operation(prisma, team, ids, publicUrl) {
    const where = { teamId: team.id, id: { in: ids } };
    const rows = await prisma.operation.findMany({ where, include: includeCreator });
    return rows.map((row) => [row.id, operationBody(operationOf(row), { team, publicUrl })]);
  },
  async AdoptedServer(prisma, team, ids) {
    const where = { teamId: team.id, id: { in: ids } };
    const rows = await prisma.adoptedServer.findMany({ where, select: shownOfServer });
    return rows.map((row) => [row.id, adoptedServerBody({ team }, serverRecordOf(row))]);
  },
  async Connection(prisma, team, ids) {
    const where = { teamId: team.id, id: { in: ids } };
    const rows = await prisma.connection.findMany({ where, select: shownOfConnection });
    return rows.map((row) => [row.id, connectionBody({ team }, connectionRecordOf(row))]);
  },
  /** Reads record sets by `name/type`, as bodies of the DNS API. */
  async RecordSet(prisma, { slug }, ids) {
    const keys = ids.map((id) => {
      const end = id.lastIndexOf('/');
      return { name: id.slice(0, end), type: id.slice(end + 1) };
    });
    const rows = await prisma.dnsRrset.findMany({
      where: { ownerLabel: slug, zone: { ofDemos: false }, OR: keys },
      select: { name: true, type: true, body: true },
    });
    return rows.map(({ name, type, body }) => [`${name}/${type}`, JSON.parse(body)]);
  },
  async DnsToken(prisma, { id: teamId }, ids) {
    const rows = await prisma.dnsToken.findMany({ where: { teamId, id: { in: ids } }, select: shownOfDnsToken });
    const now = await readClock(prisma);
    return rows.map((row) => [row.id, dnsTokenBody(dnsTokenRecordOf(row), now)]);
  },
  /** Reads members by their numbers. */
  async Member(prisma, { id: teamId }, ids) {
    const where = { teamId, number: { in: ids.map(Number) } };
    const rows = await prisma.membership.findMany({ where, select: shownOfMember });
    return rows.map((row) => [String(row.number), memberBody(memberOf(row))]);
  },
};

/** The channel on which triggers notify about a team's events. */
const CHANNEL = 'team_event';

/** Listens for teams that have events, on one database connection of this process. */
export function listenToTeamEvents(options: Omit<ListenOptions, 'channels' | 'onGap'>) {
  const subscribers = new Set<(teamId: TeamId | null) => void>();
  const notify = (teamId: TeamId | null): void => {
    for (const callback of subscribers) callback(teamId);
  };
  const listener = listen({
    ...options,
    channels: { [CHANNEL]: (teamId) => notify(asTeamId(teamId)) },
    onGap: () => notify(null),
  });
  const subscribe: EventNotifications = (callback) => void subscribers.add(callback);
  return { subscribe, close: listener.close };
}
