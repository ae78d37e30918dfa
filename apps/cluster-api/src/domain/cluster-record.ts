import {
  type ClusterPhase,
  type ClusterSpec,
  type Condition,
  type MigrationPhase,
  type ObservedCluster,
  type OperationError,
  type OperationKind,
  type OperationState,
  type OperationWaiting,
  openOperationStates,
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
  /** What the last pass was told of it beside that; null while there is nothing to tell of. */
  readonly observed: ObservedCluster | null;
  /** Nodes of each pool by its name, as last counted; null when that was not possible. */
  readonly nodeCounts: Readonly<Record<string, { readonly ready: number; readonly total: number }>> | null;
  /** The full patch version that `spec.kubernetesVersion` was resolved to; null until a pass has done so. */
  readonly pinnedVersion: string | null;
  /** The newest about it; null where none was ever asked for. */
  readonly lastOperation: OperationRecord | null;
  /** When the first pass began; null while the garden has not heard of the cluster. */
  readonly startedAt: Date | null;
  readonly deletionRequestedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The newest operation while it has not ended. */
export function openOperationOf({ lastOperation }: Pick<ClusterRecord, 'lastOperation'>): OperationRecord | null {
  return lastOperation !== null && isOpen(lastOperation) ? lastOperation : null;
}

/** The operation that the present specification became. */
export function presentOperationOf(
  cluster: Pick<ClusterRecord, 'lastOperation' | 'generation'>,
): OperationRecord | null {
  return cluster.lastOperation?.generation === cluster.generation ? cluster.lastOperation : null;
}

/** The others have ended, and never change again. */
export function isOpen({ state }: Pick<OperationRecord, 'state'>): boolean {
  return openOperationStates.some((open) => open === state);
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
