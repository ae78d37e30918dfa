import { isManaged, type NodePoolRow, poolSpecOf } from '@corral/cluster-data';
import type { NodePool, NodePoolSpec } from '@corral/contracts';
import type { ClusterRecord } from '../clusters/store.js';

/** A stored node pool with its priority and the state of its servers. */
export interface NodePoolRecord extends NodePoolSpec {
  /** Pools with higher priorities grow first. */
  readonly autoscalerPriority: number;
  /** Number of its adopted servers that are ready nodes. Null for a managed pool. */
  readonly backingReady: number | null;
}

/** @param backingReady number of its claimed servers that are ready nodes */
export function poolRecordOf(row: NodePoolRow, backingReady: number): NodePoolRecord {
  const pool = poolSpecOf(row);
  return {
    ...pool,
    autoscalerPriority: row.autoscalerPriority,
    backingReady: isManaged(pool) ? null : backingReady,
  };
}

/** Adds what the cluster's record knows about the pool. */
export function nodePoolOf({ priorities, backingReady }: ClusterRecord, pool: NodePoolSpec): NodePoolRecord {
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
    name,
    source,
    machineType,
    image,
    minimum,
    maximum,
    publicIP,
    autoscalerPriority,
    status: { pet: !isManaged(pool), backingReady },
  };
}
