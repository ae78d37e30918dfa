import type { OperationRecord } from '@corral/cluster-data';
import type { OperationId } from '@corral/contracts';
import type { KeyedRequest } from '../changes/caller.js';
import { checkPreconditions, entityTagOf, type Preconditions } from '../changes/entity-tag.js';
import { noClaims } from '../node-pools/claim-servers.js';
import { noPointers } from '../node-pools/pool-spec.js';
import { notFound } from '../problem.js';
import { acceptedStatus } from './accepted-status.js';
import type { ClusterTransaction } from './change-store.js';
import { type ClusterRecord, presentOperationOf } from './rows.js';
import { type ClusterOperationKind, type DeclarationDecision, refuseWhileDeleting } from './spec/decide-declaration.js';
import { refuseRejected } from './spec/plan-change.js';

/**
 * Decides whether to retry the current specification: only after its operation failed.
 *
 * @throws Problem `cluster_deleting`
 */
function decideRetry(current: ClusterRecord): DeclarationDecision {
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
 * Accepts the current specification again if its operation failed.
 *
 * @throws Problem `cluster_deleting`, `connection_rejected`
 */
export async function retryOnce(
  tx: ClusterTransaction,
  current: ClusterRecord,
  operationId: OperationId,
): Promise<ChangeOutcome> {
  const decision = decideRetry(current);
  if (decision.kind === 'unchanged') return { kind: 'unchanged', cluster: current };
  const connection = await tx.findConnection(current.spec.connectionRef);
  if (connection !== null) refuseRejected(connection, noPointers);
  const { kind, ...declaration } = decision;
  const { hibernated } = current.spec;
  const shown = acceptedStatus(current, { kind: 'declare', hibernated, isDraft: false }, tx.now);
  const accepted = { ...declaration, operationId, shown, effect: { kind: 'retry' }, claims: noClaims } as const;
  return { kind, ...(await tx.accept({ ...accepted, action: 'cluster.retry', changes: null, detail: {} })) };
}

export type ChangeOutcome =
  | { readonly kind: 'unchanged'; readonly cluster: ClusterRecord }
  | { readonly kind: 'accepted'; readonly cluster: ClusterRecord; readonly operation: OperationRecord };

/**
 * Claims a request's idempotency key for the operation that it is about to create.
 *
 * @returns null when the request is new, else the outcome of the first request: its operation, or `unchanged`
 * @throws Problem `idempotency_key_reused`, or `not_found` when the cluster no longer exists
 */
export async function registerOrReplay(
  tx: ClusterTransaction,
  request: KeyedRequest | null,
  operationId: OperationId,
): Promise<ChangeOutcome | null> {
  if (request === null) return null;
  const firstId = await tx.registerKey(request, operationId);
  if (firstId === null) return null;
  const { current } = tx;
  if (current === null) throw notFound();
  const operation = await tx.findOperation(firstId);
  return operation === null
    ? { kind: 'unchanged', cluster: current }
    : { kind: 'accepted', cluster: current, operation };
}

export async function retryOrReplay(
  tx: ClusterTransaction,
  options: { preconditions: Preconditions; keyed: KeyedRequest | null; newId: () => OperationId },
): Promise<ChangeOutcome> {
  const { current } = tx;
  if (current === null) throw notFound();
  const operationId = options.newId();
  const replayed = await registerOrReplay(tx, options.keyed, operationId);
  if (replayed !== null) return replayed;
  checkPreconditions(options.preconditions, entityTagOf(current));
  return retryOnce(tx, current, operationId);
}
