import type { Cluster, ClusterAnswerBody } from '@corral/contracts';
import { change, read } from '../api/client.js';
import { isProblem } from '../api/problem.js';
import { isSame, type PlanTarget } from '../cluster-form/plan.js';

const PATH = '/api/v1/teams/{team}/clusters/{name}/';
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
  plan: async ({ team, name }, etag) => {
    const { body } = await change('delete', PATH, { team, name }, { query: { dryRun: true }, ifMatch: etag });
    return body as ClusterAnswerBody<'deletionDryRun'>;
  },
  remove: ({ team, name }, etag) => change('delete', PATH, { team, name }, { ifMatch: etag }),
  get: ({ team, name }) => read(PATH, { team, name }) as Promise<Cluster>,
};

/**
 * What the deletion of the present cluster does.
 *
 * @throws ApiProblem when it would be refused
 */
export async function planDeletion(target: PlanTarget, etag: string, deps: DeletionDeps = deletionDeps) {
  for (let planned = etag, repeated = 0; ; repeated += 1) {
    try {
      return { etag: planned, answer: await deps.plan(target, planned) };
    } catch (error) {
      if (!isProblem(error) || error.status !== 412 || repeated === RESENT_MAX) throw error;
      planned = (await deps.get(target)).metadata.etag;
    }
  }
}

/**
 * Deletes a cluster as planned. Its entity tag also moves with its status, so after a 412 the deletion is planned again,
 * and sent again if it still loses the same.
 *
 * @returns the new plan if the deletion would now lose something else; null when the deletion was accepted
 * @throws ApiProblem when it is refused
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
      if (!isProblem(error) || error.status !== 412 || resent === RESENT_MAX) throw error;
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
