import type { KubeObject, Labels } from '../kube/object.js';

/** One state of an object. Never changed: objects are read from the text. */
export interface Held {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: number;
  readonly labels: Labels;
  /** Values that field selectors may ask for. */
  readonly fields: Readonly<Record<string, string>>;
  /** The JSON of the object: lists and watches send it as it is. */
  readonly text: string;
  /** Private to whoever simulates the object; kept with it and never served. */
  readonly hidden: string | null;
}

export interface StoreEvent {
  readonly resource: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resourceVersion: number;
  /** The new state; of a deletion the last state, under the version of the deletion. */
  readonly held: Held;
  /** The same as {@link held}, for listeners to read and not to keep. */
  readonly object: KubeObject;
  readonly previous: Held | null;
}

/** What a line of the journal says: the state of one object from this version on. */
export interface StoreRecord {
  readonly resource: string;
  readonly version: number;
  readonly key: string;
  /** Null: the object is gone. */
  readonly object: KubeObject | null;
  /** When it went, in milliseconds since 1970. */
  readonly at?: number;
  readonly hidden?: unknown;
}

/** An event of the history: objects are kept as text only. */
export type PastEvent = Omit<StoreEvent, 'object'>;

export const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

/** A copy of the object, for its caller to change. */
export const objectOf = <T extends KubeObject>(held: Held): T => JSON.parse(held.text) as T;

const shared = new WeakMap<Held, KubeObject>();

/** The object for reading only: everybody gets the same. For what is read far more often than it changes. */
export function sharedObjectOf<T extends KubeObject>(held: Held): Readonly<T> {
  let object = shared.get(held);
  if (object === undefined) {
    object = objectOf(held);
    shared.set(held, object);
  }
  return object as T;
}

const headOf = (resource: string, key: string, version: number): string =>
  `{"resource":${JSON.stringify(resource)},"version":${version},"key":${JSON.stringify(key)}`;

/**
 * The line of a state in the journal. Written by hand around the text that is there already: an object is turned into text once per
 * change.
 */
export function lineOf(resource: string, key: string, version: number, { hidden, text }: Held): string {
  return `${headOf(resource, key, version)}${hidden === null ? '' : `,"hidden":${hidden}`},"object":${text}}`;
}

/** The line that tells that an object is gone. @param at milliseconds since 1970 */
export const goneLineOf = (resource: string, key: string, version: number, at: number): string =>
  `${headOf(resource, key, version)},"at":${at},"object":null}`;
