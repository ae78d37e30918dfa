import { randomUUID } from 'node:crypto';
import { isManaged, nodeRangeOf } from '@corral/cluster-data';
import { asOperationId, type ChangeEffect } from '@corral/contracts';
import type { Caller } from '../changes/caller.js';
import { checkPreconditions, entityTagOf, type Preconditions } from '../changes/entity-tag.js';
import { type Claims, noClaims, releaseAll, serverIdsOf, useAdoptedServers } from '../node-pools/claim-servers.js';
import { notFound, Problem } from '../problem.js';
import type { Services } from '../services.js';
import { type Accepted, acceptChange, changeCluster, removeDraft } from './change-store.js';
import { acceptedStatus } from './rules/declaration.js';
import { effectsOfDeletion } from './rules/effects.js';
import { deletionOf } from './rules/specification.js';
import { type ClusterRecord, type ClusterView, findServers, presentOperationOf, viewCluster } from './store.js';

export type RemovalOutcome =
  /** No pass had begun, so the garden does not know the cluster: its rows are deleted. */
  | { readonly kind: 'removed' }
  | ({ readonly kind: 'accepted' } & Accepted)
  | { readonly kind: 'dryRun'; readonly cluster: ClusterRecord; readonly effects: readonly ChangeEffect[] };

/**
 * Deletes a draft immediately, and accepts the deletion of any other cluster. A dry run only returns it.
 *
 * @throws Problem `not_found`, `precondition_failed`, `deletion_protected`
 */
export async function deleteCluster(
  services: Services,
  caller: Caller,
  name: string,
  { preconditions, purpose }: { readonly preconditions: Preconditions; readonly purpose: 'apply' | 'dryRun' },
): Promise<RemovalOutcome> {
  if (purpose === 'dryRun') {
    const cluster = removable(await viewCluster(services.prisma, caller, name), preconditions);
    return { kind: 'dryRun', cluster, effects: effectsOfDeletion(cluster) };
  }
  const { outcome, claims } = await changeCluster(services, caller, name, (locked) => remove(locked, preconditions));
  if (outcome.kind === 'accepted') services.wake.cluster(outcome.cluster.id);
  for (const id of serverIdsOf(claims)) services.wake.server(id);
  return outcome;
}

async function remove(
  locked: ClusterView,
  preconditions: Preconditions,
): Promise<{ outcome: RemovalOutcome; claims: Claims }> {
  const current = removable(locked, preconditions);
  const isDeleting = current.deletionRequestedAt !== null;
  const claims = await releasesOf(locked, current);
  if (current.startedAt === null) {
    await removeDraft(locked, current, claims);
    return { outcome: { kind: 'removed' }, claims };
  }
  const newest = isDeleting ? presentOperationOf(current) : null;
  // Only a failed deletion is accepted again. Otherwise repeated requests return the same operation.
  if (newest !== null && newest.state !== 'failed') {
    return { outcome: { kind: 'accepted', cluster: current, operation: newest }, claims: noClaims };
  }
  const accepted = await acceptChange(locked, {
    operationId: asOperationId(randomUUID()),
    declaration: {
      operation: 'cluster.delete',
      generation: current.generation + 1,
      isDraft: false,
      desiredHash: current.desiredHash,
    },
    effect: { kind: 'delete' },
    action: 'cluster.delete',
    shown: acceptedStatus(current, { kind: 'delete' }, locked.now),
    claims,
    changes: deletionOf(current),
  });
  return { outcome: { kind: 'accepted', ...accepted }, claims };
}

function removable({ current }: ClusterView, preconditions: Preconditions): ClusterRecord {
  if (current === null) throw notFound();
  // A repeated DELETE meets the tag that the first one changed (RFC 9110 section 13.1.1 allows success then).
  if (current.deletionRequestedAt !== null) return current;
  checkPreconditions(preconditions, entityTagOf(current));
  if (current.spec.deletionProtection) {
    throw new Problem(
      'deletion_protected',
      `Cluster ${current.name} is protected from deletion. Set deletionProtection of its specification to false first.`,
    );
  }
  return current;
}

async function releasesOf(locked: ClusterView, { id, spec }: ClusterRecord): Promise<Claims> {
  return useAdoptedServers(spec.nodePools) ? releaseAll(id, await findServers(locked, spec.connectionRef)) : noClaims;
}

export interface DeletedResource {
  readonly kind: string;
  readonly name: string | null;
  /** Null when unknown. */
  readonly count: number | null;
  readonly note: string;
}

/** Lists what a deletion destroys, as far as the stored cluster tells. Empty for a cluster that was never started. */
export function deletionPreview({ spec, startedAt }: ClusterRecord): DeletedResource[] {
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
  const [least, most] = nodeRangeOf(pool, hibernated);
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
