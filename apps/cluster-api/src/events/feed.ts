import {
  comparePositions,
  type EventPage,
  type EventPosition,
  type EventRecord,
  renderPosition,
} from '@corral/cluster-data';
import { type TeamEvent, type TeamEventKind, teamEventKinds, teamEventName, teamEventNouns } from '@corral/contracts';
import type { ResourceBody } from './store.js';

/** An event as sent, rendered once for all streams. */
export interface RenderedEvent {
  readonly position: EventPosition;
  readonly kind: TeamEventKind;
  readonly ownerId: string | null;
  readonly bytes: Buffer;
}

export interface SseBlock {
  readonly event?: string;
  readonly id?: string;
  readonly data?: object;
  /** Reconnection delay for clients in ms. */
  readonly retry?: number;
  readonly comment?: string;
}

/**
 * Renders one block of an event stream (HTML, section 9.2.5). Clients do not dispatch a block without data, but they
 * store its `id`. Values must not contain line breaks. JSON has none.
 */
export function renderBlock({ comment, retry, event, id, data }: SseBlock): Buffer {
  const lines = [
    ...(comment === undefined ? [] : [`: ${comment}`]),
    ...(retry === undefined ? [] : [`retry: ${retry}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(data === undefined ? [] : [`data: ${JSON.stringify(data)}`]),
  ];
  return Buffer.from(`${lines.join('\n')}\n\n`);
}

const keyOf = ({ kind, targetId }: { readonly kind: string; readonly targetId: string }): string =>
  `${kind} ${targetId}`;

/**
 * Drops record set events that a later event supersedes. They would carry the same body, which may be long, and
 * programs write record sets by the hundred. Also drops kinds that only a newer version of the service knows.
 */
export function withoutOutdated(records: readonly EventRecord[]): EventRecord[] {
  const last = new Map(records.map((record) => [keyOf(record), record]));
  return records.filter(
    (record) =>
      Object.hasOwn(teamEventNouns, record.kind) && (record.kind !== 'RecordSet' || last.get(keyOf(record)) === record),
  );
}

/**
 * Renders events with the current bodies of their resources.
 *
 * @param readBodies reads the bodies of resources of one kind, by `targetId`. Resources that no longer exist have none
 */
export async function renderEvents(
  read: readonly EventRecord[],
  readBodies: (kind: TeamEventKind, ids: string[]) => Promise<[string, ResourceBody][]>,
): Promise<RenderedEvent[]> {
  const records = withoutOutdated(read);
  const bodies = new Map<string, ResourceBody>();
  const readKind = async (kind: TeamEventKind): Promise<void> => {
    const changed = records.filter((record) => record.kind === kind && record.change === 'changed');
    const ids = [...new Set(changed.map(({ targetId }) => targetId))];
    if (ids.length === 0) return;
    for (const [targetId, body] of await readBodies(kind, ids)) bodies.set(keyOf({ kind, targetId }), body);
  };
  await Promise.all(teamEventKinds.map(readKind));
  return records.map((record) =>
    renderEvent(record, record.change === 'deleted' ? null : (bodies.get(keyOf(record)) ?? null)),
  );
}

function renderEvent(record: EventRecord, resource: TeamEvent['resource']): RenderedEvent {
  const { position, kind, change, name, targetId, parent, ownerId } = record;
  const id = renderPosition(position);
  const at = new Date(position.at).toISOString();
  const data: TeamEvent = { id, kind, change, name, targetId, parent, at, resource };
  return { position, kind, ownerId, bytes: renderBlock({ event: teamEventName(kind, change), id, data }) };
}

export interface FeedSource {
  /** Reads and renders events after the position. For null there are no events, and `until` is the current end. */
  read(after: EventPosition | null): Promise<EventPage<RenderedEvent>>;
  /** Whether all events after the position are still stored. */
  areKept(position: EventPosition): Promise<boolean>;
  /** Called for each failed read. */
  onError(error: unknown): void;
  /** Called once when events have waited for at least 10 s for a transaction to end. */
  onHeld(forMs: number): void;
}

/** Bounds of the events that a feed keeps in memory. */
const RECENT_MAX = 256;
const RECENT_BYTES_MAX = 1_048_576;
/** Delay in ms before events that wait for a transaction are read again. Doubles up to `HELD_MS_MAX`. */
const HELD_MS_MIN = 20;
const HELD_MS_MAX = 1_000;
const HELD_REPORT_MS = 10_000;
/** Delay in ms after a failed read. */
export const RETRY_MS = 500;

/** Decides when to read again while events wait for a transaction, whose end sends no notification. */
function heldClock(onHeld: (forMs: number) => void) {
  let since: number | null = null;
  let againMs = HELD_MS_MIN;
  let isReported = false;
  return {
    isHeld: (): boolean => since !== null,

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

/** Shares a running read among all that ask for the same position: after the end of a replica, many clients resume at few. */
function sharedRead<T>(read: (position: EventPosition) => Promise<T>): (position: EventPosition) => Promise<T> {
  const running = new Map<string, Promise<T>>();
  return (position) => {
    const key = renderPosition(position);
    const reading = running.get(key) ?? read(position).finally(() => running.delete(key));
    running.set(key, reading);
    return reading;
  };
}

export type TeamFeed = ReturnType<typeof teamFeed>;

/** The events of one team in this process, read and rendered once for all its streams. The last ones stay in memory. */
export function teamFeed({ read, areKept, onError, onHeld }: FeedSource) {
  let recent: RenderedEvent[] = [];
  /** All events between these two positions are in `recent`. */
  let from: EventPosition | null = null;
  let until: EventPosition | null = null;
  let news = Promise.withResolvers<void>();
  let starting: Promise<EventPosition> | null = null;
  let isReading = false;
  let isWanted = false;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  const held = heldClock(onHeld);

  const keep = (page: EventPage<RenderedEvent>): void => {
    from ??= page.until;
    until = page.until;
    recent.push(...page.events);
    let bytes = recent.reduce((sum, event) => sum + event.bytes.length, 0);
    let dropped = 0;
    while (recent.length - dropped > RECENT_MAX || (bytes > RECENT_BYTES_MAX && dropped < recent.length)) {
      const oldest = recent[dropped] as RenderedEvent;
      bytes -= oldest.bytes.length;
      from = oldest.position;
      dropped += 1;
    }
    recent = recent.slice(dropped);
  };

  const readNext = async (): Promise<EventPage<RenderedEvent>> => {
    const page = await read(until);
    keep(page);
    news.resolve();
    news = Promise.withResolvers();
    return page;
  };

  /** Reads new events, if there are any. Reads never overlap. */
  const wake = async (): Promise<void> => {
    isWanted = true;
    if (isReading || isClosed || until === null) return;
    clearTimeout(timer);
    isReading = true;
    let againMs: number | null = null;
    try {
      while (isWanted && !isClosed) {
        isWanted = false;
        const page = await readNext();
        isWanted ||= page.isFull;
        againMs = held.note(page.isHeld);
      }
    } catch (error) {
      onError(error);
      againMs = RETRY_MS;
    }
    isReading = false;
    if (againMs !== null && !isClosed) timer = setTimeout(wake, againMs);
  };

  /** Streams that open at the same time begin with one read: another one could leave out events between the two. */
  const begin = async (): Promise<EventPosition> => {
    const page = await readNext().finally(() => {
      starting = null;
    });
    if (page.isHeld || isWanted) void wake();
    return page.until;
  };

  /** Whether all events after the position are in memory. Clients can hold positions that a restored database has never had. */
  const covers = (position: EventPosition): boolean => {
    if (from === null || until === null) return false;
    if (comparePositions(position, from) < 0 || comparePositions(position, until) > 0) return false;
    const known = [from, ...recent.map((event) => event.position)];
    return position.id === 0n || known.some((each) => comparePositions(each, position) === 0);
  };
  const areStored = sharedRead(areKept);
  const readOlder = sharedRead((position) =>
    read(position).catch((error: unknown) => {
      onError(error);
      throw error;
    }),
  );

  return {
    /** Begins at the current end. @returns the end of the known events @throws the error of the read */
    start(): Promise<EventPosition> {
      if (until !== null) return Promise.resolve(until);
      starting ??= begin();
      return starting;
    },

    /** Reads new events soon. Never rejects: failed reads are repeated. */
    wake: (): void => void wake(),

    /** Resolves after the next read. */
    news: (): Promise<void> => news.promise,

    /** The end of the known events. Null before the first read. */
    end: (): EventPosition | null => until,

    /** Whether events wait for a transaction to end. */
    isHeld: held.isHeld,

    /** Whether a stream can continue after a position without a gap. @throws the error of the read */
    canResume: async (position: EventPosition): Promise<boolean> => covers(position) || areStored(position),

    /** The known events after a position; a page of older ones where they are no longer in memory. @throws the error of the read */
    async after(position: EventPosition): Promise<Pick<EventPage<RenderedEvent>, 'events' | 'until'>> {
      if (until === null || from === null || comparePositions(position, from) < 0) return readOlder(position);
      return { events: recent.filter((event) => comparePositions(event.position, position) > 0), until };
    },

    close(): void {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
