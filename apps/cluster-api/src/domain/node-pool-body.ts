import type { NodePool, NodePoolSpec } from '@corral/contracts';

/** The higher, the sooner a pool grows: nodes that are there anyway come before ones that are bought. */
const priority = { managed: 0, own: 100 };

/** A node pool as clients see it. */
export function nodePoolBody({ name, source, machineType, image, minimum, maximum, publicIP }: NodePoolSpec): NodePool {
  const isManaged = source === 'managed';
  return {
    ...{ name, source, machineType, image, minimum, maximum, publicIP },
    autoscalerPriority: isManaged ? priority.managed : priority.own,
    status: { pet: !isManaged, backingReady: null },
  };
}
