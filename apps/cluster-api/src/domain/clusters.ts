import type { ClusterSpecInput } from '@corral/contracts';
import { notFound } from '../problem.js';
import { acceptedStatus } from './accepted-status.js';
import type { Caller } from './caller.js';
import type { ChangeSpec, SpecChange, SpecChanged } from './change-spec.js';
import { type Claims, claimsDetail, drawOnServers, noClaims, releaseAll, serverIdsOf } from './claim-servers.js';
import { type ClusterRecord, type OperationRecord, presentOperationOf } from './cluster-record.js';
import type { ClusterChanges, ClusterTransaction } from './cluster-transaction.js';
import { completeSpec } from './complete-spec.js';
import { checkPreconditions, entityTagOf, type Preconditions } from './entity-tag.js';
import type { KeyedRequest } from './keyed-request.js';
import { inCluster } from './places.js';
import { claimOrReplay, type Replayed } from './replay.js';
import { retryOnce } from './retry.js';

export interface ClusterServiceDeps {
  readonly changeSpec: ChangeSpec;
  readonly store: ClusterChanges;
  /** Hints that the cluster is due. Never rejects. */
  readonly wake: (clusterId: string) => Promise<void>;
  /** The same for an adopted server. */
  readonly wakeServer: (id: string) => Promise<void>;
  readonly newId: () => string;
}

type Conditions = Pick<SpecChange, 'preconditions' | 'keyed'>;

export type ClusterRemoved =
  /** The garden never heard of it: it is gone. */
  | { readonly kind: 'removed' }
  | { readonly kind: 'accepted'; readonly cluster: ClusterRecord; readonly operation: OperationRecord }
  | { readonly kind: 'dryRun'; readonly cluster: ClusterRecord };

export type ClusterService = ReturnType<typeof clusterService>;

/** What can be done to a cluster as a whole. Each change is one transaction, and a hint after it. */
export function clusterService({ changeSpec, store, wake, wakeServer, newId }: ClusterServiceDeps) {
  return {
    /** Makes the cluster, or changes it to this specification. */
    declare(
      caller: Caller,
      name: string,
      declared: ClusterSpecInput,
      options: Pick<SpecChange, 'preconditions' | 'purpose'>,
    ): Promise<SpecChanged> {
      return changeSpec(caller, {
        ...options,
        ...{ name, places: inCluster, action: 'cluster.declare', needsCatalogue: true },
        desiredOf: (current) => completeSpec(declared, current, inCluster),
      });
    },

    /** Changes nothing but whether the cluster sleeps. A draft takes it to heart when it starts. */
    setHibernated(caller: Caller, name: string, hibernated: boolean, options: Conditions): Promise<SpecChanged> {
      return changeSpec(caller, {
        ...options,
        ...{ name, places: inCluster, purpose: 'apply', needsCatalogue: false },
        action: hibernated ? 'cluster.hibernate' : 'cluster.resume',
        desiredOf: (current) => {
          if (current === null) throw notFound();
          return { ...current.spec, hibernated };
        },
      });
    },

    /** Accepts the present specification once more, if it failed. */
    async retry(caller: Caller, name: string, { preconditions, keyed = null }: Conditions): Promise<Replayed> {
      const outcome = await store.change(caller, name, (tx) => retryOrReplay(tx, { preconditions, keyed, newId }));
      if (outcome.kind === 'accepted') await wake(outcome.cluster.id);
      return outcome;
    },

    /** Deletes the cluster, or says what would go with it. */
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
  options: { preconditions: Preconditions; keyed: KeyedRequest | null; newId: () => string },
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
  }: { preconditions: Preconditions; purpose: SpecChange['purpose']; newId: () => string },
): Promise<{ outcome: ClusterRemoved; claims: Claims }> {
  const { current } = tx;
  if (current === null) throw notFound();
  const isDeleting = current.deletionRequestedAt !== null;
  // Sent again, a DELETE finds the tag that it changed itself (RFC 9110 section 13.1.1 lets that pass).
  if (!isDeleting) checkPreconditions(preconditions, entityTagOf(current));
  if (purpose === 'dryRun') return { outcome: { kind: 'dryRun', cluster: current }, claims: noClaims };
  const claims = await releasesOf(tx, current);
  if (current.startedAt === null) {
    await tx.removeDraft(claims);
    return { outcome: { kind: 'removed' }, claims };
  }
  const newest = isDeleting ? presentOperationOf(current) : null;
  // One that failed is tried again; else there is one deletion, however often it is asked for.
  if (newest !== null && newest.state !== 'failed') {
    return { outcome: { kind: 'accepted', cluster: current, operation: newest }, claims: noClaims };
  }
  const accepted = await tx.accept({
    ...{ operationId: newId(), operation: 'cluster.delete', generation: current.generation + 1, isDraft: false },
    ...{ desiredHash: current.desiredHash, effect: { kind: 'delete' }, action: 'cluster.delete' },
    ...{ shown: acceptedStatus(current, { kind: 'delete' }, tx.now), claims, detail: claimsDetail(claims) },
  });
  return { outcome: { kind: 'accepted', ...accepted }, claims };
}

async function releasesOf({ findServers }: ClusterTransaction, { id, spec }: ClusterRecord): Promise<Claims> {
  return drawOnServers(spec.nodePools) ? releaseAll(id, await findServers(spec.connectionRef)) : noClaims;
}
