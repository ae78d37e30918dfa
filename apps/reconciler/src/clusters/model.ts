import type {
  ClusterDeclaration,
  OperationRecord,
  OperationVerdict as OperationVerdictOf,
  SeenCluster,
  StoredSpec,
} from '@corral/cluster-data';
import type {
  ClusterErrorCode,
  ClusterPhase,
  Condition,
  ConnectionId,
  ConnectionPhase,
  MigrationPhase,
  NodePoolSpec,
  ObservedCluster,
  OperationId,
  OperationWaiting,
  TeamId,
} from '@corral/contracts';
import type { Shoot } from '@corral/garden';

/*
 * Vocabulary of a pass. The declaration (`Desired`) comes from our database, the observation (`Observed`) from the garden.
 * `decide` chooses the next step from both, and `judge` derives the verdict that clients see.
 */

/** A pool with its worker name in the garden. */
export interface DesiredPool extends NodePoolSpec {
  readonly workerName: string;
  /** The image version to which the garden has raised an expired one. It cannot be set back. */
  readonly raisedImage?: string;
  /** The autoscaler grows pools with a higher priority first. */
  readonly autoscalerPriority: number;
}

export interface Desired extends ClusterDeclaration {
  readonly team: { readonly id: TeamId; readonly slug: string; readonly projectName: string };
  /** The namespace of the team's Project; null until the Project has stated it. */
  readonly namespace: string | null;
  readonly shootName: string;
  /** The time when this generation was accepted; null when no longer known. */
  readonly declaredAt: Date | null;
  /** The time when node pools were last declared, by this or an earlier generation. Hibernating or resuming declares none. */
  readonly poolsDeclaredAt: Date | null;
  readonly spec: StoredSpec;
  readonly pools: readonly DesiredPool[];
  readonly isDeleting: boolean;
  readonly connection: {
    readonly id: ConnectionId;
    readonly ref: string;
    readonly gardenName: string;
    readonly phase: ConnectionPhase;
    /** The provider accepts the token for reading only. */
    readonly isReadOnly: boolean;
    /** Increases with each new token. */
    readonly tokenVersion: number;
    /** Version of the token in the garden's Secret. */
    readonly gardenTokenVersion: number;
  };
  /** What earlier passes recorded. */
  readonly known: Known;
  /** The open operation. Accepting a newer one ends it, so there is at most one. */
  readonly operation: OpenOperation | null;
  /** The operation of this generation if it has failed. What it was about may be done after all, for example with a new token. */
  readonly failedOperationId: OperationId | null;
}

export interface Known extends SeenCluster {
  /** Set once our Shoot was seen: from then on it is never made again. */
  readonly shootUid: string | null;
  readonly appliedGeneration: number;
  /** The Shoot's `metadata.generation` after our last write. */
  readonly appliedShootGeneration: number | null;
  /** Time of that write by the garden's clock. */
  readonly appliedAt: Date | null;
  readonly appliedTokenVersion: number;
  /** The generation for which a failed Shoot was retried. */
  readonly retriedGeneration: number;
  /** The generation that passes leave as it is, because the garden was ahead of it when a hold ended. */
  readonly keptGeneration: number | null;
  /** Passes in a row that failed. */
  readonly failures: number;
  /** Why the last pass failed, and since when passes fail. Null when it succeeded. */
  readonly waiting: OperationWaiting | null;
}

export interface OpenOperation extends Pick<OperationRecord, 'id' | 'kind' | 'generation' | 'progress'> {
  readonly state: 'queued' | 'running';
  readonly acceptedAt: Date;
}

/** `foreign`: a Shoot of that name exists that is not this cluster's. */
export type Observed =
  | { readonly kind: 'absent' }
  | { readonly kind: 'foreign' }
  | { readonly kind: 'present'; readonly shoot: Shoot };

/** The next thing to do. Each step is idempotent. */
export type Step =
  | { readonly do: 'ensureProject' }
  | { readonly do: 'applyCredentials' }
  | { readonly do: 'pinVersion' }
  /** Server-side apply of the rendered Shoot. Creates it when it is absent. */
  | { readonly do: 'applyShoot' }
  /**
   * Makes running components take up a new token. This and `retryShoot` set the operation annotation, of which there is one.
   * An annotation that another manager set since the read must not be overwritten.
   */
  | { readonly do: 'reconcileShoot' }
  | { readonly do: 'retryShoot' }
  | { readonly do: 'deleteShoot'; readonly uid: string }
  /** The cluster is gone, so its row is deleted. */
  | { readonly do: 'forget' }
  /** Nothing to do in the garden: record the verdict of `judge`. */
  | { readonly do: 'finish' };

/** What clients see, and when the next pass is due. */
export interface Verdict {
  readonly phase: ClusterPhase;
  readonly conditions: readonly Condition[];
  readonly seedName: string | null;
  readonly migrationPhase: MigrationPhase | null;
  /** Null when there is nothing to report. */
  readonly observed: ObservedCluster | null;
  readonly observedGeneration: number;
  readonly operation: OperationVerdict;
  /** What keeps the open operation, as `Reconciled` tells it. */
  readonly waiting: OperationWaiting | null;
  /** Milliseconds, or null when no pass is needed before the next event. */
  readonly nextPassMs: number | null;
}

export type OperationVerdict = OperationVerdictOf<ClusterErrorCode>;

/*
 * Labels and annotations of our Shoots. Lists and the watch select by the labels. The annotations hold what was
 * declared when the Shoot was last applied.
 */

/** Prefix of all labels and annotations of Corral on Shoots and their workers. */
export const corralPrefix = 'corral.dev/';

export const managedLabel = 'corral.dev/managed';
export const clusterIdLabel = 'corral.dev/cluster-id';
/** The label on a worker pool, and therefore on its nodes: the pool name that the team chose. */
export const poolLabel = 'corral.dev/pool';

export const clusterNameAnnotation = 'corral.dev/cluster-name';
export const teamAnnotation = 'corral.dev/team';
export const planAnnotation = 'corral.dev/plan';
export const generationAnnotation = 'corral.dev/generation';
export const desiredHashAnnotation = 'corral.dev/desired-hash';

/** Selects all Shoots of Corral. */
export const managedSelector = `${managedLabel}=true`;

/** Requests an operation on a Shoot. Holds one request at a time (gardener: docs/usage/shoot-operations). */
export const operationAnnotation = 'gardener.cloud/operation';
