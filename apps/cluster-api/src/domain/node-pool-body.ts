import type { NodePool, NodePoolSpec } from '@corral/contracts';
import type { ClusterRecord } from './cluster-record.js';
import { isManaged } from './complete-spec.js';

/** A stored node pool: what is declared, what was decided with it, and what there is of it. */
export interface NodePoolRecord extends NodePoolSpec {
  /** The higher, the sooner the pool grows. */
  readonly autoscalerPriority: number;
  /** Of its adopted servers those that are ready nodes; null for a managed pool, whose nodes the garden looks after. */
  readonly backingReady: number | null;
}

/** A pool of a cluster with what the cluster's record has about it. */
export function nodePoolOf(
  { priorities, backingReady }: Pick<ClusterRecord, 'priorities' | 'backingReady'>,
  pool: NodePoolSpec,
): NodePoolRecord {
  const { name } = pool;
  return {
    ...pool,
    autoscalerPriority: priorities.get(name) ?? 0,
    backingReady: isManaged(pool) ? null : (backingReady.get(name) ?? 0),
  };
}

/** A node pool as clients see it. */
export function nodePoolBody(pool: NodePoolRecord): NodePool {
  const { name, source, machineType, image, minimum, maximum, publicIP, autoscalerPriority, backingReady } = pool;
  return {
    ...{ name, source, machineType, image, minimum, maximum, publicIP, autoscalerPriority },
    status: { pet: !isManaged(pool), backingReady },
  };
}
