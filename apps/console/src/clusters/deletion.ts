import { isCorralError } from '@corral/client';
import type { Cluster, ClusterAnswerBody } from '@corral/contracts';
import { bodyOf, corral } from '../api/corral.js';
import { isSame, type PlanTarget } from '../cluster-form/plan.js';

const RESENT_MAX = 3;

export interface DeletionPlan {
  /** Entity tag of the cluster that it was planned for. */
  readonly etag: string;
  readonly answer: ClusterAnswerBody<'deletionDryRun'>;
}

export interface DeletionDeps {
  readonly plan: (target: PlanTarget, etag: string) => Promise<ClusterAnswerBody<'deletionDryRun'>>;
  readonly remove: (target: PlanTarget, etag: string) => Promise<unknown>;
  readonly get: (target: PlanTarget) => Promise<Cluster>;
}

export const deletionDeps: DeletionDeps = {
  plan: (target, etag) => bodyOf(corral.deleteCluster(target, { query: { dryRun: true }, ifMatch: etag })),
  remove: (target, etag) => corral.deleteCluster(target, { ifMatch: etag }),
  get: (target) => bodyOf(corral.getCluster(target)),
};

/**
 * What the deletion of the present cluster does.
 *
 * @throws CorralError when it would be refused
 */
export async function planDeletion(target: PlanTarget, etag: string, deps: DeletionDeps = deletionDeps) {
  for (let planned = etag, repeated = 0; ; repeated += 1) {
    try {
      return { etag: planned, answer: await deps.plan(target, planned) };
    } catch (error) {
      if (!isCorralError(error) || error.status !== 412 || repeated === RESENT_MAX) throw error;
      planned = (await deps.get(target)).metadata.etag;
    }
  }
}

/**
 * Deletes a cluster as planned. Its entity tag also moves with its status, so after a 412 the deletion is planned again,
 * and sent again if it still loses the same.
 *
 * @returns the new plan if the deletion would now lose something else; null when the deletion was accepted
 * @throws CorralError when it is refused
 */
export async function deleteAsPlanned(
  target: PlanTarget,
  plan: DeletionPlan,
  deps: DeletionDeps = deletionDeps,
): Promise<DeletionPlan | null> {
  for (let { etag } = plan, resent = 0; ; resent += 1) {
    try {
      await deps.remove(target, etag);
      return null;
    } catch (error) {
      if (!isCorralError(error) || error.status !== 412 || resent === RESENT_MAX) throw error;
      const { metadata } = await deps.get(target);
      const next = await planDeletion(target, metadata.etag, deps);
      if (!isSame(lossOf(next), lossOf(plan))) return next;
      ({ etag } = next);
    }
  }
}

const lossOf = ({ answer: { resource, deletes, costDifference, effects } }: DeletionPlan) => ({
  spec: resource.spec,
  deletes,
  costDifference,
  effects,
});
