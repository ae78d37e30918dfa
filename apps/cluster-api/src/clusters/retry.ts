import { randomUUID } from 'node:crypto';
import type { OperationRecord } from '@corral/cluster-data';
import { asOperationId, type OperationId } from '@corral/contracts';
import type { Caller, KeyedRequest } from '../changes/caller.js';
import { checkPreconditions, entityTagOf, type Preconditions } from '../changes/entity-tag.js';
import { registerKey } from '../changes/idempotency-keys.js';
import { noClaims } from '../node-pools/claim-servers.js';
import { noPointers } from '../node-pools/rules.js';
import { findOperation } from '../operations/store.js';
import { notFound } from '../problem.js';
import type { Services } from '../services.js';
import { type Accepted, acceptChange, changeCluster } from './change-store.js';
import { acceptedStatus, type ClusterOperationKind, refuseWhileDeleting } from './rules/declaration.js';
import { refuseRejected } from './rules/plan-change.js';
import { type ClusterRecord, type ClusterView, failedOperationOf, findConnection } from './store.js';

export type ChangeOutcome =
  | { readonly kind: 'unchanged'; readonly cluster: ClusterRecord }
  | ({ readonly kind: 'accepted' } & Accepted);

/**
 * Accepts the current specification of a cluster again if its operation failed.
 *
 * @throws Problem `not_found`, `precondition_failed`, `idempotency_key_reused`, `cluster_deleting`, `connection_rejected`
 */
export async function retryCluster(
  services: Services,
  caller: Caller,
  name: string,
  { preconditions, keyed }: { readonly preconditions: Preconditions; readonly keyed: KeyedRequest | null },
): Promise<ChangeOutcome> {
  const outcome = await changeCluster(services, caller, name, async (locked): Promise<ChangeOutcome> => {
    const { current } = locked;
    if (current === null) throw notFound();
    const operationId = asOperationId(randomUUID());
    const replayed = keyed && (await registerOrReplay(locked, keyed, operationId));
    if (replayed !== null) return replayed;
    checkPreconditions(preconditions, entityTagOf(current));
    refuseWhileDeleting(current);
    const failed = failedOperationOf(current);
    return failed === null
      ? { kind: 'unchanged', cluster: current }
      : retryFailed(locked, current, failed, operationId);
  });
  if (outcome.kind === 'accepted') services.wake.cluster(outcome.cluster.id);
  return outcome;
}

/**
 * Accepts the current specification again, whose operation failed.
 *
 * @throws Problem `connection_rejected`
 */
export async function retryFailed(
  locked: ClusterView,
  current: ClusterRecord,
  failed: OperationRecord,
  operationId: OperationId,
): Promise<ChangeOutcome> {
  const connection = await findConnection(locked, current.spec.connectionRef);
  if (connection !== null) refuseRejected(connection, noPointers);
  const { hibernated } = current.spec;
  const accepted = await acceptChange(locked, {
    operationId,
    declaration: {
      operation: failed.kind as ClusterOperationKind,
      generation: current.generation + 1,
      desiredHash: current.desiredHash,
      isDraft: false,
    },
    effect: { kind: 'retry' },
    shown: acceptedStatus(current, { kind: 'declare', hibernated, isDraft: false }, locked.now),
    claims: noClaims,
    action: 'cluster.retry',
    changes: null,
  });
  return { kind: 'accepted', ...accepted };
}

/**
 * Claims a request's idempotency key for the operation that it is about to create.
 *
 * @returns null when the request is new, else the outcome of the first request: its operation, or `unchanged`
 * @throws Problem `idempotency_key_reused`, or `not_found` when the cluster no longer exists
 */
export async function registerOrReplay(
  { db, caller, current: cluster }: ClusterView,
  request: KeyedRequest,
  operationId: OperationId,
): Promise<ChangeOutcome | null> {
  const firstId = await registerKey(db, caller, request, operationId);
  if (firstId === null) return null;
  if (cluster === null) throw notFound();
  const operation = await findOperation(db, caller.team.id, firstId);
  return operation === null ? { kind: 'unchanged', cluster } : { kind: 'accepted', cluster, operation };
}
