import { randomInt } from 'node:crypto';
import type { Response } from 'express';
import type { Clock } from '../../clock.js';
import type { GardenSettings } from '../garden-settings.js';
import { apiVersionOf, type Kind } from '../kinds/kind.js';
import { StatusError } from '../kube/status-error.js';
import { type Held, objectOf, type PastEvent } from '../store/held.js';
import type { ObjectStore } from '../store/object-store.js';
import { parseVersion, readCount } from './list.js';
import type { RequestInfo } from './request-info.js';
import { type Selection, selectionOf } from './selection.js';
import { tableOf, wantsTable } from './tables.js';

/** A watcher that does not read is dropped, as by a server whose buffer for it is full. */
const UNREAD_BYTES_MAX = 64 * 1024 * 1024;

interface OpenWatch {
  end(): void;
  isStalled: boolean;
}

/** Serves watches, and knows those that are open. */
export class Watches {
  readonly #open = new Set<OpenWatch>();

  constructor(
    private readonly store: ObjectStore,
    private readonly settings: () => GardenSettings,
    private readonly clock: Clock,
  ) {}

  get count(): number {
    return this.#open.size;
  }

  /** Ends every watch, as a server does when it restarts. */
  dropAll(): void {
    for (const watch of [...this.#open]) watch.end();
  }

  /** Lets every watch that is open now hear nothing more, as over a connection that died without a word. */
  stallAll(): void {
    for (const watch of this.#open) watch.isStalled = true;
  }

  close(): void {
    this.dropAll();
  }

  /** @throws StatusError 400; 410 when expiry is told by status */
  serve(request: RequestInfo, res: Response): void {
    const { kind, query } = request;
    const selection = selectionOf(request);
    const timeoutMs = 1000 * (readCount(query, 'timeoutSeconds') || randomInt(1800, 3600));
    const render = wantsTable(res.req.get('Accept') ?? '') ? this.#tableLine(request) : plainLine;
    const first = this.#firstLines(request, selection, render);
    res.status(200).set('Content-Type', 'application/json');
    res.flushHeaders();
    const send = (line: string): void => {
      if (watch.isStalled) return;
      res.write(line);
      if (res.writableLength > UNREAD_BYTES_MAX) end();
    };
    const unsubscribe = this.store.subscribe(kind.plural, (event) => {
      const change = changeFor(event, selection);
      if (change !== null) send(render === plainLine ? sharedLine(change) : render(change));
    });
    const bookmark = (): void => send(bookmarkLine(kind, this.store.version));
    const bookmarks =
      query.get('allowWatchBookmarks') === 'true' ? setInterval(bookmark, this.settings().bookmarkMs) : null;
    const timer = setTimeout(() => {
      if (watch.isStalled) return;
      if (bookmarks !== null) bookmark();
      end();
    }, timeoutMs);
    const end = (): void => {
      unsubscribe();
      clearTimeout(timer);
      if (bookmarks !== null) clearInterval(bookmarks);
      this.#open.delete(watch);
      res.end();
    };
    const watch: OpenWatch = { end, isStalled: false };
    this.#open.add(watch);
    res.on('close', end);
    for (const line of first.lines) send(line);
    if (first.isLast) end();
  }

  /** What a watch begins with: everything there is, what happened since its version, or that this is not known. */
  #firstLines(
    { kind, query }: RequestInfo,
    selection: Selection,
    render: (change: Change) => string,
  ): { lines: string[]; isLast: boolean } {
    const text = query.get('resourceVersion') ?? '';
    if (text === '' || text === '0') {
      const present = this.store.list(kind.plural).filter((held) => selection.matches(held));
      return { lines: present.map((held) => render({ type: 'ADDED', held })), isLast: false };
    }
    try {
      const events = this.store.eventsSince(kind.plural, parseVersion(text));
      const changes = events.flatMap((event) => changeFor(event, selection) ?? []);
      return { lines: changes.map(render), isLast: false };
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 410 || this.settings().expiry === 'status') throw error;
      return { lines: [`${JSON.stringify({ type: 'ERROR', object: error.toStatus() })}\n`], isLast: true };
    }
  }

  /** Each event as a table of one row, for callers that print. */
  #tableLine({ kind, query }: RequestInfo): (change: Change) => string {
    const includeObject = query.get('includeObject');
    return ({ type, held }) => {
      const metadata = { resourceVersion: String(held.resourceVersion) };
      const options = { metadata, includeObject, nowMs: this.clock.now() };
      return `${JSON.stringify({ type, object: tableOf(kind.columns, [objectOf(held)], options) })}\n`;
    };
  }
}

/** What an event is for one watch. */
interface Change {
  readonly type: PastEvent['type'];
  readonly held: Held;
}

const plainLine = ({ type, held }: Change): string => `{"type":"${type}","object":${held.text}}\n`;

const lines = new WeakMap<Held, string>();

/** The line of a change that just happened: made once, however many watch. */
function sharedLine(change: Change): string {
  if (change.type !== 'MODIFIED') return plainLine(change);
  const line = lines.get(change.held) ?? plainLine(change);
  lines.set(change.held, line);
  return line;
}

/** An object that begins or ceases to match is added or deleted for this watch, whatever became of it. */
function changeFor({ type, held, previous }: PastEvent, selection: Selection): Change | null {
  const before = previous !== null && selection.matches(previous);
  const after = type !== 'DELETED' && selection.matches(held);
  if (!before && !after) return null;
  if (before && after) return { type: 'MODIFIED', held };
  if (after) return { type: 'ADDED', held };
  return { type: 'DELETED', held: type === 'DELETED' ? held : lastSeen(previous as Held, held.resourceVersion) };
}

/** What a watch saw last of an object, under the version at which it lost sight of it. */
function lastSeen(previous: Held, resourceVersion: number): Held {
  const object = objectOf(previous);
  object.metadata.resourceVersion = String(resourceVersion);
  return { ...previous, resourceVersion, text: JSON.stringify(object) };
}

function bookmarkLine(kind: Kind, version: number): string {
  const object = { kind: kind.kind, apiVersion: apiVersionOf(kind), metadata: { resourceVersion: String(version) } };
  return `${JSON.stringify({ type: 'BOOKMARK', object })}\n`;
}
