import { type ClusterSchemas, isCorralError } from '@corral/client';
import type { Cluster, ClusterAnswerBody, ClusterSpec } from '@corral/contracts';
import { bodyOf, corral } from '../api/corral.js';

export interface Plan {
  /** Sent as planned. */
  readonly spec: unknown;
  /** Entity tag of the cluster that it was planned for; null: the cluster does not exist. */
  readonly etag: string | null;
  readonly answer: ClusterAnswerBody<'clusterDryRun'>;
}

export interface PlanTarget {
  readonly team: string;
  readonly name: string;
}

export type Applied =
  | { readonly kind: 'applied'; readonly cluster: Cluster; readonly operationId: string | null }
  /** The same specification would now do something else. */
  | { readonly kind: 'plan-changed'; readonly plan: Plan }
  /** Somebody else changed the specification. */
  | { readonly kind: 'conflict'; readonly current: Cluster };

type PutAnswer = ClusterAnswerBody<'cluster'> | ClusterAnswerBody<'accepted'> | ClusterAnswerBody<'clusterDryRun'>;

export interface PlanDeps {
  readonly put: (
    target: PlanTarget,
    spec: unknown,
    etag: string | null,
    purpose: 'plan' | 'apply',
    signal?: AbortSignal,
  ) => Promise<{ readonly body: PutAnswer }>;
  readonly get: (target: PlanTarget) => Promise<Cluster>;
}

const RESENT_MAX = 3;

const planDeps: PlanDeps = {
  put: (target, spec, etag, purpose, signal) =>
    corral.putCluster(target, {
      // The API checks what people write.
      body: { spec: spec as ClusterSchemas['ClusterSpecInput'] },
      query: { dryRun: purpose === 'plan' ? true : undefined },
      ...(etag === null ? { ifNoneMatch: '*' } : { ifMatch: etag }),
      signal,
    }),
  get: (target) => bodyOf(corral.getCluster(target)),
};

/** @throws CorralError when the change would be refused */
export async function planChange(
  target: PlanTarget,
  spec: unknown,
  etag: string | null,
  signal?: AbortSignal,
  { put }: PlanDeps = planDeps,
): Promise<Plan> {
  const { body } = await put(target, spec, etag, 'plan', signal);
  return { spec, etag, answer: body as Plan['answer'] };
}

/** What a change began with. */
export interface Began {
  /** The specification then; null for a new cluster. */
  readonly spec: ClusterSpec | null;
  /** Whether the plan was sent before, and the answer was lost. */
  readonly mayBeAccepted: boolean;
}

/**
 * Applies what was planned. Entity tags also move with the status of a cluster, so after a 412 the same plan is sent with
 * the new tag, unless the specification or the plan changed. After a lost answer the cluster is read first: the change
 * may have been accepted.
 *
 * @throws CorralError when the change is refused, or when its outcome stays unknown
 */
export async function applyPlan(
  target: PlanTarget,
  plan: Plan,
  began: Began,
  deps: PlanDeps = planDeps,
): Promise<Applied> {
  let { etag } = plan;
  let { mayBeAccepted } = began;
  for (let resent = 0; ; resent += 1) {
    try {
      const { body } = await deps.put(target, plan.spec, etag, 'apply');
      return 'operation' in body
        ? { kind: 'applied', cluster: body.resource, operationId: body.operation.id }
        : { kind: 'applied', cluster: body as Cluster, operationId: null };
    } catch (error) {
      if (!isCorralError(error) || !(error.status === 412 || error.isUnknownOutcome) || resent === RESENT_MAX)
        throw error;
      mayBeAccepted ||= error.isUnknownOutcome;
      const current = await currentOf(target, error, deps);
      if (current === null) {
        // Another person deleted it, so there is nothing to change.
        if (began.spec !== null) throw error;
        etag = null;
        continue;
      }
      if (mayBeAccepted && isSame(current.spec, plan.answer.resource.spec)) {
        return { kind: 'applied', cluster: current, operationId: current.status.lastOperation?.id ?? null };
      }
      if (began.spec === null) throw error;
      if (!isSame(current.spec, began.spec)) return { kind: 'conflict', current };
      const next = await planChange(target, plan.spec, current.metadata.etag, undefined, deps);
      if (!isSame(consequencesOf(next), consequencesOf(plan))) return { kind: 'plan-changed', plan: next };
      etag = next.etag;
    }
  }
}

/** The cluster as it is now; null when there is none. @throws the first failure when the cluster cannot be read */
async function currentOf(target: PlanTarget, failure: unknown, { get }: PlanDeps): Promise<Cluster | null> {
  try {
    return await get(target);
  } catch (error) {
    if (isCorralError(error) && error.status === 404) return null;
    throw failure;
  }
}

const consequencesOf = ({ answer: { changes, effects, costDifference } }: Plan) => ({
  changes,
  effects: effects ?? [],
  costDifference,
});

/** Whether two values of JSON are equal, whatever the order of their members. */
export const isSame = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b);

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  ) ?? 'undefined';
