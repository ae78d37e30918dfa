import type { Named } from '../calls/paths.js';

/**
 * What a machine needs to become a node of a Shoot. `renderJoinUserData` turns it into user data. It contains a
 * short-lived secret: never store or log it.
 */
export interface JoinData {
  /** URL of the Shoot's API server. */
  readonly server: string;
  /** PEM. */
  readonly certificateAuthority: string;
  /** `id.secret`, valid for the requested time. */
  readonly bootstrapToken: string;
  /** The Secret in `kube-system` that the node agent reads its configuration from. */
  readonly configSecretName: string;
  /** Full version, without `v`. */
  readonly kubernetesVersion: string;
  /** The image with the node agent, from that configuration. */
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
  /** IP addresses at which it can be reached from outside of the provider's network. */
  readonly externalIps: readonly string[];
}

/** Changes to a Node. Absent members stay unchanged. */
export interface NodePatch {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly isUnschedulable?: boolean;
}

/**
 * The nodes of Shoots, through admin kubeconfigs that the garden issues. These are kept in memory only and renewed before
 * they expire. Every call may throw a GardenError; `unreachable` includes a control plane that is not up. An error with
 * `fromShoot` says nothing about the garden: administrators of a Shoot can make it answer anything, even a constant 429.
 *
 * An absent Shoot has no nodes.
 */
export interface ShootNodes {
  /**
   * Makes a bootstrap token in the Shoot.
   *
   * @throws GardenError `not_found` when the Shoot has no worker pool of the architecture, or that pool has no config for
   *   nodes yet; `unusable` when that config cannot be read, or a value in it is invalid
   */
  joinData(shoot: Named, request: JoinRequest, signal?: AbortSignal): Promise<JoinData>;
  /** Deletes the bootstrap tokens that were made for the node. */
  endJoin(shoot: Named, nodeName: string, signal?: AbortSignal): Promise<void>;
  /** @returns null when there is no such Node */
  readNode(shoot: Named, name: string, signal?: AbortSignal): Promise<NodeReading | null>;
  /** @throws GardenError `not_found` */
  patchNode(shoot: Named, name: string, patch: NodePatch, signal?: AbortSignal): Promise<void>;
  /**
   * Requests the eviction of every pod on the node, except pods of DaemonSets, mirror pods and pods that have ended. A pod
   * stays while its disruption budget forbids the eviction.
   *
   * @returns the number of remaining pods
   */
  evictPods(shoot: Named, name: string, signal?: AbortSignal): Promise<number>;
  /** An absent Node counts as deleted. */
  deleteNode(shoot: Named, name: string, signal?: AbortSignal): Promise<void>;
}
