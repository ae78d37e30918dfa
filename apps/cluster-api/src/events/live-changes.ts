import type { Session } from '@corral/auth';
import { streamEventNames, type TeamId } from '@corral/contracts';
import { Problem } from '../problem.js';
import { renderBlock } from './event.js';
import { comparePositions, type EventPosition, renderPosition } from './event-position.js';
import { liveStream, type StreamSink } from './live-stream.js';
import type { Follower, Reader, Team } from './readers.js';
import { readerChecks } from './readers.js';
import type { RecentEvents } from './recent-events.js';
import type { TeamFeed } from './team-feed.js';

export interface LiveChangesDeps {
  readonly startFeed: (team: Team) => TeamFeed;
  /** Subscribes to notifications. The callback gets the team's id, or null when any team may have events. */
  readonly onNotification: (callback: (teamId: TeamId | null) => void) => void;
  /**
   * Polls for events, because some have no notification and notifications can be lost.
   *
   * @returns the ids of the teams that have events after their end
   */
  readonly findTeamsWithEvents: (ends: readonly TeamEnd[]) => Promise<readonly TeamId[]>;
  /** Interval of these polls in ms. */
  readonly pollMs: number;
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

interface TeamStreams {
  readonly feed: TeamFeed;
  users: number;
}

/** All open streams of this process. */
export function liveChanges(deps: LiveChangesDeps): LiveChanges {
  const teams = new Map<TeamId, TeamStreams>();
  const readers = new Set<Reader>();
  const { checkSessions, checkTeam } = readerChecks(deps.findSession, readers);
  let timers: readonly NodeJS.Timeout[] = [];
  const poll = eventPoller(deps.findTeamsWithEvents, teams);

  const tick = (): void => {
    for (const { feed } of teams.values()) feed.readNew(); // finds anything missed, at the cost of one statement
    for (const { stream } of readers) stream.heartbeat();
    void checkSessions();
  };
  const enter = (team: Team): TeamStreams => {
    const streams = teams.get(team.id) ?? { feed: deps.startFeed(team), users: 0 };
    if (streams.users === 0) streams.feed.readNew();
    streams.users += 1;
    teams.set(team.id, streams);
    if (timers.length === 0) timers = [setInterval(tick, deps.heartbeatMs), setInterval(poll, deps.pollMs)];
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

  deps.onNotification((teamId) => {
    if (teamId !== null) teams.get(teamId)?.feed.readNew();
    else for (const { feed } of teams.values()) feed.readNew();
  });
  deps.ending.addEventListener('abort', () => {
    for (const { stream } of readers) stream.end('shutdown');
  });

  return {
    membersChanged: checkTeam,
    count: () => readers.size,
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
        const stream = liveStream({ feed: streams.feed, recent, sink, from, viewer: () => reader.viewer });
        const reader: Reader = { follower, stream, viewer };
        readers.add(reader);
        const unfollow = streams.feed.follow(stream.pump);
        stream.pump();
        let isOpen = true;
        return {
          close() {
            if (!isOpen) return;
            isOpen = false;
            stream.close();
            unfollow();
            readers.delete(reader);
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
function eventPoller(
  findTeamsWithEvents: LiveChangesDeps['findTeamsWithEvents'],
  teams: ReadonlyMap<TeamId, TeamStreams>,
) {
  let isReading = false;
  return async (): Promise<void> => {
    const ends = [...teams].flatMap(([teamId, { feed }]) => {
      const after = feed.end();
      return after === null ? [] : [{ teamId, after }];
    });
    if (isReading || ends.length === 0) return;
    isReading = true;
    // An error here is ignored: the next read of a feed reports it.
    for (const teamId of await findTeamsWithEvents(ends).catch(() => [])) teams.get(teamId)?.feed.readNew();
    isReading = false;
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
