import type { Secret } from '../kinds/core-kinds.js';

/** A machine that became a node by itself: no machine of the Shoot stands behind it. */
export interface JoinedNode {
  readonly name: string;
  readonly uid: string;
  /** The worker pool whose configuration it took. */
  readonly pool: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Null for a machine that is no server of the provider. */
  readonly serverId: number | null;
  readonly serverType: string;
  readonly location: string;
  readonly architecture: 'amd64' | 'arm64';
  /** The rebuild of the server that it joined with: another one wiped what had joined. */
  readonly rebuild: number;
  readonly isReady: boolean;
  /** When that changed last; RFC 3339. */
  readonly since: string;
  readonly revision: number;
}

/** What clients wrote on a node, laid over what it is by itself. */
export interface NodeMarks {
  /** Null takes away what the node has by itself. */
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
  /** What made it; null for a pod that somebody made by hand. A pod of a Node is the mirror of a static one. */
  readonly owner: 'DaemonSet' | 'Node' | 'ReplicaSet' | null;
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  /** A disruption budget forbids its eviction. */
  readonly isProtected: boolean;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly revision: number;
}

/** What is in the cluster of a Shoot beside the nodes of its machines. Never changed in place. */
export interface ClusterContents {
  /** Counts the changes; every object carries that of its own last change. */
  readonly revision: number;
  /** Secrets with bootstrap tokens. */
  readonly tokens: readonly Secret[];
  readonly joined: readonly JoinedNode[];
  /** By the name of the node. */
  readonly marks: Readonly<Record<string, NodeMarks>>;
  /** Nodes of machines that were deleted and made again, by name. */
  readonly remade: Readonly<Record<string, { readonly at: string; readonly revision: number }>>;
  readonly pods: readonly HeldPod[];
  /** Since when nodes do not tell of themselves any more, by name; RFC 3339. */
  readonly silent: Readonly<Record<string, string>>;
}

export const emptyContents: ClusterContents = {
  revision: 1,
  tokens: [],
  joined: [],
  marks: {},
  remade: {},
  pods: [],
  silent: {},
};

/** Without one key. */
export const without = <V>(all: Readonly<Record<string, V>>, key: string): Record<string, V> =>
  Object.fromEntries(Object.entries(all).filter(([name]) => name !== key));
