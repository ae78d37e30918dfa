import { notFound } from '../problem.js';
import type { ClusterRecord, OperationRecord } from './cluster-record.js';
import type { ClusterTransaction } from './cluster-transaction.js';
import type { KeyedRequest } from './keyed-request.js';

export type Replayed =
  | { readonly kind: 'unchanged'; readonly cluster: ClusterRecord }
  | { readonly kind: 'accepted'; readonly cluster: ClusterRecord; readonly operation: OperationRecord };

/**
 * Claims a request's key for the operation that it is about to make.
 *
 * @returns null when the request is new, else what its first copy became: an operation, or none, when there was nothing
 *   to change
 * @throws Problem `idempotency_key_reused`, or `not_found` when the cluster is gone meanwhile
 */
export async function claimOrReplay(
  tx: ClusterTransaction,
  request: KeyedRequest | null,
  operationId: string,
): Promise<Replayed | null> {
  if (request === null) return null;
  const firstId = await tx.claimKey(request, operationId);
  if (firstId === null) return null;
  const { current } = tx;
  if (current === null) throw notFound();
  const operation = await tx.findOperation(firstId);
  return operation === null
    ? { kind: 'unchanged', cluster: current }
    : { kind: 'accepted', cluster: current, operation };
}
