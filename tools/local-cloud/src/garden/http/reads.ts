import type { Response } from 'express';
import { apiVersionOf } from '../kinds/kind.js';
import { badRequest, expired, StatusError } from '../kube/errors.js';
import type { Held, ObjectStore, StoreEvent } from '../store.js';
import { type Asked, readCount, type Selection, selectionOf } from './requests.js';

/** What is left of lists that are read in pages. Their pages all show the moment of the first one. */
interface Snapshot {
  readonly version: number;
  readonly rest: readonly Held[];
}

const SNAPSHOTS_MAX = 100;

/** @returns a function that renders one page of a list as JSON. It throws StatusError 400, 410 for a page that is not kept any more */
export function listPages(store: ObjectStore): (asked: Asked) => string {
  const snapshots = new Map<string, Snapshot>();
  let made = 0;
  return (asked) => {
    const { kind, query } = asked;
    const limit = readCount(query, 'limit') || Number.POSITIVE_INFINITY;
    const token = query.get('continue') ?? '';
    const first = (): Snapshot => ({
      version: store.version,
      rest: store.list(kind.plural).filter(selectionOf(asked)),
    });
    const snapshot = token === '' ? first() : snapshots.get(token);
    if (snapshot === undefined) throw expired('The provided continue parameter is too old');
    const { version, rest } = snapshot;
    const metadata: Record<string, string> = { resourceVersion: String(version) };
    if (rest.length > limit) {
      made += 1;
      metadata.continue = `page-${made}`;
      snapshots.set(metadata.continue, { version, rest: rest.slice(limit) });
      if (snapshots.size > SNAPSHOTS_MAX) snapshots.delete([...snapshots.keys()][0] ?? '');
    }
    const head = { kind: `${kind.kind}List`, apiVersion: apiVersionOf(kind), metadata };
    const texts = rest.slice(0, limit).map(({ text }) => text);
    return `${JSON.stringify(head).slice(0, -1)},"items":[${texts.join(',')}]}`;
  };
}

/** Maximum unread data of a watcher, in bytes. A watcher with more is dropped, as by a real server. */
const UNREAD_BYTES_MAX = 64 * 1024 * 1024;
const BOOKMARK_MS = 60_000;
const SECONDS_DEFAULT = 1800;

/** Serves watches and knows the open ones. */
export class Watches {
  readonly #ends = new Set<() => void>();

  constructor(private readonly store: ObjectStore) {}

  get count(): number {
    return this.#ends.size;
  }

  /** Ends every watch, as a restart does. */
  dropAll(): void {
    for (const end of [...this.#ends]) end();
  }

  /** @throws StatusError 400 */
  serve(asked: Asked, res: Response): void {
    const { kind, query } = asked;
    const selection = selectionOf(asked);
    const { lines, isLast } = this.#firstLines(asked, selection);
    res.status(200).set('Content-Type', 'application/json');
    res.flushHeaders();
    const send = (line: string | null): void => {
      if (line !== null) res.write(line);
      if (res.writableLength > UNREAD_BYTES_MAX) end();
    };
    const bookmark = (): void => {
      const metadata = { resourceVersion: String(this.store.version) };
      const object = { kind: kind.kind, apiVersion: apiVersionOf(kind), metadata };
      if (query.get('allowWatchBookmarks') === 'true') send(rendered('BOOKMARK', JSON.stringify(object)));
    };
    const unsubscribe = this.store.subscribe(kind.plural, (event) => send(lineOf(event, selection)));
    const bookmarks = setInterval(bookmark, BOOKMARK_MS);
    const endsAfterMs = 1000 * (readCount(query, 'timeoutSeconds') || SECONDS_DEFAULT);
    const timeout = setTimeout(() => {
      bookmark();
      end();
    }, endsAfterMs);
    const end = (): void => {
      unsubscribe();
      clearTimeout(timeout);
      clearInterval(bookmarks);
      this.#ends.delete(end);
      res.end();
    };
    this.#ends.add(end);
    res.on('close', end);
    for (const line of lines) send(line);
    if (isLast) end();
  }

  /** The events since a version, or that they are gone; without a version the present objects. */
  #firstLines({ kind, query }: Asked, selection: Selection): { lines: (string | null)[]; isLast: boolean } {
    const version = query.get('resourceVersion') ?? '';
    if (version === '') {
      const present = this.store.list(kind.plural).filter(selection);
      return { lines: present.map(({ text }) => rendered('ADDED', text)), isLast: false };
    }
    if (!/^\d{1,15}$/.test(version)) throw badRequest(`invalid resource version ${JSON.stringify(version)}`);
    try {
      const events = this.store.eventsSince(kind.plural, Number(version));
      return { lines: events.map((event) => lineOf(event, selection)), isLast: false };
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return { lines: [rendered('ERROR', JSON.stringify(error.toStatus()))], isLast: true };
    }
  }
}

const rendered = (type: string, object: string): string => `{"type":"${type}","object":${object}}\n`;

/** An object that begins or ceases to be selected is ADDED or DELETED for a watch. @returns null if it is not selected */
function lineOf({ type, held, previous }: StoreEvent, selection: Selection): string | null {
  const before = previous !== null && selection(previous);
  const after = type !== 'DELETED' && selection(held);
  if (!before && !after) return null;
  if (before && after) return rendered('MODIFIED', held.text);
  return rendered(after ? 'ADDED' : 'DELETED', held.text);
}
