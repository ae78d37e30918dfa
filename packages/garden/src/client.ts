/** The door of this package as types: what callers may ask of the garden cluster, and what they get. */
import type { Log } from '@corral/service';
import type { CloudProfile } from './cloud-profile.js';
import type { NodeReading, ShootNodes } from './nodes/client.js';
import type { Named } from './paths.js';
import type { Shoot } from './shoot.js';

/** The part of a logger that is needed: messages are constant, and no token, Secret or kubeconfig is among the fields. */
export type GardenLog = Pick<Log, 'warn' | 'error'>;

export type Verb = 'get' | 'list' | 'watch' | 'apply' | 'patch' | 'create' | 'delete';

/** One HTTP call, for metrics: every value comes from a small set, so each may be a label. */
export interface GardenCall {
  verb: Verb;
  /** with the subresource, e.g. `shoots/adminkubeconfig`; of a Shoot's own API server e.g. `shoot nodes` */
  resource: string;
  /** `ok` or the kind of the error */
  outcome: string;
  /** until the answer was read, of a watch until it was open */
  seconds: number;
}

export interface GardenOptions {
  /** a kubeconfig file; without it and `kubeconfigText` the service account of the pod */
  kubeconfigPath?: string | undefined;
  kubeconfigText?: string | undefined;
  cloudProfileName: string;
  /** longest time of one request, its repetitions included, default 15,000 */
  timeoutMs?: number;
  /** largest answer that is read, default 64 MiB */
  bodyBytesMax?: number;
  /** the owner of what is applied, default `corral`. Another one loses hold of all fields that this one set */
  fieldManager?: string;
  /** for how many Shoots kubeconfigs are kept in memory, those of `nodes` and of `listNodes` each, default 500 */
  shootKubeconfigsMax?: number;
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
  /** takes the fields over from whoever holds them; else that is a `conflict` with `causes` */
  force?: boolean;
  /** token of the provider's API; becomes the key `hcloudToken` of the Secret */
  token: string;
  labels: Record<string, string>;
}

/** Only the fields that shall be owned: what is left out later is removed, what never was here is left to others. */
export interface ShootManifest {
  metadata: Named & {
    /** with it an absent Shoot, or another one under the name, is a `conflict` and never created anew */
    uid?: string;
    /** with it the apply is one of what was read, and of nothing newer */
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
   * When an apply of ours last changed something, by the garden's clock, to the second: this one, or an earlier one if
   * this one changed nothing. Null when the garden does not tell.
   */
  appliedAt: Date | null;
}

/** A Shoot, and when that was so by the garden's clock; null when the garden does not tell. */
export interface HeldShoot {
  shoot: Shoot;
  at: Date | null;
}

/** What identifies one Shoot, and no later one under its name. */
export interface ShootIdentity extends Named {
  uid: string;
}

export interface ShootPage {
  shoots: Shoot[];
  resourceVersion: string;
  /** leads to the next page; null on the last */
  continue: string | null;
}

export interface ShootEvent {
  type: 'changed' | 'gone';
  /** of one that is gone: its last state */
  shoot: Shoot;
}

export type WatchState =
  | { phase: 'listing' }
  | { phase: 'watching' }
  /** until the next attempt; `error` is a GardenError or what a handler threw */
  | { phase: 'waiting'; error: unknown; delayMs: number };

export interface ShootWatch {
  labelSelector: string;
  /** every Shoot that exists, page by page: first, and again with each relist */
  onPage: (shoots: Shoot[]) => Promise<void> | void;
  /** all pages of a list were handed over: what was in none of them is gone */
  onListed: () => Promise<void> | void;
  /** a change after the list. Events come one at a time and may repeat what is known */
  onEvent: (event: ShootEvent) => Promise<void> | void;
  signal: AbortSignal;
  /** time between two full lists: what events failed to tell is found that much later at the latest */
  relistEveryMs: number;
  onState?: (state: WatchState) => void;
  /** Shoots per page, default 500 */
  pageSize?: number;
  /** how long the garden shall keep one watch open; a random part is added. Default 300 */
  watchSeconds?: number;
  /** a watch on which nothing arrives for that long, not even a bookmark, is given up. Default 150,000 */
  silenceMsMax?: number;
}

export interface AdminKubeconfig {
  /** YAML; grants all rights in the cluster. Neither to be stored nor logged */
  kubeconfig: string;
  /** what the garden granted, which may be less than was asked for */
  expiresAt: Date;
}

/** Every call throws GardenError and nothing else, but for TypeError on names that cannot be names. */
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
   * Creates the Secret and then the CredentialsBinding, or exchanges the token in place. Running clusters take up a new
   * token with their next reconcile only.
   */
  applyCredentials(credentials: CredentialsDeclaration, signal?: AbortSignal): Promise<void>;
  /**
   * Deletes binding and Secret, in that order; what is absent is fine. `accepted` is only the beginning: both stay until
   * no Shoot needs them.
   */
  deleteCredentials(credentials: Named, signal?: AbortSignal): Promise<'accepted' | 'absent'>;
  /** @returns null only when the garden says that this very Shoot is absent */
  readShoot(shoot: Named, signal?: AbortSignal): Promise<Shoot | null>;
  /** The same with the time at which it was so, to tell what happened before what. */
  readHeld(shoot: Named, signal?: AbortSignal): Promise<HeldShoot | null>;
  /**
   * Reads what the certificate of a Shoot's API server is proved by, as the garden keeps it beside the Shoot.
   *
   * @returns PEM, several certificates while they are exchanged; null while the garden has none
   */
  readAuthority(shoot: Named, signal?: AbortSignal): Promise<string | null>;
  /** Creates or updates a Shoot by server-side apply. What others hold is a `conflict` with `causes`. */
  applyShoot(manifest: ShootManifest, signal?: AbortSignal): Promise<AppliedShoot>;
  /** The same by force: takes every field in the manifest over from whoever holds it. */
  overrideShoot(
    manifest: ShootManifest & { metadata: { resourceVersion: string } },
    signal?: AbortSignal,
  ): Promise<AppliedShoot>;
  /**
   * Puts these in the place of all workers. For pools that no apply removes, because somebody else holds
   * them.
   *
   * @param shoot resourceVersion: nothing happens unless the Shoot is what was read
   */
  replaceWorkers(
    shoot: ShootIdentity & { resourceVersion: string; workers: readonly object[] },
    signal?: AbortSignal,
  ): Promise<Shoot>;
  /**
   * Sets annotations; null removes one.
   *
   * @param shoot resourceVersion: sets them only on what was read, for slots that others may have filled since
   * @throws GardenError `conflict` with `uidMismatch` when another Shoot has the name, `not_found` when none has
   */
  annotateShoot(
    shoot: ShootIdentity & { annotations: Record<string, string | null>; resourceVersion?: string },
    signal?: AbortSignal,
  ): Promise<Shoot>;
  /**
   * Confirms the deletion and deletes. `accepted` is only the beginning: the Shoot stays until all of it is cleaned up.
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
   * Lists and watches until `signal` is aborted or the client closes. Failures, those of handlers included, lead to
   * another attempt and never to an end: it resolves, and never rejects. A handler that failed meets the same event or
   * list again.
   */
  watchShoots(watch: ShootWatch): Promise<void>;
  readCloudProfile(signal?: AbortSignal): Promise<CloudProfile>;
  /**
   * Has a client certificate made; the garden keeps nothing of it and cannot revoke it.
   *
   * @param request expirationSeconds: 600 at least
   * @throws GardenError `refused` while the control plane has no address
   */
  adminKubeconfig(request: Named & { expirationSeconds: number }, signal?: AbortSignal): Promise<AdminKubeconfig>;
  /**
   * Lists the nodes of a Shoot by its own API server, with a kubeconfig that is good for reading and not for Secrets.
   *
   * @throws GardenError `unreachable` while the Shoot has no address or does not answer, `unusable` for more than 2,000
   */
  listNodes(shoot: Named, signal?: AbortSignal): Promise<NodeReading[]>;
  /** What is done with single nodes of Shoots, by their own API servers. It takes all rights there. */
  readonly nodes: ShootNodes;
  /** Proves that the garden is there, takes our credentials and has the CloudProfile. */
  ping(signal?: AbortSignal): Promise<void>;
  /** Ends all calls and watches, and resolves when watches have let go. */
  close(): Promise<void>;
}
