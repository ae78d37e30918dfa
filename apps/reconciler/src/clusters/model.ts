import type {
  ClusterErrorCode,
  ClusterPhase,
  ClusterSpec,
  Condition,
  ConnectionPhase,
  MigrationPhase,
  NodePoolSpec,
  ObservedCluster,
  OperationKind,
  OperationWaiting,
} from '@corral/contracts';
import type { Shoot } from '@corral/garden';
import type { OperationVerdict as OperationVerdictOf } from '../loop/operation-verdict.js';

/*
 * Vocabulary of a pass. What is wanted (`Desired`) comes from our database, what is there (`Observed`) from the garden;
 * `decide` chooses the next step from the two, and `judge` says what a client is to be told about them.
 */

/** A pool with the name that it has on the garden. */
export interface DesiredPool extends NodePoolSpec {
  readonly workerName: string;
  /** The higher, the sooner the autoscaler grows it. */
  readonly autoscalerPriority: number;
}

export interface Desired {
  readonly id: string;
  readonly name: string;
  readonly team: { readonly id: string; readonly slug: string; readonly projectName: string };
  /** Of the team's Project; null until the Project has stated it. */
  readonly namespace: string | null;
  readonly shootName: string;
  readonly generation: number;
  readonly desiredHash: string;
  /** When this generation was accepted; null when nobody knows any more. */
  readonly declaredAt: Date | null;
  /** When node pools were last declared, by this generation or one before: to sleep or to wake up declares none. */
  readonly poolsDeclaredAt: Date | null;
  readonly spec: Omit<ClusterSpec, 'nodePools'>;
  readonly pools: readonly DesiredPool[];
  /** The full patch version that `spec.kubernetesVersion` was resolved to; null until it was. */
  readonly pinnedVersion: string | null;
  readonly isDeleting: boolean;
  readonly connection: {
    readonly id: string;
    readonly ref: string;
    readonly gardenName: string;
    readonly phase: ConnectionPhase;
    /** The provider takes the token for reading only. */
    readonly isReadOnly: boolean;
    /** Grows with each new token. */
    readonly tokenVersion: number;
    /** The one that the Secret on the garden holds. */
    readonly gardenTokenVersion: number;
  };
  /** What earlier passes have recorded. */
  readonly known: Known;
  /** The operation that has not ended yet; accepting a newer one ends it, so there is at most one. */
  readonly operation: OpenOperation | null;
}

export interface Known {
  /** Set once our Shoot was seen: from then on it is never made again. */
  readonly shootUid: string | null;
  readonly appliedGeneration: number;
  /** The Shoot's `metadata.generation` that our last write led to. */
  readonly appliedShootGeneration: number | null;
  /** The garden's clock at that write. */
  readonly appliedAt: Date | null;
  readonly appliedTokenVersion: number;
  /** The generation for which a failed Shoot was told to try again. */
  readonly retriedGeneration: number;
  readonly observedGeneration: number;
  readonly phase: ClusterPhase;
  readonly conditions: readonly Condition[];
  readonly seedName: string | null;
  readonly migrationPhase: MigrationPhase | null;
  readonly observed: ObservedCluster | null;
  /** Passes in a row that failed. */
  readonly failures: number;
  /** Why the last one failed, and since when passes do; null when it did not. */
  readonly waiting: OperationWaiting | null;
}

export interface OpenOperation {
  readonly id: string;
  readonly kind: OperationKind;
  readonly generation: number;
  readonly state: 'queued' | 'running';
  readonly progress: number;
  readonly acceptedAt: Date;
}

/** `foreign`: the name is taken by a Shoot that is not this cluster's. */
export type Observed =
  | { readonly kind: 'absent' }
  | { readonly kind: 'foreign' }
  | { readonly kind: 'present'; readonly shoot: Shoot };

/** The one next thing to do. Each is safe to repeat: a second try meets the first. */
export type Step =
  | { readonly do: 'ensureProject' }
  | { readonly do: 'applyCredentials' }
  | { readonly do: 'pinVersion' }
  /** Server-side apply of the rendered Shoot, which makes it when it is absent. */
  | { readonly do: 'applyShoot' }
  /**
   * Makes running components take up a new token. This and `retryShoot` fill the one slot for orders: what somebody has
   * put there since the read must not be lost.
   */
  | { readonly do: 'reconcileShoot' }
  | { readonly do: 'retryShoot' }
  | { readonly do: 'deleteShoot'; readonly uid: string }
  /** The cluster is gone: its row goes too. */
  | { readonly do: 'forget' }
  /** Nothing to do on the garden just now: record what `judge` says. */
  | { readonly do: 'settle' };

/** What clients are told, and when to look again. */
export interface Verdict {
  readonly phase: ClusterPhase;
  readonly conditions: readonly Condition[];
  readonly seedName: string | null;
  readonly migrationPhase: MigrationPhase | null;
  /** Null: there is nothing to tell of. */
  readonly observed: ObservedCluster | null;
  readonly observedGeneration: number;
  readonly operation: OperationVerdict;
  /** Milliseconds; null when only news makes another look worth while. */
  readonly lookAgainMs: number | null;
}

export type OperationVerdict = OperationVerdictOf<ClusterErrorCode>;
