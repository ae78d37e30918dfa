import type { Journal } from '../journal.js';
import type { Labels } from '../labels.js';
import { StatusError } from './kube/errors.js';
import type { KubeObject } from './kube/object.js';
import type { Simulation } from './shoots/shoot.js';

/** One state of an object. Immutable: objects are parsed from the text. */
export interface Held {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Labels;
  /** JSON of the object. Lists and watches send it unchanged. */
  readonly text: string;
  /** Of a Shoot: kept with the object but never served. */
  readonly simulation: Simulation;
}

export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: number;
  /** The new state. For a deletion, the last state with the version of the deletion. */
  readonly held: Held;
  readonly previous: Held | null;
}

type Listener = (event: StoreEvent) => void;

interface Shelf {
  readonly held: Map<string, Held>;
  events: StoreEvent[];
  /** Oldest version that a watch can resume from. */
  reachable: number;
  readonly listeners: Set<Listener>;
}

export const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

export const placeOf = (key: string): { namespace: string; name: string } => {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
};

/** A mutable copy of the object. */
export const objectOf = <T extends KubeObject>(held: Held): T => JSON.parse(held.text) as T;

/** Number of past events of a resource that watches can resume from. */
const EVENTS_MAX = 5000;
const VERSION = 'version';

/** All objects of the garden under one increasing version, with the recent events of each resource. */
export class ObjectStore {
  readonly #shelves = new Map<string, Shelf>();
  readonly #journal: Journal;
  #version = 1;
  #floor = 0;

  constructor(journal: Journal) {
    this.#journal = journal;
    for (const [key, value] of journal.kept) {
      if (key === VERSION) this.#version = value as number;
      else this.#restore(key, value as Kept);
    }
    this.forgetHistory();
  }

  get version(): number {
    return this.#version;
  }

  get(resource: string, namespace: string, name: string): Held | null {
    return this.#shelf(resource).held.get(keyOf(namespace, name)) ?? null;
  }

  /** All objects of a resource, by namespace and name. */
  list(resource: string): Held[] {
    const entries = [...this.#shelf(resource).held].sort(([a], [b]) => (a < b ? -1 : 1));
    return entries.map(([, held]) => held);
  }

  /** Stores an object as a new version, which is written into its metadata. @param simulation undefined keeps it */
  put(resource: string, object: KubeObject, simulation?: Simulation): Held {
    const { namespace = '', name = '' } = object.metadata;
    const previous = this.get(resource, namespace, name);
    const version = this.#version + 1;
    object.metadata.resourceVersion = String(version);
    const held = heldOf(object, simulation ?? previous?.simulation ?? {});
    this.#commit(resource, { type: previous === null ? 'ADDED' : 'MODIFIED', version, held, previous });
    return held;
  }

  /** Changes what is kept with an object. Sends no event and keeps the version. */
  simulate(resource: string, { namespace, name }: Held, simulation: Simulation): Held | null {
    const current = this.get(resource, namespace, name);
    if (current === null) return null;
    const held = { ...current, simulation };
    this.#keep(resource, held);
    this.#shelf(resource).held.set(keyOf(namespace, name), held);
    return held;
  }

  remove(resource: string, namespace: string, name: string): void {
    const previous = this.get(resource, namespace, name);
    if (previous === null) return;
    const version = this.#version + 1;
    const object = objectOf(previous);
    object.metadata.resourceVersion = String(version);
    this.#commit(resource, { type: 'DELETED', version, held: heldOf(object, {}), previous });
  }

  /** The events after a version, oldest first. @throws StatusError 410 if they are not known any more */
  eventsSince(resource: string, version: number): StoreEvent[] {
    const { events, reachable } = this.#shelf(resource);
    if (version < reachable)
      throw new StatusError(410, 'Expired', `too old resource version: ${version} (${reachable})`);
    return events.filter((event) => event.version > version);
  }

  /** @returns a function that ends the subscription */
  subscribe(resource: string, listener: Listener): () => void {
    const { listeners } = this.#shelf(resource);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Watches that resume from an earlier version get 410. */
  forgetHistory(): void {
    this.#floor = this.#version;
    for (const shelf of this.#shelves.values()) Object.assign(shelf, { events: [], reachable: this.#floor });
  }

  /** Writes the journal before memory, so that nothing visible can be lost. */
  #commit(resource: string, event: StoreEvent): void {
    const shelf = this.#shelf(resource);
    const { namespace, name } = event.held;
    if (event.type === 'DELETED') {
      this.#journal.keep([`${resource} ${keyOf(namespace, name)}`, null], [VERSION, event.version]);
      shelf.held.delete(keyOf(namespace, name));
    } else {
      this.#keep(resource, event.held, [VERSION, event.version]);
      shelf.held.set(keyOf(namespace, name), event.held);
    }
    this.#version = event.version;
    shelf.events.push(event);
    if (shelf.events.length > 2 * EVENTS_MAX) {
      shelf.reachable = shelf.events.splice(0, EVENTS_MAX).at(-1)?.version ?? 0;
    }
    for (const listener of [...shelf.listeners]) listener(event);
  }

  #keep(resource: string, { namespace, name, text, simulation }: Held, ...more: [string, unknown][]): void {
    this.#journal.keep([`${resource} ${keyOf(namespace, name)}`, { text, simulation } satisfies Kept], ...more);
  }

  #restore(key: string, { text, simulation }: Kept): void {
    const [resource = '', place = ''] = key.split(' ');
    this.#shelf(resource).held.set(place, heldOf(JSON.parse(text) as KubeObject, simulation));
  }

  #shelf(resource: string): Shelf {
    const known = this.#shelves.get(resource);
    if (known !== undefined) return known;
    const shelf: Shelf = { held: new Map(), events: [], reachable: this.#floor, listeners: new Set() };
    this.#shelves.set(resource, shelf);
    return shelf;
  }
}

type Kept = Pick<Held, 'text' | 'simulation'>;

function heldOf(object: KubeObject, simulation: Simulation): Held {
  const { namespace = '', name = '', uid = '', labels = {} } = object.metadata;
  return { namespace, name, uid, labels, text: JSON.stringify(object), simulation };
}
