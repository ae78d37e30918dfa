import type { Request, Response } from 'express';
import { type LabelTest, parseLabelSelector } from '../labels.js';
import { badRequest, StatusError } from './errors.js';
import { apiVersionOf } from './kinds.js';
import { fieldAt, type KubeObject } from './object.js';
import { areSameCollection, type Held, keyOf, type ObjectStore, type Ref, type StoreEvent } from './store.js';

/** The text of a parameter of the query; empty if it is not given. */
export const asked = ({ query }: Request, name: string): string => String(query[name] ?? '');

type Selection = (held: Held) => boolean;

/** What the namespace and the selectors of a list or watch select. @throws StatusError 400 */
function selectionOf({ namespace }: Pick<Ref, 'namespace'>, req: Request): Selection {
  const hasLabels: LabelTest = parseLabelSelector(asked(req, 'labelSelector'), (part) =>
    badRequest(`unable to parse requirement: ${JSON.stringify(part)}`),
  );
  const [field = '', value] = asked(req, 'fieldSelector').split('=');
  const path = field.split('.');
  return (held) =>
    (namespace === '' || held.namespace === namespace) &&
    (field === '' || fieldAt(held.object, ...path) === value) &&
    hasLabels(held.labels);
}

/** What a list selects. @throws StatusError 400 */
export const listed = <T extends KubeObject>(store: ObjectStore, ref: Ref<T>, req: Request): Held<T>[] =>
  store.list(ref.kind, ref.cluster).filter(selectionOf(ref, req));

/** One page of a list. All pages state the version of the first one, from which a watch misses nothing. */
export function listPage(store: ObjectStore, ref: Ref, req: Request) {
  const limit = Number(asked(req, 'limit')) || Number.POSITIVE_INFINITY;
  const [, version = String(store.version), after = ''] = /^(\d+) (.*)$/.exec(asked(req, 'continue')) ?? [];
  const rest = listed(store, ref, req).filter((held) => keyOf(held) > after);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const isLast = page.length === rest.length || last === undefined;
  const next = isLast ? {} : { continue: `${version} ${keyOf(last)}` };
  return {
    kind: `${ref.kind.kind}List`,
    apiVersion: apiVersionOf(ref.kind),
    metadata: { resourceVersion: version, ...next },
    items: page.map(({ object }) => object),
  };
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
  serve(ref: Ref, req: Request, res: Response): void {
    const { kind } = ref;
    const selection = selectionOf(ref, req);
    res.status(200).set('Content-Type', 'application/json');
    res.flushHeaders();
    const send = (event: StoreEvent): void => {
      const line = areSameCollection(event.held, ref) ? lineOf(event, selection) : null;
      if (line !== null) res.write(line);
    };
    const bookmark = (): void => {
      const metadata = { resourceVersion: String(this.store.version) };
      const object = { kind: kind.kind, apiVersion: apiVersionOf(kind), metadata };
      if (asked(req, 'allowWatchBookmarks') === 'true') res.write(rendered('BOOKMARK', object));
    };
    try {
      for (const event of this.store.eventsSince(ref, Number(asked(req, 'resourceVersion')))) send(event);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return void res.end(rendered('ERROR', error.toStatus()));
    }
    const unsubscribe = this.store.subscribe(send);
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

const rendered = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;

/** An object that begins or ceases to be selected is ADDED or DELETED for a watch. @returns null if it is not selected */
function lineOf({ type, held, previous }: StoreEvent, selection: Selection): string | null {
  const before = previous !== null && selection(previous);
  const after = type !== 'DELETED' && selection(held);
  if (!before && !after) return null;
  if (before && after) return rendered('MODIFIED', held.object);
  return rendered(after ? 'ADDED' : 'DELETED', held.object);
}
