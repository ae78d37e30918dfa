import type { Named } from '../paths.js';

/**
 * What a machine needs to become a node of a Shoot: `renderJoinUserData` makes user data of it. It holds a secret of short
 * life: never store or log it.
 */
export interface JoinData {
  /** Where the Shoot's API server is reached. */
  readonly server: string;
  /** PEM. */
  readonly certificateAuthority: string;
  /** `id.secret`, good for as long as was asked for. */
  readonly bootstrapToken: string;
  /** The Secret in `kube-system` that the node agent reads its configuration from. */
  readonly configSecretName: string;
  /** Full, without `v`. */
  readonly kubernetesVersion: string;
  /** The image that has the node agent, as that configuration names it. */
  readonly nodeAgentImage: string;
}

export interface JoinRequest {
  readonly nodeName: string;
  readonly architecture: 'amd64' | 'arm64';
  readonly tokenSeconds: number;
}

export interface NodeReading {
  readonly name: string;
  readonly uid: string;
  /** Its condition `Ready` is `True`. */
  readonly isReady: boolean;
  readonly isUnschedulable: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** What to change of a Node. What is not named stays. */
export interface NodeMarks {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly isUnschedulable?: boolean;
}

/**
 * The nodes of Shoots, over admin kubeconfigs that are issued by the garden, kept in memory only, and made anew before
 * they end. Every call may throw a GardenError; `unreachable` also stands for a control plane that is not up. One that is
 * `fromShoot` says nothing about the garden: who administers a Shoot can make it answer anything, a 429 for everybody too.
 *
 * A Shoot that is absent has no nodes.
 */
export interface ShootNodes {
  /**
   * Makes a bootstrap token in the Shoot.
   *
   * @throws GardenError `not_found` when it has no worker pool of the architecture, or that pool has no config for nodes
   *   yet; `unusable` when that config cannot be read, or names what no server can be told
   */
  joinData(shoot: Named, request: JoinRequest, signal?: AbortSignal): Promise<JoinData>;
  /** Deletes the bootstrap tokens that were made for the node. */
  endJoin(shoot: Named, nodeName: string, signal?: AbortSignal): Promise<void>;
  /** @returns null when there is no such Node */
  readNode(shoot: Named, name: string, signal?: AbortSignal): Promise<NodeReading | null>;
  /** @throws GardenError `not_found` */
  markNode(shoot: Named, name: string, marks: NodeMarks, signal?: AbortSignal): Promise<void>;
  /**
   * Asks for the eviction of every pod on the node but those of DaemonSets, mirror pods and those that have ended. A pod
   * whose disruption budget forbids it just now stays.
   *
   * @returns how many pods are still there
   */
  evictPods(shoot: Named, name: string, signal?: AbortSignal): Promise<number>;
  /** A Node that is not there counts as deleted. */
  deleteNode(shoot: Named, name: string, signal?: AbortSignal): Promise<void>;
}
