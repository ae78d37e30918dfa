import type { Journal } from '../journal.js';
import type { Labels } from '../labels.js';
import { expired } from './errors.js';
import type { KubeObject } from './object.js';
import type { Simulation } from './shoots/shoot.js';

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
  /** The course of a Shoot, kept with the object but never served. */
  readonly simulation: Simulation;
}

export interface StoreEvent {
  /** Plural. */
  readonly resource: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: number;
  /** The new state. For a deletion, the last state with the version of the deletion. */
  readonly held: Held;
  readonly previous: Held | null;
}

type Listener = (event: StoreEvent) => void;
type Kept = Pick<Held, 'object' | 'simulation'>;

export const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

export const objectOf = <T extends KubeObject>(held: Held): T => held.object as T;

/** Number of past events that watches can resume from. */
const EVENTS_MAX = 20_000;
const VERSION = 'version';

/** All objects of the garden under one increasing version, with the recent events. */
export class ObjectStore {
  /** Objects by resource, then by namespace and name. */
  readonly #held = new Map<string, Map<string, Held>>();
  readonly #listeners = new Set<Listener>();
  #events: StoreEvent[] = [];
  #version = 1;
  /** Oldest version that a watch can resume from. */
  #reachable = 0;

  constructor(private readonly journal: Journal) {
    for (const [key, value] of journal.kept) {
      const [resource = '', place = ''] = key.split(' ');
      const { object, simulation } = value as Kept;
      if (key === VERSION) this.#version = value as number;
      else this.#of(resource).set(place, heldOf(object, simulation));
    }
    this.forgetHistory();
  }

  get version(): number {
    return this.#version;
  }

  get(resource: string, namespace: string, name: string): Held | null {
    return this.#of(resource).get(keyOf(namespace, name)) ?? null;
  }

  /** All objects of a resource, by namespace and name. */
  list(resource: string): Held[] {
    const entries = [...this.#of(resource)].sort(([a], [b]) => (a < b ? -1 : 1));
    return entries.map(([, held]) => held);
  }

  /** Stores an object as a new version. @param simulation undefined keeps it */
  put(resource: string, object: KubeObject, simulation?: Simulation): Held {
    const { namespace = '', name = '' } = object.metadata;
    const previous = this.get(resource, namespace, name);
    const version = this.#version + 1;
    const held = heldOf(versioned(object, version), simulation ?? previous?.simulation ?? {});
    this.#keep(resource, held, [VERSION, version]);
    this.#report({ resource, type: previous === null ? 'ADDED' : 'MODIFIED', version, held, previous });
    return held;
  }

  /** Changes what is kept with an object. Sends no event and keeps the version. */
  simulate(resource: string, { namespace, name }: Held, simulation: Simulation): Held | null {
    const current = this.get(resource, namespace, name);
    return current && this.#keep(resource, { ...current, simulation });
  }

  remove(resource: string, namespace: string, name: string): void {
    const previous = this.get(resource, namespace, name);
    if (previous === null) return;
    const version = this.#version + 1;
    this.journal.keep([`${resource} ${keyOf(namespace, name)}`, null], [VERSION, version]);
    this.#of(resource).delete(keyOf(namespace, name));
    const held = heldOf(versioned(previous.object, version), {});
    this.#report({ resource, type: 'DELETED', version, held, previous });
  }

  /** The events after a version, oldest first. @throws StatusError 410 if they are not known any more */
  eventsSince(resource: string, version: number): StoreEvent[] {
    if (version < this.#reachable) throw expired(`too old resource version: ${version} (${this.#reachable})`);
    return this.#events.filter((event) => event.resource === resource && event.version > version);
  }

  /** @returns a function that ends the subscription */
  subscribe(resource: string, listener: Listener): () => void {
    const heard: Listener = (event) => {
      if (event.resource === resource) listener(event);
    };
    this.#listeners.add(heard);
    return () => void this.#listeners.delete(heard);
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

  /** Writes the journal before memory, so that nothing visible can be lost. */
  #keep(resource: string, held: Held, ...more: [string, unknown][]): Held {
    const { namespace, name, object, simulation } = held;
    this.journal.keep([`${resource} ${keyOf(namespace, name)}`, { object, simulation } satisfies Kept], ...more);
    this.#of(resource).set(keyOf(namespace, name), held);
    return held;
  }

  #of(resource: string): Map<string, Held> {
    const held = this.#held.get(resource) ?? new Map<string, Held>();
    this.#held.set(resource, held);
    return held;
  }
}

const versioned = (object: KubeObject, version: number): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(version) },
});

function heldOf(object: KubeObject, simulation: Simulation): Held {
  const { namespace = '', name = '', uid = '', labels = {} } = object.metadata;
  return { namespace, name, uid, labels, object, text: JSON.stringify(object), simulation };
}
