/* The interface of the garden client. */
import type { GardenCall, GardenLog } from './calls/call.js';
import type { Named } from './calls/paths.js';
import type { CloudProfile } from './catalogue/cloud-profile.js';
import type { NodeReading, ShootNodes } from './nodes/client.js';
import type { BalancerReading, ShootObjects } from './objects/client.js';
import type { GardenRule } from './rights.js';
import type { Shoot } from './shoots/shoot.js';

export interface GardenOptions {
  /** a kubeconfig file. Without it and `kubeconfigText`, the pod's service account is used */
  kubeconfigPath?: string | undefined;
  kubeconfigText?: string | undefined;
  cloudProfileName: string;
  /** maximum duration of one request, retries included. Default: 15,000 */
  timeoutMs?: number;
  /** maximum response size. Default: 64 MiB */
  bodyBytesMax?: number;
  /** field manager of applies. Default: `corral`. A changed name does not own the fields that the old one set */
  fieldManager?: string;
  log: GardenLog;
  onCall?: (call: GardenCall) => void;
}

export interface ProjectDeclaration {
  name: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  description: string;
}

export interface CredentialsDeclaration extends Named {
  /** takes fields over from other managers. Without it, fields of others are a `conflict` with `causes` */
  force?: boolean;
  /** token of the provider's API; becomes the key `hcloudToken` of the Secret */
  token: string;
  labels: Record<string, string>;
}

/** The fields to own. An apply removes fields that an earlier one set and leaves the fields of others alone. */
export interface ShootManifest {
  metadata: Named & {
    /** with it, an absent Shoot or another Shoot of that name is a `conflict`, and none is created */
    uid?: string;
    /** with it, the apply fails if the Shoot has changed since that version */
    resourceVersion?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  spec: Record<string, unknown>;
}

export interface AppliedShoot {
  shoot: Shoot;
  created: boolean;
  /**
   * The time when our applies last changed something, by the garden's clock, to the second: this apply, or an earlier one if
   * this one changed nothing. Null when the garden does not state it.
   */
  appliedAt: Date | null;
}

/** A Shoot, and when it was read by the garden's clock; null when the garden does not state it. */
export interface TimedShoot {
  shoot: Shoot;
  at: Date | null;
}

/** Identifies one Shoot, as opposed to a later one of the same name. */
export interface ShootIdentity extends Named {
  uid: string;
}

export interface ShootPage {
  shoots: Shoot[];
  resourceVersion: string;
  /** token of the next page; null on the last */
  continue: string | null;
}

export interface ShootEvent {
  type: 'changed' | 'gone';
  /** the last state of a Shoot that is gone */
  shoot: Shoot;
}

export type WatchState =
  | { phase: 'listing' }
  | { phase: 'watching' }
  /** until the next attempt; `error` is a GardenError or what a handler threw */
  | { phase: 'waiting'; error: unknown; delayMs: number };

export interface ShootWatch {
  labelSelector: string;
  /** receives every existing Shoot, page by page, at the start and with each relist */
  onPage: (shoots: readonly Shoot[]) => Promise<void> | void;
  /** called after the last page of a list: a Shoot on none of its pages is gone */
  onListed: () => Promise<void> | void;
  /**
   * receives changes after the list in their order, those together that came together, but only the last of each Shoot.
   * Events may repeat a known state
   */
  onEvents: (events: ShootEvent[]) => Promise<void> | void;
  signal: AbortSignal;
  /** interval of lists of all Shoots, and so the maximum delay for a change without an event */
  relistEveryMs: number;
  onState?: (state: WatchState) => void;
  /** Shoots per page, default 500 */
  pageSize?: number;
  /** how long the garden keeps one watch open, plus a random part. Default: 300 */
  watchSeconds?: number;
  /** a watch is abandoned after this time without any event, bookmarks included. Default: 150,000 */
  silenceMsMax?: number;
}

interface AdminKubeconfig {
  /** YAML; grants all rights in the cluster. Never store or log it */
  kubeconfig: string;
  /** as granted by the garden, possibly earlier than requested */
  expiresAt: Date;
}

/** Every call throws only GardenError, and TypeError for names that cannot be a path segment. */
export interface GardenClient {
  /**
   * Creates or updates a Project.
   *
   * @returns namespace: null until the garden has chosen one; it cannot be computed
   */
  ensureProject(
    project: ProjectDeclaration,
    signal?: AbortSignal,
  ): Promise<{ namespace: string | null; ready: boolean }>;
  /**
   * Creates the Secret and then the CredentialsBinding, or replaces the token in place. Running clusters use a new
   * token only after their next reconcile.
   */
  applyCredentials(credentials: CredentialsDeclaration, signal?: AbortSignal): Promise<void>;
  /**
   * Deletes binding and Secret, in that order; absent ones are ignored. After `accepted`, both remain until no Shoot
   * needs them.
   */
  deleteCredentials(credentials: Named, signal?: AbortSignal): Promise<'accepted' | 'absent'>;
  /**
   * Finds which rights our account lacks, such as `patch shoots.core.gardener.cloud`.
   *
   * @see reconcilerRights
   */
  missingRights(needed: readonly GardenRule[], signal?: AbortSignal): Promise<string[]>;
  /** @returns null only when the garden reports that this Shoot is absent */
  readShoot(shoot: Named, signal?: AbortSignal): Promise<Shoot | null>;
  /** Does what `readShoot` does, with the time of the reading, to order it against other events. */
  readTimedShoot(shoot: Named, signal?: AbortSignal): Promise<TimedShoot | null>;
  /**
   * Reads the certificate authority of a Shoot's API server, which the garden stores beside the Shoot.
   *
   * @returns PEM, several certificates during a rotation; null while the garden has none
   */
  readAuthority(shoot: Named, signal?: AbortSignal): Promise<string | null>;
  /** Creates or updates a Shoot by server-side apply. Fields owned by others are a `conflict` with `causes`. */
  applyShoot(manifest: ShootManifest, signal?: AbortSignal): Promise<AppliedShoot>;
  /** Does what `applyShoot` does, by force: takes every field in the manifest over from its owner. */
  overrideShoot(
    manifest: ShootManifest & { metadata: { resourceVersion: string } },
    signal?: AbortSignal,
  ): Promise<AppliedShoot>;
  /**
   * Replaces all workers. For pools that an apply does not remove because another manager owns them.
   *
   * @param shoot resourceVersion: fails if the Shoot has changed since that version
   */
  replaceWorkers(
    shoot: ShootIdentity & { resourceVersion: string; workers: readonly object[] },
    signal?: AbortSignal,
  ): Promise<Shoot>;
  /**
   * Sets annotations; null removes one.
   *
   * @param shoot resourceVersion: fails if the Shoot has changed since, for annotations that others may also set
   * @throws GardenError `conflict` with `uidMismatch` when another Shoot has the name, `not_found` when none has
   */
  annotateShoot(
    shoot: ShootIdentity & { annotations: Record<string, string | null>; resourceVersion?: string },
    signal?: AbortSignal,
  ): Promise<Shoot>;
  /**
   * Confirms the deletion and deletes. After `accepted`, the Shoot remains until its resources are cleaned up.
   *
   * @throws GardenError `conflict` with `uidMismatch` when another Shoot has the name
   */
  deleteShoot(shoot: ShootIdentity, signal?: AbortSignal): Promise<'accepted' | 'absent'>;
  /** Lists over all namespaces. @throws GardenError `expired` when `continue` is too old */
  listShoots(
    list: { labelSelector: string; limit?: number; continue?: string | null },
    signal?: AbortSignal,
  ): Promise<ShootPage>;
  /**
   * Lists and watches until `signal` is aborted or the client closes. It retries after every failure, including those
   * of handlers, and never rejects. A failed handler receives the same event or list again.
   */
  watchShoots(watch: ShootWatch): Promise<void>;
  readCloudProfile(signal?: AbortSignal): Promise<CloudProfile>;
  /**
   * Issues a client certificate. The garden does not store it and cannot revoke it.
   *
   * @param request expirationSeconds: at least 600
   * @throws GardenError `refused` while the control plane has no address
   */
  adminKubeconfig(request: Named & { expirationSeconds: number }, signal?: AbortSignal): Promise<AdminKubeconfig>;
  /** The same for reading everything except Secrets. */
  viewerKubeconfig(request: Named & { expirationSeconds: number }, signal?: AbortSignal): Promise<AdminKubeconfig>;
  /**
   * Lists the nodes of a Shoot through its own API server, with a kubeconfig that can read everything but Secrets.
   *
   * @throws GardenError `unreachable` while the Shoot has no address or does not answer, `unusable` for more than 2,000
   */
  listNodes(shoot: Named, signal?: AbortSignal): Promise<NodeReading[]>;
  /**
   * Lists the Services of type LoadBalancer and the Ingresses of a Shoot that have an address, as `listNodes` lists nodes.
   *
   * @throws GardenError as `listNodes` does
   */
  listBalancers(shoot: Named, signal?: AbortSignal): Promise<BalancerReading[]>;
  /** Works on single nodes through the API servers of Shoots, with all rights there. */
  readonly nodes: ShootNodes;
  /** Reads, applies and deletes single objects through the API servers of Shoots, with all rights there. */
  readonly objects: ShootObjects;
  /** Checks that the garden is reachable, accepts our credentials and has the CloudProfile. */
  ping(signal?: AbortSignal): Promise<void>;
  /** Ends all calls and watches. Resolves when all watches have ended. */
  close(): Promise<void>;
}
