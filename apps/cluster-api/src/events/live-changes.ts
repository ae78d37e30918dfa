import type { Session } from '@corral/auth';
import { streamEventNames, type TeamId } from '@corral/contracts';
import { Problem } from '../problem.js';
import type { Viewer } from './event.js';
import { comparePositions, type EventPosition, renderBlock, renderPosition } from './event.js';
import { type LiveStream, liveStream, type StreamSink } from './live-stream.js';
import type { RecentEvents } from './recent-events.js';
import type { TeamFeed } from './team-feed.js';

export interface Team {
  readonly id: TeamId;
  readonly slug: string;
}

export interface Follower {
  readonly team: Team;
  /** As authorized by the request. */
  readonly viewer: Viewer;
  readonly sessionId: string;
  /** The value of the session cookie. */
  readonly secret: string;
  /** Null to start at the current end. */
  readonly after: EventPosition | null;
}

export interface LiveChangesDeps {
  readonly startFeed: (team: Team) => TeamFeed;
  /** Subscribes to notifications. The callback gets the team's id, or null when any team may have events. */
  readonly onNews: (tell: (teamId: TeamId | null) => void) => void;
  /**
   * Polls for events, because some have no notification and notifications can be lost.
   *
   * @returns the ids of the teams that have events after their end
   */
  readonly findNews: (ends: readonly TeamEnd[]) => Promise<readonly TeamId[]>;
  /** Interval of these polls in ms. */
  readonly lookMs: number;
  /** @returns null for a session that has ended */
  readonly findSession: (secret: string) => Promise<Session | null>;
  readonly heartbeatMs: number;
  /** Minimum reconnection delay for clients in ms. Up to twice that is sent, to spread reconnections. */
  readonly retryMs: number;
  /** Aborted when the process starts to shut down. */
  readonly ending: AbortSignal;
}

/** The end of the known events of a team. */
export interface TeamEnd {
  readonly teamId: TeamId;
  readonly after: EventPosition;
}

export interface LiveChanges {
  /**
   * Opens a stream of a team's events.
   *
   * @param open starts the answer, called after all checks have passed
   * @throws Problem `service_unavailable` while the process shuts down
   */
  follow(follower: Follower, open: () => StreamSink): Promise<OpenStream>;
  /** Members of the team have changed: updates the roles of its viewers before further events. Never rejects. */
  membersChanged(teamId: TeamId): Promise<void>;
  count(): number;
  /** Number of teams whose events wait for a transaction to end. */
  countHeld(): number;
}

export interface OpenStream {
  /** Must be called when the connection is closed. */
  close(): void;
}

interface Member {
  readonly follower: Follower;
  readonly stream: LiveStream;
  viewer: Viewer;
}

interface TeamStreams {
  readonly feed: TeamFeed;
  users: number;
}

/** All open streams of this process. */
export function liveChanges(deps: LiveChangesDeps): LiveChanges {
  const teams = new Map<TeamId, TeamStreams>();
  const members = new Set<Member>();
  const { checkSessions, checkTeam } = sessionChecks(deps.findSession, members);
  let timers: readonly NodeJS.Timeout[] = [];
  const lookForNews = newsFinder(deps.findNews, teams);

  const tick = (): void => {
    for (const { feed } of teams.values()) feed.look(); // finds anything missed, at the cost of one statement
    for (const { stream } of members) stream.heartbeat();
    void checkSessions();
  };
  const enter = (team: Team): TeamStreams => {
    const streams = teams.get(team.id) ?? { feed: deps.startFeed(team), users: 0 };
    if (streams.users === 0) streams.feed.look();
    streams.users += 1;
    teams.set(team.id, streams);
    if (timers.length === 0) timers = [setInterval(tick, deps.heartbeatMs), setInterval(lookForNews, deps.lookMs)];
    return streams;
  };
  const leave = (team: Team, streams: TeamStreams): void => {
    streams.users -= 1;
    if (streams.users > 0) return;
    streams.feed.close();
    teams.delete(team.id);
    if (teams.size > 0) return;
    for (const timer of timers) clearInterval(timer);
    timers = [];
  };

  deps.onNews((teamId) => {
    if (teamId !== null) teams.get(teamId)?.feed.look();
    else for (const { feed } of teams.values()) feed.look();
  });
  deps.ending.addEventListener('abort', () => {
    for (const { stream } of members) stream.end('shutdown');
  });

  return {
    membersChanged: checkTeam,
    count: () => members.size,
    countHeld: () => [...teams.values()].filter(({ feed }) => feed.isHeld()).length,
    async follow(follower, open) {
      refuseWhileEnding(deps.ending);
      const streams = enter(follower.team);
      try {
        const recent = await streams.feed.started();
        const { from, mark } = await beginningOf(follower.after, streams.feed, recent);
        refuseWhileEnding(deps.ending);
        const sink = open();
        const retry = Math.round(deps.retryMs * (1 + Math.random()));
        sink.write(Buffer.concat([renderBlock({ retry }), ...(mark === null ? [] : [markBlock(mark, from)])]));
        const { viewer } = follower;
        const stream = liveStream({ feed: streams.feed, recent, sink, from, viewer: () => member.viewer });
        const member: Member = { follower, stream, viewer };
        members.add(member);
        const unfollow = streams.feed.follow(stream.pump);
        stream.pump();
        let isOpen = true;
        return {
          close() {
            if (!isOpen) return;
            isOpen = false;
            stream.close();
            unfollow();
            members.delete(member);
            leave(follower.team, streams);
          },
        };
      } catch (error) {
        leave(follower.team, streams);
        throw error;
      }
    },
  };
}

/** Polls for events of all teams in one query. Polls never overlap. */
function newsFinder(findNews: LiveChangesDeps['findNews'], teams: ReadonlyMap<TeamId, TeamStreams>) {
  let isLooking = false;
  return async (): Promise<void> => {
    const ends = [...teams].flatMap(([teamId, { feed }]) => {
      const after = feed.end();
      return after === null ? [] : [{ teamId, after }];
    });
    if (isLooking || ends.length === 0) return;
    isLooking = true;
    // An error here is ignored: the next read of a feed reports it.
    for (const teamId of await findNews(ends).catch(() => [])) teams.get(teamId)?.feed.look();
    isLooking = false;
  };
}

type Mark = 'ready' | 'reset' | null;

/** The first position of a stream and the event that announces it, if any. */
async function beginningOf(
  after: EventPosition | null,
  feed: TeamFeed,
  recent: RecentEvents,
): Promise<{ from: EventPosition; mark: Mark }> {
  if (after === null) return { from: recent.end(), mark: 'ready' };
  const isKnown = recent.covers(after) && comparePositions(after, recent.end()) <= 0;
  if (isKnown || (await feed.isKept(after))) return { from: after, mark: null };
  return { from: recent.end(), mark: 'reset' };
}

const markBlock = (mark: 'ready' | 'reset', position: EventPosition): Buffer => {
  const id = renderPosition(position);
  return renderBlock({ event: streamEventNames[mark], id, data: { id, at: new Date(position.at).toISOString() } });
};

function refuseWhileEnding(ending: AbortSignal): void {
  if (!ending.aborted) return;
  throw new Problem('service_unavailable', 'This replica is shutting down. Reconnect.', {
    retryAfterSeconds: 1,
  });
}

function bySession(members: Iterable<Member>): Map<string, Member[]> {
  const groups = new Map<string, Member[]>();
  for (const member of members) {
    const group = groups.get(member.follower.sessionId);
    if (group === undefined) groups.set(member.follower.sessionId, [member]);
    else group.push(member);
  }
  return groups;
}

/**
 * Keeps the roles of viewers current and ends streams without a right to follow. Each session is looked up once per
 * round, a few at a time. Periodic rounds never overlap.
 */
function sessionChecks(findSession: LiveChangesDeps['findSession'], members: ReadonlySet<Member>) {
  const AT_ONCE = 4;
  let isChecking = false;

  const checkOne = async (secret: string, of: readonly Member[]): Promise<void> => {
    // An unavailable database does not end streams: no events can be read then either.
    const session = await findSession(secret).catch(() => undefined);
    if (session === undefined) return;
    const roles = new Map(session?.memberships.map(({ teamId, role }) => [teamId, role]));
    for (const member of of) {
      const role = roles.get(member.follower.team.id);
      if (role === undefined) member.stream.end('session');
      else member.viewer = { ...member.viewer, role };
    }
  };
  const check = async (those: Iterable<Member>): Promise<void> => {
    const waiting = [...bySession(those).values()];
    const work = async (): Promise<void> => {
      for (let of = waiting.pop(); of !== undefined; of = waiting.pop()) {
        await checkOne((of[0] as Member).follower.secret, of);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  };
  return {
    checkTeam: (teamId: TeamId) => check([...members].filter(({ follower }) => follower.team.id === teamId)),
    async checkSessions(): Promise<void> {
      if (isChecking) return;
      isChecking = true;
      await check(members);
      isChecking = false;
    },
  };
}
