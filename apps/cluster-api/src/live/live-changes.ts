import type { Session } from '@corral/auth';
import { streamEventNames } from '@corral/contracts';
import { Problem } from '../problem.js';
import { comparePositions, type EventPosition, renderPosition } from './event-position.js';
import { type LiveStream, liveStream, type StreamSink } from './live-stream.js';
import type { RecentEvents } from './recent-events.js';
import { renderBlock } from './sse.js';
import type { TeamFeed } from './team-feed.js';

export interface Team {
  readonly id: string;
  readonly slug: string;
}

export interface Follower {
  readonly team: Team;
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
  /** @returns null for a session that is over */
  readonly findSession: (secret: string) => Promise<Session | null>;
  readonly heartbeatMs: number;
  /** In how many milliseconds a client comes back, at least; up to twice that, so that not all come at once. */
  readonly retryMs: number;
  /** Aborted when the process begins to end. */
  readonly ending: AbortSignal;
}

export interface LiveChanges {
  /**
   * Follows the events of a team.
   *
   * @param open begins the answer once it is known that there will be one
   * @throws Problem `service_unavailable` while the process ends
   */
  follow(follower: Follower, open: () => StreamSink): Promise<OpenStream>;
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
}

interface TeamStreams {
  readonly feed: TeamFeed;
  users: number;
}

/** All open streams of this process. */
export function liveChanges(deps: LiveChangesDeps): LiveChanges {
  const teams = new Map<string, TeamStreams>();
  const members = new Set<Member>();
  const { checkSessions } = sessionChecks(deps.findSession, members);
  let timer: NodeJS.Timeout | undefined;

  const tick = (): void => {
    for (const { feed } of teams.values()) feed.look(); // a notification can be lost; a look is one statement
    for (const { stream } of members) stream.heartbeat();
    void checkSessions();
  };
  const enter = (team: Team): TeamStreams => {
    const streams = teams.get(team.id) ?? { feed: deps.startFeed(team), users: 0 };
    if (streams.users === 0) streams.feed.look();
    streams.users += 1;
    teams.set(team.id, streams);
    timer ??= setInterval(tick, deps.heartbeatMs);
    return streams;
  };
  const leave = (team: Team, streams: TeamStreams): void => {
    streams.users -= 1;
    if (streams.users > 0) return;
    streams.feed.close();
    teams.delete(team.id);
    if (teams.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  deps.onNews((teamId) => {
    if (teamId !== null) teams.get(teamId)?.feed.look();
    else for (const { feed } of teams.values()) feed.look();
  });
  deps.ending.addEventListener('abort', () => {
    for (const { stream } of members) stream.end('shutdown');
  });

  return {
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
        const stream = liveStream({ feed: streams.feed, recent, sink, from });
        const member = { follower, stream };
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
  throw new Problem('service_unavailable', 'This replica ends. Connect again: another one goes on.', {
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
    const teams = new Set(session?.memberships.map(({ teamId }) => teamId));
    for (const { follower, stream } of of) if (!teams.has(follower.team.id)) stream.end('session');
  };
  return {
    async checkSessions(): Promise<void> {
      if (isChecking) return;
      isChecking = true;
      const waiting = [...bySession(members).values()];
      const work = async (): Promise<void> => {
        for (let of = waiting.pop(); of !== undefined; of = waiting.pop()) {
          await checkOne((of[0] as Member).follower.secret, of);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      isChecking = false;
    },
  };
}
