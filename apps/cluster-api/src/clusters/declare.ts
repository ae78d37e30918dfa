import { InvalidBody, parseClusterPut } from '@corral/contracts';
import type { Caller, KeyedRequest } from '../changes/caller.js';
import type { Preconditions } from '../changes/entity-tag.js';
import { noPointers, pointersInCluster } from '../node-pools/rules.js';
import { asProblem, combined, notFound, Problem, problemOfBody } from '../problem.js';
import type { Services } from '../services.js';
import { changeSpec, type SpecChangeOutcome } from './change-spec.js';
import { completeSpec } from './rules/declaration.js';
import { validPartOf } from './rules/valid-part.js';

interface Options {
  readonly preconditions: Preconditions;
  readonly purpose: 'apply' | 'dryRun';
}

/** Creates the cluster or changes it to the specification in this body. */
export async function declareCluster(
  services: Services,
  caller: Caller,
  name: string,
  body: object,
  options: Options,
): Promise<SpecChangeOutcome> {
  const declareBody = async (given: object) => {
    const { spec } = parseClusterPut(given);
    return changeSpec(services, caller, {
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
}

/** Hibernates or resumes the cluster. For a draft this takes effect when it starts. */
export function setHibernated(
  services: Services,
  caller: Caller,
  name: string,
  hibernated: boolean,
  options: Options & { readonly keyed: KeyedRequest | null },
): Promise<SpecChangeOutcome> {
  return changeSpec(services, caller, {
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
