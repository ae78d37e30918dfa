import { randomInt } from 'node:crypto';
import type { Response } from 'express';
import type { GardenSettings } from '../garden-settings.js';
import { apiVersionOf, type Kind } from '../kinds/kind.js';
import { badRequest, StatusError } from '../kube/status-error.js';
import type { Held, PastEvent } from '../objects/held.js';
import type { ObjectStore } from '../objects/object-store.js';
import { readCount, type Selection, selectionOf } from './list.js';
import type { RequestInfo } from './routes.js';

/** Maximum unread data of a watcher, in bytes. A watcher with more is dropped, as by a real server. */
const UNREAD_BYTES_MAX = 64 * 1024 * 1024;

interface OpenWatch {
  end(): void;
}

/** Serves watches and tracks the open ones. */
export class Watches {
  readonly #open = new Set<OpenWatch>();

  constructor(
    private readonly store: ObjectStore,
    private readonly settings: () => GardenSettings,
  ) {}

  get count(): number {
    return this.#open.size;
  }

  /** Ends every watch, as a server restart does. */
  dropAll(): void {
    for (const watch of [...this.#open]) watch.end();
  }

  close(): void {
    this.dropAll();
  }

  /** @throws StatusError 400 */
  serve(request: RequestInfo, res: Response): void {
    const { kind, query } = request;
    const selection = selectionOf(request);
    const timeoutMs = 1000 * (readCount(query, 'timeoutSeconds') || randomInt(1800, 3600));
    const first = this.#firstLines(request, selection);
    res.status(200).set('Content-Type', 'application/json');
    res.flushHeaders();
    const send = (line: string): void => {
      res.write(line);
      if (res.writableLength > UNREAD_BYTES_MAX) end();
    };
    const unsubscribe = this.store.subscribe(kind.plural, (event) => {
      const change = changeFor(event, selection);
      if (change !== null) send(lineOf(change));
    });
    const bookmark = (): void => send(bookmarkLine(kind, this.store.version));
    const bookmarks =
      query.get('allowWatchBookmarks') === 'true' ? setInterval(bookmark, this.settings().bookmarkMs) : null;
    const timer = setTimeout(() => {
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
    const watch: OpenWatch = { end };
    this.#open.add(watch);
    res.on('close', end);
    for (const line of first.lines) send(line);
    if (first.isLast) end();
  }

  /** The first lines of a watch: the events since its version, or an error if it is gone; else the present objects. */
  #firstLines({ kind, query }: RequestInfo, selection: Selection): { lines: string[]; isLast: boolean } {
    const text = query.get('resourceVersion') ?? '';
    if (text === '') {
      const present = this.store.list(kind.plural).filter(selection);
      return { lines: present.map((held) => lineOf({ type: 'ADDED', held })), isLast: false };
    }
    try {
      if (!/^\d{1,15}$/.test(text)) throw badRequest(`invalid resource version ${JSON.stringify(text)}`);
      const events = this.store.eventsSince(kind.plural, Number(text));
      const changes = events.flatMap((event) => changeFor(event, selection) ?? []);
      return { lines: changes.map(lineOf), isLast: false };
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 410) throw error;
      return { lines: [`${JSON.stringify({ type: 'ERROR', object: error.toStatus() })}\n`], isLast: true };
    }
  }
}

/** An event as seen by one watch. */
interface Change {
  readonly type: PastEvent['type'];
  readonly held: Held;
}

const lineOf = ({ type, held }: Change): string => `{"type":"${type}","object":${held.text}}\n`;

/** An object that starts or stops matching the selection is ADDED or DELETED for this watch, in its new state. */
function changeFor({ type, held, previous }: PastEvent, selection: Selection): Change | null {
  const before = previous !== null && selection(previous);
  const after = type !== 'DELETED' && selection(held);
  if (!before && !after) return null;
  if (before && after) return { type: 'MODIFIED', held };
  if (after) return { type: 'ADDED', held };
  return { type: 'DELETED', held };
}

function bookmarkLine(kind: Kind, version: number): string {
  const object = { kind: kind.kind, apiVersion: apiVersionOf(kind), metadata: { resourceVersion: String(version) } };
  return `${JSON.stringify({ type: 'BOOKMARK', object })}\n`;
}
