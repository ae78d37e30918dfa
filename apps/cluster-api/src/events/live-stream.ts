import { type StreamEndReason, streamEndReasons, streamEventNames } from '@corral/contracts';
import type { RenderedEvent } from './event.js';
import { mayRead, renderBlock, type Viewer } from './event.js';
import { comparePositions, type EventPosition, renderPosition } from './event-position.js';
import type { RecentEvents } from './recent-events.js';
import type { TeamFeed } from './team-feed.js';

/** The connection of a client. */
export interface StreamSink {
  /** @returns false when the buffer is full */
  write(bytes: Buffer): boolean;
  /** Calls back each time the buffer has drained. */
  onDrain(takesMore: () => void): void;
  /** Ends the answer. Cuts the connection when the client does not read the end in time. */
  end(bytes: Buffer): void;
}

export interface LiveStreamDeps {
  readonly feed: Pick<TeamFeed, 'backlog'>;
  readonly recent: RecentEvents;
  readonly sink: StreamSink;
  /** Events after this position are sent. */
  readonly from: EventPosition;
  /** Returns the user with the current role. Events that they may not read are skipped. */
  readonly viewer: () => Viewer;
}

export interface LiveStream {
  /** Sends as many events as the connection accepts. */
  pump(): void;
  /** Sends a heartbeat. Ends the stream when the connection accepted nothing since the previous one. */
  heartbeat(): void;
  /** Sends the reason and ends the stream. */
  end(reason: StreamEndReason): void;
  /** Must be called when the connection is closed. */
  close(): void;
}

/**
 * Sends events in order, each once. A slow reader costs a position rather than a buffer: events that are no longer in
 * memory are read again.
 */
export function liveStream({ feed, recent, sink, from, viewer }: LiveStreamDeps): LiveStream {
  let position = from;
  /** The last position that was sent to the client as an id. */
  let sentPosition = from;
  let older: readonly RenderedEvent[] = [];
  let olderUntil = from;
  let isFull = false;
  let isReading = false;
  let isOver = false;
  let heartbeatsWhileFull = 0;

  const send = (bytes: Buffer): void => {
    isFull = !sink.write(bytes);
    if (isFull) heartbeatsWhileFull = 0;
  };
  const sendEvent = (event: RenderedEvent): void => {
    position = event.position;
    if (!mayRead(event, viewer())) return;
    send(event.bytes);
    sentPosition = position;
  };
  const readOlder = async (): Promise<void> => {
    isReading = true;
    try {
      const { events, until } = await feed.backlog(position);
      [older, olderUntil] = [events, until];
      if (events.length === 0) position = until;
    } catch {
      return; // the feed reported the error, and its next success resumes this stream
    } finally {
      isReading = false;
    }
    pump();
  };
  const pump = (): void => {
    while (!isOver && !isFull && !isReading) {
      const [next, ...rest] = older;
      if (next !== undefined) {
        older = rest;
        sendEvent(next);
        if (rest.length === 0) position = olderUntil;
      } else if (!recent.covers(position)) {
        void readOlder();
      } else {
        const event = recent.firstBehind(position);
        if (event === null) return;
        sendEvent(event);
      }
    }
  };
  sink.onDrain(() => {
    isFull = false;
    pump();
  });

  const end = (reason: StreamEndReason): void => {
    if (isOver) return;
    isOver = true;
    sink.end(renderBlock({ event: streamEventNames.end, data: { reason, message: streamEndReasons[reason] } }));
  };
  return {
    pump,
    heartbeat() {
      if (isOver) return;
      pump();
      if (isFull) {
        heartbeatsWhileFull += 1;
        if (heartbeatsWhileFull > 1) end('slow');
      } else send(renderBlock({ comment: 'heartbeat', ...idWhenIdle() }));
    },
    end,
    close() {
      isOver = true;
    },
  };

  /** Sends the current position on a quiet stream, because its last event may be deleted before the client resumes. */
  function idWhenIdle(): { id?: string } {
    const end = recent.end();
    const isBehindAll =
      older.length === 0 && !isReading && recent.covers(position) && recent.firstBehind(position) === null;
    if (!isBehindAll) return {};
    if (comparePositions(end, position) > 0) position = end;
    if (comparePositions(position, sentPosition) <= 0) return {};
    sentPosition = position;
    return { id: renderPosition(sentPosition) };
  }
}
