import type { Journal } from '../journal.js';
import type { Labels } from '../labels.js';
import { StatusError } from './errors.js';
import type { Kind } from './kinds.js';
import type { KubeObject } from './object.js';

/** One state of an object. */
export interface Held {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Labels;
  /** Never changed in place: a change is put as another object. */
  readonly object: KubeObject;
  /** Its JSON. Lists and watches send it unchanged. */
  readonly text: string;
}

export interface StoreEvent {
  readonly collection: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: number;
  /** The new state. For a deletion, the last state with the version of the deletion. */
  readonly held: Held;
  readonly previous: Held | null;
}

type Listener = (event: StoreEvent) => void;

export const keyOf = ({ namespace, name }: Pick<Held, 'namespace' | 'name'>): string => `${namespace}/${name}`;

/** The name of a collection: the plural in the garden, and with its group in the cluster of a Shoot. @param cluster see `clusterOf` */
export const collectionOf = (cluster: string, { group, plural }: Pick<Kind, 'group' | 'plural'>): string =>
  cluster === GARDEN ? plural : `${cluster}:${group}/${plural}`;

/** The name of the cluster of a Shoot whose collection of this kind it is; null for every other collection. */
export const clusterIn = (collection: string, { group, plural }: Pick<Kind, 'group' | 'plural'>): string | null => {
  const end = `:${group}/${plural}`;
  return collection.endsWith(end) ? collection.slice(0, -end.length) : null;
};

/** The garden itself, among the names of clusters. */
export const GARDEN = '';

/** The name of the cluster of a Shoot. */
export const clusterOf = keyOf;

export const objectOf = <T extends KubeObject>(held: Held): T => held.object as T;

/** Number of past events that watches can resume from. */
const EVENTS_MAX = 20_000;
const VERSION = 'version';

/** All objects of the garden and of the clusters of its Shoots under one increasing version, with the recent events. */
export class ObjectStore {
  /** Objects by collection, then by namespace and name. */
  readonly #held = new Map<string, Map<string, Held>>();
  readonly #listeners = new Set<Listener>();
  #events: StoreEvent[] = [];
  #version = 1;
  /** Oldest version that a watch can resume from. */
  #reachable = 0;

  constructor(private readonly journal: Journal) {
    for (const [key, value] of journal.kept) {
      const [collection = '', place = ''] = key.split(' ');
      if (key === VERSION) this.#version = value as number;
      else this.#of(collection).set(place, heldOf(value as KubeObject));
    }
    this.forgetHistory();
  }

  get version(): number {
    return this.#version;
  }

  get(collection: string, namespace: string, name: string): Held | null {
    return this.#held.get(collection)?.get(keyOf({ namespace, name })) ?? null;
  }

  /** All objects of a collection, by namespace and name. */
  list(collection: string): Held[] {
    const entries = [...(this.#held.get(collection) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
    return entries.map(([, held]) => held);
  }

  /** Stores an object as a new version. The journal has it before memory, so that nothing visible can be lost. */
  put(collection: string, object: KubeObject): Held {
    const version = this.#version + 1;
    const held = heldOf(versioned(object, version));
    const previous = this.get(collection, held.namespace, held.name);
    this.journal.keep([`${collection} ${keyOf(held)}`, held.object], [VERSION, version]);
    this.#of(collection).set(keyOf(held), held);
    this.#report({ collection, type: previous === null ? 'ADDED' : 'MODIFIED', version, held, previous });
    return held;
  }

  remove(collection: string, namespace: string, name: string): void {
    const previous = this.get(collection, namespace, name);
    if (previous === null) return;
    const version = this.#version + 1;
    this.journal.keep([`${collection} ${keyOf(previous)}`, null], [VERSION, version]);
    this.#of(collection).delete(keyOf(previous));
    const held = heldOf(versioned(previous.object, version));
    this.#report({ collection, type: 'DELETED', version, held, previous });
  }

  /** Removes all objects of the cluster of a Shoot. */
  removeCluster(cluster: string): void {
    for (const collection of [...this.#held.keys()].filter((name) => name.startsWith(`${cluster}:`))) {
      for (const { namespace, name } of this.list(collection)) this.remove(collection, namespace, name);
      this.#held.delete(collection);
    }
  }

  /** The events after a version, oldest first. @throws StatusError 410 if they are not known any more */
  eventsSince(collection: string, version: number): StoreEvent[] {
    if (version < this.#reachable) {
      throw new StatusError(410, `too old resource version: ${version} (${this.#reachable})`);
    }
    return this.#events.filter((event) => event.collection === collection && event.version > version);
  }

  /** Calls back for each change of any object. @returns a function that ends it */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Watches that resume from an earlier version get 410. */
  forgetHistory(): void {
    this.#events = [];
    this.#reachable = this.#version;
  }

  #report(event: StoreEvent): void {
    this.#version = event.version;
    this.#events.push(event);
    if (this.#events.length > 2 * EVENTS_MAX) this.#reachable = this.#events.splice(0, EVENTS_MAX).at(-1)?.version ?? 0;
    for (const listener of [...this.#listeners]) listener(event);
  }

  #of(collection: string): Map<string, Held> {
    const held = this.#held.get(collection) ?? new Map<string, Held>();
    this.#held.set(collection, held);
    return held;
  }
}

const versioned = (object: KubeObject, version: number): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(version) },
});

function heldOf(object: KubeObject): Held {
  const { namespace = '', name = '', uid = '', labels = {} } = object.metadata;
  return { namespace, name, uid, labels, object, text: JSON.stringify(object) };
}
