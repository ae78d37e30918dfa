import type { Secret } from '../kinds/core-kinds.js';
import type { Fields, KubeObject } from '../kube/object.js';

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
  /** Number of the server's rebuild that it joined from. A later rebuild wipes the node. */
  readonly rebuild: number;
  readonly isReady: boolean;
}

export interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  /** A pod of a Node is the mirror of a static one. */
  readonly owner: 'DaemonSet' | 'Node' | 'ReplicaSet';
}

/** What is in a Shoot's cluster apart from the nodes of its machines. Immutable. */
export interface ClusterContents {
  /** Secrets with bootstrap tokens. */
  readonly tokens: readonly Secret[];
  readonly joined: readonly JoinedNode[];
  /** What clients have changed in nodes: merge patches in their order, by the names of the nodes. */
  readonly patches: Readonly<Record<string, readonly Fields[]>>;
  readonly pods: readonly Pod[];
  /** Names of nodes that report no status. */
  readonly silent: readonly string[];
  /** Objects of other kinds, by `group/plural/namespace/name`. */
  readonly objects: Readonly<Record<string, KubeObject>>;
}

export const emptyContents: ClusterContents = {
  tokens: [],
  joined: [],
  patches: {},
  pods: [],
  silent: [],
  objects: {},
};
