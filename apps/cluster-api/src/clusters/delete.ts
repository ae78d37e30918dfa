import type { OperationRecord } from '@corral/cluster-data';
import { isManaged, nodeRangeOf } from '@corral/cluster-data';
import type { ChangeEffect, OperationId } from '@corral/contracts';
import { checkPreconditions, entityTagOf, type Preconditions } from '../changes/entity-tag.js';
import { type Claims, claimsDetail, noClaims, releaseAll, useAdoptedServers } from '../node-pools/claim-servers.js';
import { notFound } from '../problem.js';
import { acceptedStatus } from './accepted-status.js';
import type { ClusterTransaction, ClusterView } from './change-store.js';
import { effectsOfDeletion } from './effects/effects.js';
import { type ClusterRecord, presentOperationOf } from './rows.js';
import { deletionOf } from './spec/spec-difference.js';

export type RemovalOutcome =
  /** No pass had begun, so the garden does not know the cluster: its rows are deleted. */
  | { readonly kind: 'removed' }
  | { readonly kind: 'accepted'; readonly cluster: ClusterRecord; readonly operation: OperationRecord }
  | { readonly kind: 'dryRun'; readonly cluster: ClusterRecord; readonly effects: readonly ChangeEffect[] };

/**
 * Deletes a draft immediately, and accepts the deletion of any other cluster.
 *
 * @throws Problem `not_found`, `precondition_failed`
 */
export async function removeOnce(
  tx: ClusterTransaction,
  { preconditions, newId }: { preconditions: Preconditions; newId: () => OperationId },
): Promise<{ outcome: RemovalOutcome; claims: Claims }> {
  const current = removable(tx, preconditions);
  const isDeleting = current.deletionRequestedAt !== null;
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
    changes: deletionOf(current),
    detail: claimsDetail(claims),
  });
  return { outcome: { kind: 'accepted', ...accepted }, claims };
}

/** @throws Problem `not_found`, `precondition_failed` */
export function previewRemoval(view: ClusterView, preconditions: Preconditions): RemovalOutcome {
  const cluster = removable(view, preconditions);
  return { kind: 'dryRun', cluster, effects: effectsOfDeletion(cluster) };
}

function removable({ current }: Pick<ClusterView, 'current'>, preconditions: Preconditions): ClusterRecord {
  if (current === null) throw notFound();
  // A repeated DELETE meets the tag that the first one changed (RFC 9110 section 13.1.1 allows success then).
  if (current.deletionRequestedAt === null) checkPreconditions(preconditions, entityTagOf(current));
  return current;
}

async function releasesOf({ findServers }: ClusterTransaction, { id, spec }: ClusterRecord): Promise<Claims> {
  return useAdoptedServers(spec.nodePools) ? releaseAll(id, await findServers(spec.connectionRef)) : noClaims;
}

export interface DeletedResource {
  readonly kind: string;
  readonly name: string | null;
  /** Null when unknown. */
  readonly count: number | null;
  readonly note: string;
}

/** Lists what a deletion destroys, as far as the stored cluster tells. Empty for a cluster that was never started. */
export function deletionPreview({ spec, startedAt }: Pick<ClusterRecord, 'spec' | 'startedAt'>): DeletedResource[] {
  if (startedAt === null) return [];
  return [
    ...spec.nodePools.map((pool) => deletedNodesOf(pool, spec.hibernated)),
    {
      kind: 'Volume',
      name: null,
      count: null,
      note: 'Volumes of persistent volume claims are deleted, unless their reclaim policy is Retain. Their number is not known here.',
    },
    {
      kind: 'LoadBalancer',
      name: null,
      count: null,
      note: 'Load balancers of services are deleted. Their number is not known here.',
    },
  ];
}

function deletedNodesOf(pool: ClusterRecord['spec']['nodePools'][number], hibernated: boolean): DeletedResource {
  const [least, most] = nodeRangeOf(pool, { hibernated });
  if (!isManaged(pool)) {
    const leaving = `${most} adopted servers leave the cluster`;
    const note =
      pool.source === 'pooled'
        ? `${leaving} and are rebuilt: all data on their disks is lost. They stay adopted.`
        : `${leaving} and must be wiped by their owner. They stay adopted.`;
    return { kind: 'Node', name: pool.name, count: most, note };
  }
  return {
    kind: 'Node',
    name: pool.name,
    count: least === most ? least : null,
    note: hibernated
      ? 'The cluster is hibernated: its nodes are already deleted, or about to be deleted.'
      : `From ${least} to ${most} servers of the type ${pool.machineType}, with all data on their disks.`,
  };
}
