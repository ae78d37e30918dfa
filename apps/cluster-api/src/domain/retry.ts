import { acceptedStatus } from './accepted-status.js';
import { noClaims } from './claim-servers.js';
import { type ClusterRecord, presentOperationOf } from './cluster-record.js';
import type { ClusterTransaction } from './cluster-transaction.js';
import { type ClusterOperationKind, type Declaration, refuseWhileDeleting } from './decide-declaration.js';
import { refuseRejected } from './plan-change.js';
import type { Replayed } from './replay.js';

/**
 * Decides whether the present specification is to be tried once more: only after its newest operation failed.
 *
 * @throws Problem `cluster_deleting`
 */
export function decideRetry(current: ClusterRecord): Declaration {
  refuseWhileDeleting(current);
  const newest = presentOperationOf(current);
  if (newest?.state !== 'failed') return { kind: 'unchanged' };
  return {
    kind: 'accepted',
    operation: newest.kind as ClusterOperationKind,
    generation: current.generation + 1,
    desiredHash: current.desiredHash,
    isDraft: false,
  };
}

/**
 * Accepts the present specification once more, if its operation failed.
 *
 * @throws Problem `cluster_deleting`, `connection_rejected`
 */
export async function retryOnce(
  tx: ClusterTransaction,
  current: ClusterRecord,
  operationId: string,
): Promise<Replayed> {
  const decision = decideRetry(current);
  if (decision.kind === 'unchanged') return { kind: 'unchanged', cluster: current };
  const connection = await tx.findConnection(current.spec.connectionRef);
  if (connection !== null) refuseRejected(connection);
  const { kind, ...declaration } = decision;
  const { hibernated } = current.spec;
  const shown = acceptedStatus(current, { kind: 'declare', hibernated, isDraft: false }, tx.now);
  const accepted = { ...declaration, operationId, shown, effect: { kind: 'retry' }, claims: noClaims } as const;
  return { kind, ...(await tx.accept({ ...accepted, action: 'cluster.retry', detail: {} })) };
}
