import type { Request, Response } from 'express';
import { StatusError } from './errors.js';
import { apiVersionOf, type Kind } from './kinds.js';
import { asked, type Selection, selectionOf } from './requests.js';
import { keyOf, type ObjectStore, type StoreEvent } from './store.js';

/** Renders one page of a list as JSON. All pages state the version of the first one, from which a watch misses nothing. */
export function listPage(store: ObjectStore, kind: Kind, req: Request): string {
  const limit = Number(asked(req, 'limit')) || Number.POSITIVE_INFINITY;
  const [, version = String(store.version), after = ''] = /^(\d+) (.*)$/.exec(asked(req, 'continue')) ?? [];
  const selects = selectionOf(req);
  const rest = store.list(kind.plural).filter((held) => keyOf(held.namespace, held.name) > after && selects(held));
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const isLast = page.length === rest.length || last === undefined;
  const next = isLast ? {} : { continue: `${version} ${keyOf(last.namespace, last.name)}` };
  const head = { kind: `${kind.kind}List`, apiVersion: apiVersionOf(kind) };
  const metadata = { resourceVersion: version, ...next };
  return `${JSON.stringify({ ...head, metadata }).slice(0, -1)},"items":[${page.map(({ text }) => text).join(',')}]}`;
}

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

  /** Sends the events since a version, then those that come. @throws StatusError 400 */
  serve(kind: Kind, req: Request, res: Response): void {
    const selection = selectionOf(req);
    res.status(200).set('Content-Type', 'application/json');
    res.flushHeaders();
    const send = (event: StoreEvent): void => {
      const line = lineOf(event, selection);
      if (line !== null) res.write(line);
    };
    const bookmark = (): void => {
      const metadata = { resourceVersion: String(this.store.version) };
      const object = { kind: kind.kind, apiVersion: apiVersionOf(kind), metadata };
      if (asked(req, 'allowWatchBookmarks') === 'true') res.write(rendered('BOOKMARK', JSON.stringify(object)));
    };
    try {
      for (const event of this.store.eventsSince(kind.plural, Number(asked(req, 'resourceVersion')))) send(event);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return void res.end(rendered('ERROR', JSON.stringify(error.toStatus())));
    }
    const unsubscribe = this.store.subscribe(kind.plural, send);
    const bookmarks = setInterval(bookmark, BOOKMARK_MS);
    const timeout = setTimeout(
      () => {
        bookmark();
        end();
      },
      1000 * (Number(asked(req, 'timeoutSeconds')) || SECONDS_DEFAULT),
    );
    const end = (): void => {
      unsubscribe();
      clearTimeout(timeout);
      clearInterval(bookmarks);
      this.#ends.delete(end);
      res.end();
    };
    this.#ends.add(end);
    res.on('close', end);
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
