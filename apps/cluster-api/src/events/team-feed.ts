import { LRUCache } from 'lru-cache';
import type { EventPage, RenderedEvent } from './event.js';
import { type EventPosition, renderPosition } from './event-position.js';
import { type RecentEvents, recentEvents } from './recent-events.js';

export interface TeamFeedDeps {
  /** Reads and renders events after the position. For null there are no events, and `until` is the current end. */
  readonly read: (after: EventPosition | null) => Promise<EventPage<RenderedEvent>>;
  /** Whether all events after the position are still stored. */
  readonly isKept: (position: EventPosition) => Promise<boolean>;
  /** Called for each failed read. The feed retries on its own. */
  readonly onError: (error: unknown) => void;
  /** Called once when events have waited for at least 10 s for a transaction to end. */
  readonly onHeld: (forMs: number) => void;
}

/** The events of one team in this process, read and rendered once for all its streams. */
export interface TeamFeed {
  /** Resolves once the end of the events is known. @throws the error of the first read */
  started(): Promise<RecentEvents>;
  /** Reads new events, if there are any. */
  readNew(): void;
  /** The end of the known events. Null before the first read. */
  end(): EventPosition | null;
  /** Whether events wait for another transaction to end. */
  isHeld(): boolean;
  /** Reads older events for a stream that starts far back. Streams at the same position share the read. */
  backlog(after: EventPosition): Promise<EventPage<RenderedEvent>>;
  isKept(position: EventPosition): Promise<boolean>;
  /** Calls back after each read. @returns a function that unsubscribes */
  follow(onRead: () => void): () => void;
  close(): void;
}

const recentMax = { events: 256, bytes: 1_048_576 };
/** Number of cached backlog pages. When a replica ends, many clients resume from few positions. */
const BACKLOG_PAGES_MAX = 8;
const BACKLOG_MS = 5_000;
/** First delay in ms before held events are read again. Doubles each time. */
const HELD_MS_MIN = 20;
const HELD_MS_MAX = 1_000;
const HELD_REPORT_MS = 10_000;
/** Delay in ms after a failed read. */
const RETRY_MS = 500;

export function teamFeed({ read, isKept, onError, onHeld }: TeamFeedDeps): TeamFeed {
  const followers = new Set<() => void>();
  const pages = answersForAMoment<EventPage<RenderedEvent>>();
  const kept = answersForAMoment<boolean>();
  let begin: (recent: RecentEvents) => void = () => undefined;
  let fail: (error: unknown) => void = () => undefined;
  const started = new Promise<RecentEvents>((resolve, reject) => {
    [begin, fail] = [resolve, reject];
  });
  started.catch(() => undefined); // callers of `started` get the error
  let recent: RecentEvents | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isReading = false;
  let isWanted = false;
  let isClosed = false;
  const held = heldClock(onHeld);
  const reported = (error: unknown): never => {
    onError(error);
    throw error;
  };

  const readOnce = async (): Promise<EventPage<RenderedEvent>> => {
    const page = await read(recent?.end() ?? null);
    recent ??= recentEvents(page.until, recentMax);
    recent.append(page.events, page.until);
    begin(recent);
    for (const onRead of followers) onRead();
    return page;
  };
  const readNew = async (): Promise<void> => {
    clearTimeout(timer);
    isWanted = true;
    if (isReading || isClosed) return;
    isReading = true;
    let againMs: number | null = null;
    try {
      while (isWanted && !isClosed) {
        isWanted = false;
        const page = await readOnce();
        isWanted ||= page.isFull;
        againMs = held.note(page.isHeld);
      }
    } catch (error) {
      fail(error);
      onError(error);
      againMs = RETRY_MS;
    } finally {
      isReading = false;
    }
    if (againMs !== null && !isClosed) timer = setTimeout(() => void readNew(), againMs);
  };

  return {
    started: () => started,
    readNew: () => void readNew(),
    end: () => recent?.end() ?? null,
    isHeld: held.isHeld,
    backlog: (after) => shared(pages, after, () => read(after).catch(reported)),
    isKept: (position) => shared(kept, position, () => isKept(position)),
    follow(onRead) {
      followers.add(onRead);
      return () => followers.delete(onRead);
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

const answersForAMoment = <T>() =>
  new LRUCache<string, Promise<T>>({ max: BACKLOG_PAGES_MAX, ttl: BACKLOG_MS, ttlAutopurge: true });

/** Shares an answer about one position for `BACKLOG_MS`. Failures are not cached. */
function shared<T>(answers: LRUCache<string, Promise<T>>, position: EventPosition, ask: () => Promise<T>): Promise<T> {
  const key = renderPosition(position);
  const known = answers.get(key);
  if (known !== undefined) return known;
  const answer = ask();
  answers.set(key, answer);
  answer.catch(() => answers.delete(key));
  return answer;
}

/**
 * Decides when to read again while events wait for a transaction: its end sends no notification. The delay doubles up
 * to `HELD_MS_MAX`.
 */
function heldClock(onHeld: (forMs: number) => void) {
  let since: number | null = null;
  let againMs = HELD_MS_MIN;
  let isReported = false;
  return {
    isHeld: () => since !== null,
    /** @returns the delay in ms before the next read, or null when none is needed */
    note(isHeld: boolean): number | null {
      if (!isHeld) {
        [since, againMs, isReported] = [null, HELD_MS_MIN, false];
        return null;
      }
      since ??= performance.now();
      const forMs = performance.now() - since;
      if (forMs >= HELD_REPORT_MS && !isReported) onHeld(Math.round(forMs));
      isReported ||= forMs >= HELD_REPORT_MS;
      const nowMs = againMs;
      againMs = Math.min(againMs * 2, HELD_MS_MAX);
      return nowMs;
    },
  };
}
