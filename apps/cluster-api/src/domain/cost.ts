import type { ClusterSpec, Cost, NodePoolSpec } from '@corral/contracts';
import { effectiveMinimum } from './complete-spec.js';

const unknown = { minimum: null, maximum: null };

/**
 * What a cluster costs. Without a price list, that is how many machines of which type are paid for; of a hibernated
 * cluster none.
 */
export function costOf({ nodePools, hibernated }: ClusterSpec): Cost {
  return {
    currency: null,
    hourly: unknown,
    monthly: unknown,
    items: nodePools.map((pool) => itemOf(pool, hibernated)),
    pricedAt: null,
  };
}

function itemOf(pool: NodePoolSpec, hibernated: boolean): Cost['items'][number] {
  return {
    kind: 'nodePool',
    name: pool.name,
    machineType: pool.machineType,
    minimum: hibernated ? 0 : effectiveMinimum(pool),
    maximum: hibernated ? 0 : pool.maximum,
    hourly: unknown,
    monthly: unknown,
    reason: 'There is no price list.',
  };
}
