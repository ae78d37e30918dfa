import type { OperationState } from '@corral/contracts';
import { type Declaration, type DeclaredCluster, refuseWhileDeleting } from './decide-declaration.js';

/**
 * Decides whether the present specification is to be tried once more: only after its newest operation failed.
 *
 * @param newest the state of the newest operation of the present generation
 * @throws Problem `cluster_deleting`
 */
export function decideRetry(current: DeclaredCluster, newest: OperationState | null): Declaration {
  refuseWhileDeleting(current);
  if (newest !== 'failed') return { kind: 'unchanged' };
  return {
    kind: 'accepted',
    operation: 'cluster.update',
    generation: current.generation + 1,
    desiredHash: current.desiredHash,
    isDraft: false,
  };
}
