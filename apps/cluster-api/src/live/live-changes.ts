import type { Session } from '@corral/auth';
import { streamEventNames } from '@corral/contracts';
import { Problem } from '../problem.js';
import { comparePositions, type EventPosition, renderPosition } from './event-position.js';
import { type LiveStream, liveStream, type StreamSink } from './live-stream.js';
import type { Viewer } from './may-read.js';
import type { RecentEvents } from './recent-events.js';
import { renderBlock } from './sse.js';
import type { TeamFeed } from './team-feed.js';

export interface Team {
  readonly id: string;
  readonly slug: string;
}

export interface Follower {
  readonly team: Team;
  /** As the request was let in. */
  readonly viewer: Viewer;
  readonly sessionId: string;
  /** The text of the session's cookie. */
  readonly secret: string;
  /** Null: from now on. */
  readonly after: EventPosition | null;
}

export interface LiveChangesDeps {
  readonly startFeed: (team: Team) => TeamFeed;
  /** Calls back with the team that has news, and with null when any may have some. */
  readonly onNews: (tell: (teamId: string | null) => void) => void;
  /**
   * Not everything that happens is worth a notification, and one can be lost.
   *
   * @returns those of the teams that have events behind the place
   */
  readonly findNews: (ends: readonly TeamEnd[]) => Promise<readonly string[]>;
  /** So often such events are looked for. */
  readonly lookMs: number;
  /** @returns null for a session that is over */
  readonly findSession: (secret: string) => Promise<Session | null>;
  readonly heartbeatMs: number;
  /** In how many milliseconds a client comes back, at least; up to twice that, so that not all come at once. */
  readonly retryMs: number;
  /** Aborted when the process begins to end. */
  readonly ending: AbortSignal;
}

/** Where the known events of a team end. */
export interface TeamEnd {
  readonly teamId: string;
  readonly after: EventPosition;
}

export interface LiveChanges {
  /**
   * Follows the events of a team.
   *
   * @param open begins the answer once it is known that there will be one
   * @throws Problem `service_unavailable` while the process ends
   */
  follow(follower: Follower, open: () => StreamSink): Promise<OpenStream>;
  /** Members of the team have changed: whoever follows it is looked up before more is told. Never rejects. */
  membersChanged(teamId: string): Promise<void>;
  count(): number;
  /** Teams whose events wait for a transaction to end. */
  countHeld(): number;
}

export interface OpenStream {
  /** To be called when the connection is gone. */
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
  const teams = new Map<string, TeamStreams>();
  const members = new Set<Member>();
  const { checkSessions, checkTeam } = sessionChecks(deps.findSession, members);
  let timers: readonly NodeJS.Timeout[] = [];
  const lookForNews = newsFinder(deps.findNews, teams);

  const tick = (): void => {
    for (const { feed } of teams.values()) feed.look(); // whatever else could be missed; a look is one statement
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

/** Looks for events in all teams at once, and never twice at a time. */
function newsFinder(findNews: LiveChangesDeps['findNews'], teams: ReadonlyMap<string, TeamStreams>) {
  let isLooking = false;
  return async (): Promise<void> => {
    const ends = [...teams].flatMap(([teamId, { feed }]) => {
      const after = feed.end();
      return after === null ? [] : [{ teamId, after }];
    });
    if (isLooking || ends.length === 0) return;
    isLooking = true;
    // What fails here is told of by the next reading of a feed.
    for (const teamId of await findNews(ends).catch(() => [])) teams.get(teamId)?.feed.look();
    isLooking = false;
  };
}

type Mark = 'ready' | 'reset' | null;

/** Where a stream begins, and what is said of that. */
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

/** Looks after the right to follow: one look-up per session and round, a few at a time, and never two rounds at once. */
function sessionChecks(findSession: LiveChangesDeps['findSession'], members: ReadonlySet<Member>) {
  const AT_ONCE = 4;
  let isChecking = false;

  const checkOne = async (secret: string, of: readonly Member[]): Promise<void> => {
    // Nobody is sent away because the database is: nothing can be read then either.
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
    checkTeam: (teamId: string) => check([...members].filter(({ follower }) => follower.team.id === teamId)),
    async checkSessions(): Promise<void> {
      if (isChecking) return;
      isChecking = true;
      await check(members);
      isChecking = false;
    },
  };
}
