import type {
  ClusterPhase,
  ClusterSpec,
  Condition,
  MigrationPhase,
  OperationError,
  OperationKind,
  OperationState,
  OperationWaiting,
} from '@corral/contracts';
import type { KnownPrices } from './prices.js';

/** A stored cluster: what is wanted, and what was last observed of it. */
export interface ClusterRecord {
  readonly id: string;
  readonly name: string;
  /** Complete, with its node pools in order. */
  readonly spec: ClusterSpec;
  readonly desiredHash: string;
  /** Of its node pools by name: the higher, the sooner a pool grows. */
  readonly priorities: ReadonlyMap<string, number>;
  /** Ready nodes of its pools on adopted servers, by name. */
  readonly backingReady: ReadonlyMap<string, number>;
  /** As the project of its connection sees them; null until they were read. */
  readonly prices: KnownPrices | null;
  /** Counts the accepted changes. */
  readonly generation: number;
  readonly observedGeneration: number;
  /** Grows whenever an answer about the cluster would read differently. */
  readonly revision: number;
  readonly phase: ClusterPhase;
  readonly conditions: readonly Condition[];
  readonly seedName: string | null;
  readonly migrationPhase: MigrationPhase | null;
  /** The full patch version that `spec.kubernetesVersion` was resolved to; null until a pass has done so. */
  readonly pinnedVersion: string | null;
  /** When the first pass began; null while the garden has not heard of the cluster. */
  readonly startedAt: Date | null;
  readonly deletionRequestedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What an accepted change became. */
export interface OperationRecord {
  readonly id: string;
  readonly kind: OperationKind;
  readonly target: { readonly kind: string; readonly id: string; readonly name: string };
  readonly generation: number;
  readonly state: OperationState;
  readonly progress: number;
  readonly error: OperationError;
  /** Why it does not get on just now; null once it has ended. */
  readonly waiting: OperationWaiting | null;
  readonly desiredHash: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}
