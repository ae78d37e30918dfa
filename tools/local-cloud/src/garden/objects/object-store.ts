import type { KubeObject } from '../kube/object.js';
import { expired } from '../kube/status-error.js';
import {
  goneLineOf,
  type Held,
  keyOf,
  lineOf,
  objectOf,
  type PastEvent,
  type StoreEvent,
  type StoreRecord,
} from './held.js';

interface StoreOptions {
  /** Called before a change takes effect. A thrown error refuses the change. */
  readonly keep?: (line: string) => void;
  /** Number of events per resource kept for watches to resume from. */
  readonly historyLength: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface Shelf {
  /** In etcd's list order, by bytes. Null until needed again. */
  sortedKeys: readonly string[] | null;
  readonly held: Map<string, Held>;
  events: PastEvent[];
  /** Oldest version that watches and lists can use. */
  reachable: number;
  readonly listeners: Set<(event: StoreEvent) => void>;
}

/** Stores all objects under one increasing version, with the recent history of each resource. */
export class ObjectStore {
  readonly #options: StoreOptions;
  readonly #shelves = new Map<string, Shelf>();
  #version = 1;
  /** Oldest usable version of all resources. */
  #floor = 0;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  get version(): number {
    return this.#version;
  }

  get(resource: string, namespace: string, name: string): Held | null {
    return this.#shelf(resource).held.get(keyOf(namespace, name)) ?? null;
  }

  /**
   * Stores an object as a new version. The version is written into its metadata.
   *
   * @param hidden replaces the state stored with the object; undefined keeps it
   */
  put(resource: string, object: KubeObject, hidden?: unknown): Held {
    const { namespace = '', name = '' } = object.metadata;
    const shelf = this.#shelf(resource);
    const previous = shelf.held.get(keyOf(namespace, name)) ?? null;
    const version = this.#version + 1;
    object.metadata.resourceVersion = String(version);
    const held = describe(object, version, previous, hidden);
    this.#options.keep?.(lineOf(resource, keyOf(namespace, name), version, held));
    this.#commit(shelf, {
      resource,
      type: previous === null ? 'ADDED' : 'MODIFIED',
      resourceVersion: version,
      held,
      object,
      previous,
    });
    return held;
  }

  /** Changes the state stored with an object. Sends no event and keeps the version. */
  hide(resource: string, held: Held, hidden: unknown): void {
    const shelf = this.#shelf(resource);
    const key = keyOf(held.namespace, held.name);
    const current = shelf.held.get(key);
    if (current === undefined) return;
    const next = { ...current, hidden: JSON.stringify(hidden) };
    this.#options.keep?.(lineOf(resource, key, this.#version, next));
    shelf.held.set(key, next);
  }

  /** @returns the last state with the version of the deletion; null if there is no such object */
  remove(resource: string, namespace: string, name: string): Held | null {
    const shelf = this.#shelf(resource);
    const previous = shelf.held.get(keyOf(namespace, name));
    if (previous === undefined) return null;
    const version = this.#version + 1;
    const object = objectOf(previous);
    object.metadata.resourceVersion = String(version);
    const held = { ...previous, resourceVersion: version, text: JSON.stringify(object) };
    this.#options.keep?.(goneLineOf(resource, keyOf(namespace, name), version, this.#options.now()));
    this.#commit(shelf, { resource, type: 'DELETED', resourceVersion: version, held, object, previous });
    return held;
  }

  /**
   * Lists the states of a resource by namespace and name.
   *
   * @param at version of the list. Default: the current one
   * @throws StatusError 410 if the history does not reach back that far
   */
  list(resource: string, at = this.#version): readonly Held[] {
    const shelf = this.#shelf(resource);
    if (at < shelf.reachable) throw tooOld(at, shelf.reachable);
    const undone = new Map<string, Held | null>();
    for (let index = shelf.events.length - 1; index >= 0; index -= 1) {
      const event = shelf.events[index];
      if (event === undefined || event.resourceVersion <= at) break;
      undone.set(keyOf(event.held.namespace, event.held.name), event.previous);
    }
    if (undone.size === 0) return keysOf(shelf).map((key) => shelf.held.get(key) as Held);
    const keys = [...new Set([...shelf.held.keys(), ...undone.keys()])].sort();
    return keys.flatMap((key) => (undone.has(key) ? undone.get(key) : shelf.held.get(key)) ?? []);
  }

  /**
   * The events after a version, oldest first.
   *
   * @throws StatusError 410 if the history does not reach back that far
   */
  eventsSince(resource: string, version: number): readonly PastEvent[] {
    const shelf = this.#shelf(resource);
    if (version < shelf.reachable) throw tooOld(version, shelf.reachable);
    const first = shelf.events.findIndex((event) => event.resourceVersion > version);
    return first < 0 ? [] : shelf.events.slice(first);
  }

  /** @returns a function that ends the subscription */
  subscribe(resource: string, listener: (event: StoreEvent) => void): () => void {
    const { listeners } = this.#shelf(resource);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Drops the history. Watches that resume from an earlier version get 410. */
  forgetHistory(): void {
    this.#floor = this.#version;
    for (const shelf of this.#shelves.values()) {
      shelf.events = [];
      shelf.reachable = this.#floor;
    }
  }

  /** Restores an entry of an earlier run. The history does not include it: see {@link forgetHistory}. */
  restore(record: StoreRecord): void {
    const shelf = this.#shelf(record.resource);
    this.#version = Math.max(this.#version, record.version);
    if (record.object === null) {
      forget(shelf, record.key);
      return;
    }
    const { resourceVersion = '0' } = record.object.metadata;
    const held = describe(record.object, Number(resourceVersion), null, record.hidden ?? null);
    keep(shelf, record.key, held);
  }

  /** The whole state, as the shortest journal that restores it. */
  *lines(): Iterable<string> {
    for (const [resource, shelf] of this.#shelves) {
      for (const [key, held] of shelf.held) yield lineOf(resource, key, this.#version, held);
    }
  }

  #commit(shelf: Shelf, event: StoreEvent): void {
    const key = keyOf(event.held.namespace, event.held.name);
    this.#version = event.resourceVersion;
    if (event.type === 'DELETED') forget(shelf, key);
    else keep(shelf, key, event.held);
    const { object: _, ...past } = event;
    shelf.events.push({ ...past, held: shown(past.held), previous: past.previous && shown(past.previous) });
    if (shelf.events.length > 2 * this.#options.historyLength) this.#trim(shelf);
    for (const listener of [...shelf.listeners]) listener(event);
  }

  #trim(shelf: Shelf): void {
    const surplus = shelf.events.length - this.#options.historyLength;
    if (surplus <= 0) return;
    const [last] = shelf.events.splice(0, surplus).slice(-1);
    if (last !== undefined) shelf.reachable = last.resourceVersion;
  }

  #shelf(resource: string): Shelf {
    let shelf = this.#shelves.get(resource);
    if (shelf === undefined) {
      shelf = {
        sortedKeys: null,
        held: new Map(),
        events: [],
        reachable: this.#floor,
        listeners: new Set(),
      };
      this.#shelves.set(resource, shelf);
    }
    return shelf;
  }
}

function keysOf(shelf: Shelf): readonly string[] {
  shelf.sortedKeys ??= [...shelf.held.keys()].sort();
  return shelf.sortedKeys;
}

function keep(shelf: Shelf, key: string, held: Held): void {
  if (!shelf.held.has(key)) shelf.sortedKeys = null;
  shelf.held.set(key, held);
}

function forget(shelf: Shelf, key: string): void {
  shelf.held.delete(key);
  shelf.sortedKeys = null;
}

/** @param hidden undefined keeps that of the previous state */
function describe(object: KubeObject, resourceVersion: number, previous: Held | null, hidden: unknown): Held {
  const { namespace = '', name = '', uid = '', labels = {} } = object.metadata;
  const kept = hidden === undefined ? (previous?.hidden ?? null) : hidden === null ? null : JSON.stringify(hidden);
  return { namespace, name, uid, resourceVersion, labels, text: JSON.stringify(object), hidden: kept };
}

/** The history keeps states without their simulation state, which only the present uses. */
const shown = (held: Held): Held => (held.hidden === null ? held : { ...held, hidden: null });

const tooOld = (asked: number, reachable: number) => expired(`too old resource version: ${asked} (${reachable})`);
