import { type ClusterId, InvalidBody, type OperationId, parseClusterPut, type ServerId } from '@corral/contracts';
import type { Caller } from '../changes/caller.js';
import { serverIdsOf } from '../node-pools/claim-servers.js';
import { noPointers, pointersInCluster } from '../node-pools/pool-spec.js';
import { asProblem, combined, notFound, Problem, problemOfBody } from '../problem.js';
import type { WakeUp } from '../wake-ups.js';
import type { ChangeSpec, SpecChange, SpecChangeOutcome } from './change-spec.js';
import type { ClusterStore } from './change-store.js';
import { previewRemoval, type RemovalOutcome, removeOnce } from './delete.js';
import { type ChangeOutcome, retryOrReplay } from './retry.js';
import { completeSpec } from './spec/complete-spec.js';
import { validPartOf } from './spec/valid-part.js';

export interface ClusterServiceDeps {
  readonly changeSpec: ChangeSpec;
  readonly store: Pick<ClusterStore, 'change' | 'preview'>;
  readonly wake: WakeUp<ClusterId>;
  readonly wakeServer: WakeUp<ServerId>;
  readonly newId: () => OperationId;
}

type Conditions = Pick<SpecChange, 'preconditions' | 'keyed'>;
export type ClusterService = ReturnType<typeof clusterService>;

/** The changes of a whole cluster. Each is one transaction, followed by wake-ups. */
export function clusterService({ changeSpec, store, wake, wakeServer, newId }: ClusterServiceDeps) {
  return {
    /** Creates the cluster or changes it to the specification in this body. */
    declare(
      caller: Caller,
      name: string,
      body: object,
      options: Pick<SpecChange, 'preconditions' | 'purpose'>,
    ): Promise<SpecChangeOutcome> {
      const declareBody = async (given: object) => {
        const { spec } = parseClusterPut(given);
        return changeSpec(caller, {
          ...options,
          name,
          pointers: pointersInCluster,
          declaredPools: spec.nodePools,
          action: 'cluster.declare',
          needsCatalogue: true,
          desiredOf: (current) => completeSpec(spec, current, pointersInCluster),
        });
      };
      return options.purpose === 'dryRun' ? withAllRefusals(body, declareBody) : declareBody(body);
    },

    /** Hibernates or resumes the cluster. For a draft this takes effect when it starts. */
    setHibernated(
      caller: Caller,
      name: string,
      hibernated: boolean,
      options: Conditions & Pick<SpecChange, 'purpose'>,
    ): Promise<SpecChangeOutcome> {
      return changeSpec(caller, {
        ...options,
        name,
        pointers: noPointers,
        needsCatalogue: false,
        action: hibernated ? 'cluster.hibernate' : 'cluster.resume',
        desiredOf: (current) => {
          if (current === null) throw notFound();
          return { ...current.spec, hibernated };
        },
      });
    },

    /** Accepts the current specification again if its operation failed. */
    async retry(caller: Caller, name: string, { preconditions, keyed = null }: Conditions): Promise<ChangeOutcome> {
      const outcome = await store.change(caller, name, (tx) => retryOrReplay(tx, { preconditions, keyed, newId }));
      if (outcome.kind === 'accepted') wake(outcome.cluster.id);
      return outcome;
    },

    /** Deletes the cluster. A dry run only returns it. */
    async remove(
      caller: Caller,
      name: string,
      { preconditions, purpose }: Pick<SpecChange, 'preconditions' | 'purpose'>,
    ): Promise<RemovalOutcome> {
      if (purpose === 'dryRun') {
        return store.preview(caller, name, async (view) => previewRemoval(view, preconditions));
      }
      const { outcome, claims } = await store.change(caller, name, (tx) => removeOnce(tx, { preconditions, newId }));
      if (outcome.kind === 'accepted') wake(outcome.cluster.id);
      for (const id of serverIdsOf(claims)) wakeServer(id);
      return outcome;
    },
  };
}

/**
 * Declares a body as a dry run. When the body is invalid, the rest of it is checked as well: a client learns everything
 * that is wrong, not only what the schema rejects.
 *
 * @throws Problem for an invalid body, with what refuses the rest of it
 */
async function withAllRefusals<T>(body: object, declareBody: DeclareBody<T>): Promise<T> {
  try {
    return await declareBody(body);
  } catch (error) {
    if (!(error instanceof InvalidBody)) throw error;
    const invalid = problemOfBody(error);
    throw combined(invalid, await refusalsOfRest(body, [invalid], declareBody));
  }
}

type DeclareBody<T> = (body: object) => Promise<T>;

/** A list of errors may be incomplete, so the rest may be invalid again. */
const furtherChecksMax = 3;

/** What refuses the rest of a body, apart from what was found before. */
async function refusalsOfRest(
  body: object,
  found: readonly Problem[],
  declareBody: DeclareBody<unknown>,
): Promise<readonly Problem[]> {
  const places = found.flatMap(({ errors = [] }) => errors.map(({ pointer }) => pointer));
  const rest = found.length > furtherChecksMax ? null : validPartOf(body, places);
  const error =
    rest &&
    (await declareBody(rest.body).then(
      () => null,
      (thrown: unknown) => thrown,
    ));
  if (rest === null || error === null) return [];
  if (error instanceof InvalidBody) {
    const invalid = problemOfBody(error);
    return [invalid, ...(await refusalsOfRest(body, [...found, invalid], declareBody))];
  }
  const refusal = asProblem(error);
  return [new Problem(refusal.code, refusal.detail, { errors: rest.errorsOf(refusal) })];
}
