import type { Shoot } from '../garden/shoots/shoot.js';
import type { Journal } from '../journal.js';
import type { Labels } from '../labels.js';
import { notFound, StatusError } from './errors.js';
import { clusterKinds, gardenKinds, type Kind, shoots } from './kinds.js';
import type { KubeObject } from './object.js';

/** Names one object of the garden or of the cluster of a Shoot. */
export interface Ref<T extends KubeObject = KubeObject> {
  readonly cluster: string;
  readonly kind: Kind<T>;
  /** Empty for kinds without namespaces. */
  readonly namespace: string;
  readonly name: string;
}

/** One state of an object. */
export interface Held<T extends KubeObject = KubeObject> extends Ref<T> {
  readonly uid: string;
  readonly labels: Labels;
  /** Never changed in place: a change is put as another object. */
  readonly object: T;
}

export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: number;
  /** The new state. For a deletion, the last state with the version of the deletion. */
  readonly held: Held;
  readonly previous: Held | null;
}

type Listener = (event: StoreEvent) => void;
type Place = Pick<Ref, 'namespace' | 'name'>;
type Collection = Pick<Ref, 'cluster' | 'kind'>;

/** The garden itself, among the names of clusters. */
export const GARDEN = '';

export const inGarden = <T extends KubeObject>(kind: Kind<T>, namespace: string, name: string): Ref<T> => ({
  cluster: GARDEN,
  kind,
  namespace,
  name,
});

export const keyOf = ({ namespace, name }: Place): string => `${namespace}/${name}`;

/** The name of the cluster of a Shoot. */
export const clusterOf = keyOf;

export function shootOf(store: ObjectStore, cluster: string): Held<Shoot> | null {
  const [namespace = '', name = ''] = cluster.split('/');
  return store.find(inGarden(shoots, namespace, name));
}

const collectionOf = ({ cluster, kind: { group, plural } }: Collection): string => `${cluster} ${group}/${plural}`;

export const areSameCollection = (one: Collection, other: Collection): boolean =>
  collectionOf(one) === collectionOf(other);

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
      if (key === VERSION) this.#version = value as number;
      else this.#keep(refIn(key, value as KubeObject), value as KubeObject);
    }
    this.forgetHistory();
  }

  get version(): number {
    return this.#version;
  }

  find<T extends KubeObject>(ref: Ref<T>): Held<T> | null {
    return (this.#held.get(collectionOf(ref))?.get(keyOf(ref)) as Held<T> | undefined) ?? null;
  }

  /** @throws StatusError 404 */
  get<T extends KubeObject>(ref: Ref<T>): Held<T> {
    const held = this.find(ref);
    if (held === null) throw notFound(ref.kind, ref.name);
    return held;
  }

  /** All objects of a kind, by namespace and name. */
  list<T extends KubeObject>(kind: Kind<T>, cluster = GARDEN): Held<T>[] {
    const entries = [...(this.#held.get(collectionOf({ cluster, kind })) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
    return entries.map(([, held]) => held as Held<T>);
  }

  /** Stores an object as a new version. The journal has it before memory, so that nothing visible can be lost. */
  put<T extends KubeObject>(ref: Ref<T>, next: T): Held<T> {
    const version = this.#version + 1;
    const object = versioned(next, version);
    this.journal.keep([`${collectionOf(ref)} ${keyOf(ref)}`, object], [VERSION, version]);
    const previous = this.find(ref);
    const held = this.#keep(ref, object);
    this.#report({ type: previous === null ? 'ADDED' : 'MODIFIED', version, held, previous });
    return held;
  }

  remove(ref: Ref): void {
    const previous = this.find(ref);
    if (previous === null) return;
    const version = this.#version + 1;
    this.journal.keep([`${collectionOf(ref)} ${keyOf(ref)}`, null], [VERSION, version]);
    this.#held.get(collectionOf(ref))?.delete(keyOf(ref));
    const held = { ...previous, object: versioned(previous.object, version) };
    this.#report({ type: 'DELETED', version, held, previous });
  }

  /** Removes all objects of the cluster of a Shoot. */
  removeCluster(cluster: string): void {
    for (const [collection, held] of this.#held) {
      if (!collection.startsWith(`${cluster} `)) continue;
      for (const each of [...held.values()]) this.remove(each);
      this.#held.delete(collection);
    }
  }

  /** The events after a version, oldest first. @throws StatusError 410 if they are not known any more */
  eventsSince(collection: Collection, version: number): StoreEvent[] {
    if (version < this.#reachable) {
      throw new StatusError(410, `too old resource version: ${version} (${this.#reachable})`);
    }
    return this.#events.filter(({ version: at, held }) => at > version && areSameCollection(held, collection));
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

  #keep<T extends KubeObject>({ cluster, kind, namespace, name }: Ref<T>, object: T): Held<T> {
    const { uid = '', labels = {} } = object.metadata;
    const held = { cluster, kind, namespace, name, uid, labels, object };
    const collection = this.#held.get(collectionOf(held)) ?? new Map<string, Held>();
    this.#held.set(collectionOf(held), collection.set(keyOf(held), held));
    return held;
  }
}

const versioned = <T extends KubeObject>(object: T, version: number): T => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(version) },
});

/** Reads a key of the journal. Kinds with a definition are not known: their objects tell what they are. */
function refIn(key: string, { apiVersion, kind: ofObject }: KubeObject): Ref {
  const [, cluster = '', group = '', plural = '', namespace = '', name = ''] =
    /^(.*) (.*)\/(.*) (.*)\/(.*)$/.exec(key) ?? [];
  const known = cluster === GARDEN ? gardenKinds : clusterKinds;
  const kind = known.find((each) => each.group === group && each.plural === plural);
  const version = apiVersion.replace(/^.*\//, '');
  const other = { group, version, plural, kind: ofObject, namespaced: namespace !== '' };
  return { cluster, kind: kind ?? other, namespace, name };
}
