import {
  type ClusterDeclaration,
  isOpen,
  type KnownPrices,
  type NodeCounts,
  type OperationRecord,
  type SeenCluster,
} from '@corral/cluster-data';
import type { ClusterSpec } from '@corral/contracts';

/** A stored cluster: its desired state and what was last observed. */
export interface ClusterRecord extends ClusterDeclaration, SeenCluster {
  /** Complete, with its node pools in order. */
  readonly spec: ClusterSpec;
  /** Autoscaler priorities of its node pools, by name. Higher priorities grow first. */
  readonly priorities: ReadonlyMap<string, number>;
  /** Number of ready nodes of each pool on adopted servers, by pool name. */
  readonly backingReady: ReadonlyMap<string, number>;
  /** The price list as the connection's project sees it. Null until first read. */
  readonly prices: KnownPrices | null;
  /** Increases with every change that clients can see. */
  readonly revision: number;
  /** Nodes per pool, as last counted. Null when counting was not possible. */
  readonly nodeCounts: NodeCounts | null;
  /** The newest operation on the cluster. Null when there was none. */
  readonly lastOperation: OperationRecord | null;
  /** When the first pass began. Null while the garden does not know the cluster. */
  readonly startedAt: Date | null;
  /** The generation that passes leave alone after a restore, until the team declares again. */
  readonly keptGeneration: number | null;
  readonly deletionRequestedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The newest operation if it has not ended. */
export function openOperationOf({ lastOperation }: Pick<ClusterRecord, 'lastOperation'>): OperationRecord | null {
  return lastOperation !== null && isOpen(lastOperation) ? lastOperation : null;
}

/** The operation of the current generation. */
export function presentOperationOf(
  cluster: Pick<ClusterRecord, 'lastOperation' | 'generation'>,
): OperationRecord | null {
  return cluster.lastOperation?.generation === cluster.generation ? cluster.lastOperation : null;
}
