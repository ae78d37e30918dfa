import { type StreamEndReason, streamEndReasons, streamEventNames } from '@corral/contracts';
import { comparePositions, type EventPosition, renderPosition } from './event-position.js';
import type { RenderedEvent } from './event-record.js';
import { mayRead, type Viewer } from './may-read.js';
import type { RecentEvents } from './recent-events.js';
import { renderBlock } from './sse.js';
import type { TeamFeed } from './team-feed.js';

/** The connection of one who follows. */
export interface StreamSink {
  /** @returns false when it takes no more for now */
  write(bytes: Buffer): boolean;
  /** Calls back each time it takes more again. */
  onDrain(takesMore: () => void): void;
  /** Ends the answer in order, and cuts the connection where that end is not taken either. */
  end(bytes: Buffer): void;
}

export interface LiveStreamDeps {
  readonly feed: Pick<TeamFeed, 'backlog'>;
  readonly recent: RecentEvents;
  readonly sink: StreamSink;
  /** Events behind it are sent. */
  readonly from: EventPosition;
  /** Who follows, as known just now: what they may not read is passed over. */
  readonly viewer: () => Viewer;
}

export interface LiveStream {
  /** Sends what there is and the connection takes. */
  pump(): void;
  /** Says that the stream lives; cuts it off when nothing was taken since the last time, though something was there. */
  heartbeat(): void;
  /** Sends why, and ends. */
  end(reason: StreamEndReason): void;
  /** The connection is gone. */
  close(): void;
}

/**
 * Sends events in their order, each once. What waits for a slow reader is a position and not a buffer: events that
 * others have long read are read again for one who comes late.
 */
export function liveStream({ feed, recent, sink, from, viewer }: LiveStreamDeps): LiveStream {
  let position = from;
  /** The last place that the client knows to come back to. */
  let told = from;
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
    told = position;
  };
  const readOlder = async (): Promise<void> => {
    isReading = true;
    try {
      const { events, until } = await feed.backlog(position);
      [older, olderUntil] = [events, until];
      if (events.length === 0) position = until;
    } catch {
      return; // the feed has told of it; with its next success this goes on
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

  /** A quiet stream's last event grows older than what is kept: the place where it waits takes its place. */
  function idWhenIdle(): { id?: string } {
    const end = recent.end();
    const isBehindAll =
      older.length === 0 && !isReading && recent.covers(position) && recent.firstBehind(position) === null;
    if (!isBehindAll) return {};
    if (comparePositions(end, position) > 0) position = end;
    if (comparePositions(position, told) <= 0) return {};
    told = position;
    return { id: renderPosition(told) };
  }
}
