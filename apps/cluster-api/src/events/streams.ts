import { comparePositions, type EventPosition, renderPosition } from '@corral/cluster-data';
import {
  type Role,
  roleCovers,
  type StreamEndReason,
  streamEndReasons,
  streamEventNames,
  type TeamId,
  type UserId,
} from '@corral/contracts';
import pLimit from 'p-limit';
import { Problem } from '../problem.js';
import { RETRY_MS, type RenderedEvent, renderBlock, type TeamFeed } from './feed.js';
import type { EventTeam, TeamEnd } from './store.js';

/** The person or service account of a stream, with the current role. */
export interface Viewer {
  /** Null for a service account. */
  readonly userId: UserId | null;
  readonly role: Role;
}

/** Whether the viewer could GET the resource. Members see their own DNS tokens and everything else of the team. */
function mayRead({ kind, ownerId }: RenderedEvent, { userId, role }: Viewer): boolean {
  if (userId === null) return kind !== 'DnsToken' && kind !== 'Member';
  return kind !== 'DnsToken' || roleCovers(role, 'admin') || ownerId === userId;
}

/** What a stream was opened with, and ends with. */
export interface Credential {
  /** The value of the session cookie, or the token of a service account. */
  readonly secret: string;
  readonly isAccount: boolean;
}

/** The connection of a client. */
export interface StreamSink {
  /** @returns false when the buffer is full */
  write(bytes: Buffer): boolean;
  isFull(): boolean;
  /** Resolves when the buffer has drained. */
  drained(): Promise<unknown>;
  /** Ends the answer. Cuts the connection when the client does not read the end in time. */
  end(bytes: Buffer): void;
}

export interface Follower {
  readonly team: EventTeam;
  /** The reader, as authorized by the request. */
  readonly viewer: Viewer;
  readonly credential: Credential;
  /** Null to start at the current end. */
  readonly after: EventPosition | null;
}

type Stream = ReturnType<typeof openStream>;

/**
 * Sends events after `from` in order, each once. A slow reader costs a position and the events that were read last: others, that are
 * no longer in memory, are read again.
 */
export function openStream(feed: TeamFeed, sink: StreamSink, from: EventPosition, of: Viewer) {
  let viewer = of;
  let position = from;
  /** The last position that was sent to the client as an id. */
  let sentPosition = from;
  let isIdle = false;
  let isOver = false;
  let heartbeatsWhileFull = 0;
  let goOn: () => void = () => undefined;

  /** Waits for a promise or the end of the stream. Nothing is added to a promise that lives as long as the stream. */
  const untilOver = (awaited: Promise<unknown>): Promise<void> =>
    new Promise((resolve) => {
      goOn = resolve;
      void awaited.then(() => resolve());
    });
  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, RETRY_MS);
      goOn = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const send = async (event: RenderedEvent): Promise<void> => {
    position = event.position;
    if (!mayRead(event, viewer)) return;
    sentPosition = position;
    heartbeatsWhileFull = 0;
    if (!sink.write(event.bytes)) await untilOver(sink.drained());
  };
  const sendNext = async (): Promise<void> => {
    const news = feed.news();
    const { events, until } = await feed.after(position);
    for (const event of events) {
      if (isOver) return;
      await send(event);
    }
    const isAtEnd = events.length === 0 && comparePositions(until, position) <= 0;
    if (comparePositions(until, position) > 0) position = until;
    if (!isAtEnd || isOver) return;
    isIdle = true;
    await untilOver(news);
    isIdle = false;
  };
  const run = async (): Promise<void> => {
    // Older events could not be read: the feed has reported it.
    while (!isOver) await sendNext().catch(() => (isOver ? undefined : pause()));
  };
  const stop = (): void => {
    isOver = true;
    goOn();
  };
  const end = (reason: StreamEndReason): void => {
    if (isOver) return;
    stop();
    sink.end(renderBlock({ event: streamEventNames.end, data: { reason, message: streamEndReasons[reason] } }));
  };
  void run();

  return {
    /** Events are sent from now on if this role may read them. */
    become(role: Role): void {
      viewer = { ...viewer, role };
    },

    /** Sends a heartbeat. Ends the stream when the connection accepted nothing since the previous one. */
    heartbeat(): void {
      if (isOver) return;
      if (sink.isFull()) {
        heartbeatsWhileFull += 1;
        if (heartbeatsWhileFull > 1) end('slow');
        return;
      }
      // A quiet stream states its position, because its last event may be deleted before the client resumes.
      const isAhead = isIdle && comparePositions(position, sentPosition) > 0;
      if (isAhead) sentPosition = position;
      heartbeatsWhileFull = 0;
      sink.write(renderBlock({ comment: 'heartbeat', ...(isAhead && { id: renderPosition(position) }) }));
    },

    /** Sends the reason and ends the stream. */
    end,

    /** Sends nothing more. Must be called when the connection is closed. */
    stop,
  };
}

export interface StreamsOptions {
  /** @param membersChanged members of the team have changed: resolves when viewers have their current roles */
  readonly startFeed: (team: EventTeam, membersChanged: () => Promise<void>) => TeamFeed;
  /** Finds the teams that have events after their end: some events have no notification, and notifications can be lost. */
  readonly findTeamsWithEvents: (ends: readonly TeamEnd[]) => Promise<readonly TeamId[]>;
  /** The current roles in the teams whose events may be followed: none once the session or token has ended. */
  readonly findRoles: (credential: Credential) => Promise<ReadonlyMap<TeamId, Role>>;
  readonly heartbeatMs: number;
  /** Minimum reconnection delay for clients in ms. Up to twice that is sent, to spread reconnections. */
  readonly retryMs: number;
  /** Aborted when the process starts to shut down. */
  readonly ending: AbortSignal;
}

interface Reader extends Follower {
  readonly stream: Stream;
}

/** Interval in ms. Limits the delay of record set events, which are written without notification. */
const POLL_MS = 1_000;
/** Heartbeats are many, so that silence is noticed soon. What reads the database is done less often. */
const HEARTBEATS_PER_CHECK = 4;
/** Concurrent look-ups of sessions and tokens per check. */
const LOOK_UPS_AT_ONCE = 4;

/** All open streams of this process. */
export function eventStreams(options: StreamsOptions) {
  const feeds = new Map<TeamId, { readonly feed: TeamFeed; users: number }>();
  const readers = new Set<Reader>();
  let timers: readonly NodeJS.Timeout[] = [];

  /** Gives the viewers with a credential their current roles, and ends the streams that they may no longer follow. */
  const checkCredential = async (credential: Credential, of: readonly Reader[]): Promise<void> => {
    // An unavailable database does not end streams: no events can be read then either.
    const roles = await options.findRoles(credential).catch(() => null);
    if (roles === null) return;
    for (const { team, stream } of of) {
      const role = roles.get(team.id);
      if (role === undefined) stream.end('session');
      else stream.become(role);
    }
  };
  const check = async (those: readonly Reader[]): Promise<void> => {
    // A queue of its own: a change of members does not wait for the check of all streams.
    const lookUps = pLimit(LOOK_UPS_AT_ONCE);
    const bySecret = Map.groupBy(those, ({ credential }) => credential.secret);
    await Promise.all(
      [...bySecret.values()].map((of) => lookUps(() => checkCredential((of[0] as Reader).credential, of))),
    );
  };
  const checkAll = onceAtATime(() => check([...readers]));
  let heartbeats = 0;
  const onHeartbeat = (): void => {
    for (const { stream } of readers) stream.heartbeat();
    heartbeats += 1;
    if (heartbeats % HEARTBEATS_PER_CHECK !== 0) return;
    for (const { feed } of feeds.values()) feed.wake(); // moves the position of quiet streams
    void checkAll();
  };
  const onPoll = onceAtATime(async () => {
    const ends = [...feeds].flatMap(([teamId, { feed }]) => {
      const after = feed.end();
      return after === null ? [] : [{ teamId, after }];
    });
    if (ends.length === 0) return;
    // An error here is ignored: the next read of a feed reports it.
    for (const teamId of await options.findTeamsWithEvents(ends).catch(() => [])) feeds.get(teamId)?.feed.wake();
  });

  const enter = (team: EventTeam): TeamFeed => {
    const membersChanged = () => check([...readers].filter((reader) => reader.team.id === team.id));
    const entry = feeds.get(team.id) ?? { feed: options.startFeed(team, membersChanged), users: 0 };
    entry.users += 1;
    feeds.set(team.id, entry);
    if (timers.length === 0) timers = [setInterval(onHeartbeat, options.heartbeatMs), setInterval(onPoll, POLL_MS)];
    return entry.feed;
  };
  const leave = ({ id }: EventTeam): void => {
    const entry = feeds.get(id);
    if (entry === undefined) return;
    entry.users -= 1;
    if (entry.users > 0) return;
    entry.feed.close();
    feeds.delete(id);
    if (feeds.size > 0) return;
    for (const timer of timers) clearInterval(timer);
    timers = [];
  };

  options.ending.addEventListener('abort', () => {
    for (const { stream } of readers) stream.end('shutdown');
  });

  return {
    /** @param teamId null when any team may have events */
    wake(teamId: TeamId | null): void {
      if (teamId !== null) feeds.get(teamId)?.feed.wake();
      else for (const { feed } of feeds.values()) feed.wake();
    },

    count: (): number => readers.size,

    /** Number of teams whose events wait for a transaction to end. */
    countHeld: (): number => [...feeds.values()].filter(({ feed }) => feed.isHeld()).length,

    /**
     * Opens a stream of a team's events.
     *
     * @param open starts the answer, called after all checks have passed
     * @returns a function that must be called once when the connection is closed
     * @throws Problem `service_unavailable` while the process shuts down
     */
    async follow(follower: Follower, open: () => StreamSink): Promise<() => void> {
      const { team, after, viewer } = follower;
      refuseWhileEnding(options.ending);
      const feed = enter(team);
      try {
        const end = await feed.start();
        const isResumed = after !== null && (await feed.canResume(after));
        refuseWhileEnding(options.ending);
        const from = isResumed ? after : end;
        const sink = open();
        sink.write(renderBlock({ retry: Math.round(options.retryMs * (1 + Math.random())) }));
        if (!isResumed) sink.write(renderMark(after === null ? 'ready' : 'reset', from));
        const reader = { ...follower, stream: openStream(feed, sink, from, viewer) };
        readers.add(reader);
        return () => {
          reader.stream.stop();
          readers.delete(reader);
          leave(team);
        };
      } catch (error) {
        leave(team);
        throw error;
      }
    },
  };
}

/** Leaves out calls while one is running. */
function onceAtATime(work: () => Promise<void>): () => Promise<void> {
  let isRunning = false;
  return async () => {
    if (isRunning) return;
    isRunning = true;
    await work();
    isRunning = false;
  };
}

function renderMark(mark: 'ready' | 'reset', position: EventPosition): Buffer {
  const id = renderPosition(position);
  return renderBlock({ event: streamEventNames[mark], id, data: { id, at: new Date(position.at).toISOString() } });
}

function refuseWhileEnding(ending: AbortSignal): void {
  if (!ending.aborted) return;
  throw new Problem('service_unavailable', 'This replica is shutting down. Reconnect.', { retryAfterSeconds: 1 });
}
