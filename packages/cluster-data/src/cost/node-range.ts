import type { ClusterSpec, NodePoolSpec } from '@corral/contracts';

/** Whether the garden creates the pool's nodes. Other pools consist of servers that the team adopted. */
export const isManaged = ({ source }: Pick<NodePoolSpec, 'source'>): boolean => source === 'managed';

/** The lowest and highest number of nodes of a pool. Adopted servers exist even while the cluster is hibernated. */
export function nodeRangeOf(
  pool: Pick<NodePoolSpec, 'source' | 'minimum' | 'maximum'>,
  { hibernated }: Pick<ClusterSpec, 'hibernated'>,
): readonly [fewest: number, most: number] {
  if (!isManaged(pool)) return [pool.maximum, pool.maximum];
  return hibernated ? [0, 0] : [effectiveMinimum(pool), pool.maximum];
}

/** The garden keeps at least one node in a pool whose maximum is above zero. */
function effectiveMinimum({ minimum, maximum }: Pick<NodePoolSpec, 'minimum' | 'maximum'>): number {
  return maximum > 0 ? Math.max(1, minimum) : 0;
}
