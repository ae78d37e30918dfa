import type { Labels } from '../../labels.js';
import type { KubeObject } from '../kube/object.js';

/** One state of an object. Immutable: objects are parsed from the text. */
export interface Held {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: number;
  readonly labels: Labels;
  /** JSON of the object. Lists and watches send it unchanged. */
  readonly text: string;
  /** Simulation state, stored with the object but never served. */
  readonly hidden: string | null;
}

export interface StoreEvent {
  readonly resource: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resourceVersion: number;
  /** The new state. For a deletion, the last state with the version of the deletion. */
  readonly held: Held;
  /** The parsed {@link held}. Listeners must not change or keep it. */
  readonly object: KubeObject;
  readonly previous: Held | null;
}

/** A journal line: the state of one object from this version on. */
export interface StoreRecord {
  readonly resource: string;
  readonly version: number;
  readonly key: string;
  /** Null if the object was deleted. */
  readonly object: KubeObject | null;
  /** Time of the deletion, in milliseconds since 1970. */
  readonly at?: number;
  readonly hidden?: unknown;
}

/** A past event. Its objects are stored as text only. */
export type PastEvent = Omit<StoreEvent, 'object'>;

export const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

/** A mutable copy of the object. */
export const objectOf = <T extends KubeObject>(held: Held): T => JSON.parse(held.text) as T;

const headOf = (resource: string, key: string, version: number): string =>
  `{"resource":${JSON.stringify(resource)},"version":${version},"key":${JSON.stringify(key)}`;

/**
 * The journal line of a state. Built around the existing text, so that an object is serialized once per
 * change.
 */
export function lineOf(resource: string, key: string, version: number, { hidden, text }: Held): string {
  return `${headOf(resource, key, version)}${hidden === null ? '' : `,"hidden":${hidden}`},"object":${text}}`;
}

/** The journal line of a deletion. @param at milliseconds since 1970 */
export const goneLineOf = (resource: string, key: string, version: number, at: number): string =>
  `${headOf(resource, key, version)},"at":${at},"object":null}`;
