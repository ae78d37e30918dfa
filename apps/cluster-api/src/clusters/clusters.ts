import type { OperationRecord } from '@corral/cluster-data';
import type { ClusterId, ClusterSpecInput, OperationId, ServerId } from '@corral/contracts';
import type { Caller, KeyedRequest } from '../changes/caller.js';
import { checkPreconditions, entityTagOf, type Preconditions } from '../changes/entity-tag.js';
import {
  type Claims,
  claimsDetail,
  noClaims,
  releaseAll,
  serverIdsOf,
  useAdoptedServers,
} from '../node-pools/claim-servers.js';
import { notFound } from '../problem.js';
import { acceptedStatus } from './accepted-status.js';
import type { ChangeSpec, SpecChange, SpecChanged } from './change-spec.js';
import { completeSpec } from './complete-spec.js';
import { type ClusterRecord, presentOperationOf } from './record.js';
import { inCluster } from './refusals.js';
import { claimOrReplay, type Replayed, retryOnce } from './retry.js';
import type { ClusterChanges, ClusterTransaction } from './transaction.js';

export interface ClusterServiceDeps {
  readonly changeSpec: ChangeSpec;
  readonly store: ClusterChanges;
  /** Sends a wake-up for the cluster. Never rejects. */
  readonly wake: (clusterId: ClusterId) => Promise<void>;
  /** The same for an adopted server, by its id. */
  readonly wakeServer: (id: ServerId) => Promise<void>;
  readonly newId: () => OperationId;
}

type Conditions = Pick<SpecChange, 'preconditions' | 'keyed'>;

export type ClusterRemoved =
  /** No pass had begun, so the garden does not know the cluster: its rows are deleted. */
  | { readonly kind: 'removed' }
  | { readonly kind: 'accepted'; readonly cluster: ClusterRecord; readonly operation: OperationRecord }
  | { readonly kind: 'dryRun'; readonly cluster: ClusterRecord };

export type ClusterService = ReturnType<typeof clusterService>;

/** The changes of a whole cluster. Each is one transaction, followed by wake-ups. */
export function clusterService({ changeSpec, store, wake, wakeServer, newId }: ClusterServiceDeps) {
  return {
    /** Creates the cluster or changes it to this specification. */
    declare(
      caller: Caller,
      name: string,
      declared: ClusterSpecInput,
      options: Pick<SpecChange, 'preconditions' | 'purpose'>,
    ): Promise<SpecChanged> {
      return changeSpec(caller, {
        ...options,
        name,
        places: inCluster,
        action: 'cluster.declare',
        needsCatalogue: true,
        desiredOf: (current) => completeSpec(declared, current, inCluster),
      });
    },

    /** Hibernates or resumes the cluster. For a draft this takes effect when it starts. */
    setHibernated(caller: Caller, name: string, hibernated: boolean, options: Conditions): Promise<SpecChanged> {
      return changeSpec(caller, {
        ...options,
        name,
        places: inCluster,
        purpose: 'apply',
        needsCatalogue: false,
        action: hibernated ? 'cluster.hibernate' : 'cluster.resume',
        desiredOf: (current) => {
          if (current === null) throw notFound();
          return { ...current.spec, hibernated };
        },
      });
    },

    /** Accepts the current specification again if its operation failed. */
    async retry(caller: Caller, name: string, { preconditions, keyed = null }: Conditions): Promise<Replayed> {
      const outcome = await store.change(caller, name, (tx) => retryOrReplay(tx, { preconditions, keyed, newId }));
      if (outcome.kind === 'accepted') await wake(outcome.cluster.id);
      return outcome;
    },

    /** Deletes the cluster. A dry run only returns it. */
    async remove(
      caller: Caller,
      name: string,
      options: { readonly preconditions: Preconditions; readonly purpose: SpecChange['purpose'] },
    ): Promise<ClusterRemoved> {
      const { outcome, claims } = await store.change(caller, name, (tx) => removeOnce(tx, { ...options, newId }));
      if (outcome.kind === 'accepted') await wake(outcome.cluster.id);
      await Promise.all(serverIdsOf(claims).map(wakeServer));
      return outcome;
    },
  };
}

async function retryOrReplay(
  tx: ClusterTransaction,
  options: { preconditions: Preconditions; keyed: KeyedRequest | null; newId: () => OperationId },
): Promise<Replayed> {
  const { current } = tx;
  if (current === null) throw notFound();
  const operationId = options.newId();
  const replayed = await claimOrReplay(tx, options.keyed, operationId);
  if (replayed !== null) return replayed;
  checkPreconditions(options.preconditions, entityTagOf(current));
  return retryOnce(tx, current, operationId);
}

async function removeOnce(
  tx: ClusterTransaction,
  {
    preconditions,
    purpose,
    newId,
  }: { preconditions: Preconditions; purpose: SpecChange['purpose']; newId: () => OperationId },
): Promise<{ outcome: ClusterRemoved; claims: Claims }> {
  const { current } = tx;
  if (current === null) throw notFound();
  const isDeleting = current.deletionRequestedAt !== null;
  // A repeated DELETE meets the tag that the first one changed (RFC 9110 section 13.1.1 allows success then).
  if (!isDeleting) checkPreconditions(preconditions, entityTagOf(current));
  if (purpose === 'dryRun') return { outcome: { kind: 'dryRun', cluster: current }, claims: noClaims };
  const claims = await releasesOf(tx, current);
  if (current.startedAt === null) {
    await tx.removeDraft(claims);
    return { outcome: { kind: 'removed' }, claims };
  }
  const newest = isDeleting ? presentOperationOf(current) : null;
  // Only a failed deletion is accepted again. Otherwise repeated requests return the same operation.
  if (newest !== null && newest.state !== 'failed') {
    return { outcome: { kind: 'accepted', cluster: current, operation: newest }, claims: noClaims };
  }
  const accepted = await tx.accept({
    operationId: newId(),
    operation: 'cluster.delete',
    generation: current.generation + 1,
    isDraft: false,
    desiredHash: current.desiredHash,
    effect: { kind: 'delete' },
    action: 'cluster.delete',
    shown: acceptedStatus(current, { kind: 'delete' }, tx.now),
    claims,
    detail: claimsDetail(claims),
  });
  return { outcome: { kind: 'accepted', ...accepted }, claims };
}

async function releasesOf({ findServers }: ClusterTransaction, { id, spec }: ClusterRecord): Promise<Claims> {
  return useAdoptedServers(spec.nodePools) ? releaseAll(id, await findServers(spec.connectionRef)) : noClaims;
}
