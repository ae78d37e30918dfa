import type { Secret } from '../kinds/core-kinds.js';

/** A node that joined by itself, without one of the Shoot's machines. */
export interface JoinedNode {
  readonly name: string;
  readonly uid: string;
  /** Worker pool whose configuration it uses. */
  readonly pool: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Null for a machine outside the provider. */
  readonly serverId: number | null;
  /** The server's rebuild that it joined with. A later rebuild wipes the node. */
  readonly rebuild: number;
  readonly isReady: boolean;
  /** Time of the last change of `isReady`; RFC 3339. */
  readonly since: string;
  readonly revision: number;
}

/** Changes that clients made to a node, applied over its own values. */
export interface NodeMarks {
  /** Null removes a label of the node itself. */
  readonly labels: Readonly<Record<string, string | null>>;
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly unschedulable: boolean;
  readonly revision: number;
}

export interface HeldPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  /** The pod's owner. A pod owned by a Node is the mirror of a static pod. */
  readonly owner: 'DaemonSet' | 'Node' | 'ReplicaSet';
  /** RFC 3339. */
  readonly createdAt: string;
  readonly revision: number;
}

/** Contents of a Shoot's cluster apart from the nodes of its machines. Immutable. */
export interface ClusterContents {
  /** Number of changes. Each object carries the revision of its last change. */
  readonly revision: number;
  /** Secrets with bootstrap tokens. */
  readonly tokens: readonly Secret[];
  readonly joined: readonly JoinedNode[];
  /** Keyed by node name. */
  readonly marks: Readonly<Record<string, NodeMarks>>;
  readonly pods: readonly HeldPod[];
  /** Start of the silence by node name, for nodes without status reports; RFC 3339. */
  readonly silent: Readonly<Record<string, string>>;
}

export const emptyContents: ClusterContents = {
  revision: 1,
  tokens: [],
  joined: [],
  marks: {},
  pods: [],
  silent: {},
};

/** Copies a map without one key. */
export const without = <V>(all: Readonly<Record<string, V>>, key: string): Record<string, V> =>
  Object.fromEntries(Object.entries(all).filter(([name]) => name !== key));
