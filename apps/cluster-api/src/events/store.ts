import { dnsTokenRecordOf, shownOfDnsToken } from '@corral/auth';
import { type EventPosition, includeCreator, operationOf } from '@corral/cluster-data';
import { asTeamId, type TeamEvent, type TeamEventKind, type TeamId } from '@corral/contracts';
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
