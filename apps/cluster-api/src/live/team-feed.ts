import { LRUCache } from 'lru-cache';
import { type EventPosition, renderPosition } from './event-position.js';
import type { EventPage, RenderedEvent } from './event-record.js';
import { type RecentEvents, recentEvents } from './recent-events.js';

export interface TeamFeedDeps {
  /** Events behind the position, rendered; from null on there are none, and `until` is the present end. */
  readonly read: (after: EventPosition | null) => Promise<EventPage<RenderedEvent>>;
  /** Whether all events behind the position are still there. */
  readonly isKept: (position: EventPosition) => Promise<boolean>;
  /** Called for each failed reading; the next one follows by itself. */
  readonly onError: (error: unknown) => void;
  /** Called once when events wait for so long that somebody should know, for a transaction that does not end. */
  readonly onHeld: (forMs: number) => void;
}

/** The events of one team in this process: read once, rendered once, for all streams. */
export interface TeamFeed {
  /** Resolves once the end of the events is known. @throws what reading throws, the first time */
  started(): Promise<RecentEvents>;
  /** There may be news. */
  look(): void;
  /** Where the events that are known end; null before the first are. */
  end(): EventPosition | null;
  /** Whether events wait for another transaction to end. */
  isHeld(): boolean;
  /** Older events, for one who comes from far behind. Those who come from the same place share the reading. */
  backlog(after: EventPosition): Promise<EventPage<RenderedEvent>>;
  isKept(position: EventPosition): Promise<boolean>;
  /** Calls back whenever it has looked, until the returned function is called. */
  follow(onNews: () => void): () => void;
  close(): void;
}

const recentMax = { events: 256, bytes: 1_048_576 };
/** Pages of the past that are kept for a moment: after the end of a replica many come from few places. */
const BACKLOG_PAGES_MAX = 8;
const BACKLOG_MS = 5_000;
/** How soon it is looked again for events whose turn has not come; doubles. */
const HELD_MS_MIN = 20;
const HELD_MS_MAX = 1_000;
const HELD_TELL_MS = 10_000;
/** After a reading that failed. */
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
  started.catch(() => undefined); // told to whoever waits for it
  let recent: RecentEvents | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  let isWanted = false;
  let isClosed = false;
  const held = heldClock(onHeld);
  const told = (error: unknown): never => {
    onError(error);
    throw error;
  };

  const lookOnce = async (): Promise<EventPage<RenderedEvent>> => {
    const page = await read(recent?.end() ?? null);
    recent ??= recentEvents(page.until, recentMax);
    recent.append(page.events, page.until);
    begin(recent);
    for (const onNews of followers) onNews();
    return page;
  };
  const look = async (): Promise<void> => {
    clearTimeout(timer);
    isWanted = true;
    if (isLooking || isClosed) return;
    isLooking = true;
    let againMs: number | null = null;
    try {
      while (isWanted && !isClosed) {
        isWanted = false;
        const page = await lookOnce();
        isWanted ||= page.isFull;
        againMs = held.note(page.isHeld);
      }
    } catch (error) {
      fail(error);
      onError(error);
      againMs = RETRY_MS;
    } finally {
      isLooking = false;
    }
    if (againMs !== null && !isClosed) timer = setTimeout(() => void look(), againMs);
  };

  return {
    started: () => started,
    look: () => void look(),
    end: () => recent?.end() ?? null,
    isHeld: held.isHeld,
    backlog: (after) => shared(pages, after, () => read(after).catch(told)),
    isKept: (position) => shared(kept, position, () => isKept(position)),
    follow(onNews) {
      followers.add(onNews);
      return () => followers.delete(onNews);
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

const answersForAMoment = <T>() =>
  new LRUCache<string, Promise<T>>({ max: BACKLOG_PAGES_MAX, ttl: BACKLOG_MS, ttlAutopurge: true });

/** Those who ask about the same position within a moment get one answer; a failure is nobody else's. */
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
 * An event that another transaction holds back is told of by no notification once that one ends: it is looked for again,
 * the less often the longer it takes.
 */
function heldClock(onHeld: (forMs: number) => void) {
  let since: number | null = null;
  let againMs = HELD_MS_MIN;
  let isTold = false;
  return {
    isHeld: () => since !== null,
    /** @returns in how many milliseconds to look again; null when only news are a reason to */
    note(isHeld: boolean): number | null {
      if (!isHeld) {
        [since, againMs, isTold] = [null, HELD_MS_MIN, false];
        return null;
      }
      since ??= performance.now();
      const forMs = performance.now() - since;
      if (forMs >= HELD_TELL_MS && !isTold) onHeld(Math.round(forMs));
      isTold ||= forMs >= HELD_TELL_MS;
      const nowMs = againMs;
      againMs = Math.min(againMs * 2, HELD_MS_MAX);
      return nowMs;
    },
  };
}
