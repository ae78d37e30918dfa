import type { NodePool, NodePoolSpec } from '@corral/contracts';
import type { ClusterRecord } from './cluster-record.js';

/** A stored node pool: what is declared, and what was decided with it. */
export interface NodePoolRecord extends NodePoolSpec {
  /** The higher, the sooner the pool grows. */
  readonly autoscalerPriority: number;
}

/** A pool of a cluster with what was decided about it. */
export function nodePoolOf({ priorities }: Pick<ClusterRecord, 'priorities'>, pool: NodePoolSpec): NodePoolRecord {
  return { ...pool, autoscalerPriority: priorities.get(pool.name) ?? 0 };
}

/** A node pool as clients see it. */
export function nodePoolBody(pool: NodePoolRecord): NodePool {
  const { name, source, machineType, image, minimum, maximum, publicIP, autoscalerPriority } = pool;
  return {
    ...{ name, source, machineType, image, minimum, maximum, publicIP, autoscalerPriority },
    status: { pet: source !== 'managed', backingReady: null },
  };
}
