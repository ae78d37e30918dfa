import { InvalidBody, namesIn } from '@corral/contracts';
import { asProblem, combined, Problem, problemOfBody } from '../../problem.js';

/**
 * Declares a body as a dry run. When the body is invalid, the rest of it is checked as well: a client learns everything
 * that is wrong, not only what the schema rejects.
 *
 * @throws Problem for an invalid body, with what refuses the rest of it
 */
export async function withAllRefusals<T>(body: object, declareBody: DeclareBody<T>): Promise<T> {
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
  if (found.length > furtherChecksMax) return [];
  const places = found.flatMap(({ errors = [] }) => errors.map(({ pointer }) => pointer));
  const rest = validPartOf(body, places);
  if (rest === null) return [];
  try {
    await declareBody(rest.body);
    return [];
  } catch (error) {
    if (error instanceof InvalidBody) {
      const invalid = problemOfBody(error);
      return [invalid, ...(await refusalsOfRest(body, [...found, invalid], declareBody))];
    }
    const refusal = asProblem(error);
    return [new Problem(refusal.code, refusal.detail, { errors: rest.errorsOf(refusal) })];
  }
}

/** What remains of an invalid body when its invalid fields are left out. */
interface ValidPart {
  readonly body: object;
  /** The errors of a refusal of this part that hold for the whole body, too. */
  readonly errorsOf: (refusal: Problem) => NonNullable<Problem['errors']>;
}

/** Values in place of invalid required fields. Refusals that depend on them are not reported. */
const placeholders = { connectionRef: 'none', region: 'none', kubernetesVersion: '0.0' };
/** Takes the place of an invalid pool, so that the others keep their indexes. */
const placeholderOf = (index: number) => ({ name: `left-out-${index}`, machineType: 'none', minimum: 0, maximum: 0 });

/** Other fields that decide whether a field is refused. */
const dependencies: readonly { readonly field: RegExp; readonly on: string }[] = [
  { field: /^\/spec\/nodePools\/\d+\/machineType$/, on: 'region' },
  // Adopted servers belong to a connection.
  { field: /^\/spec\/nodePools\/\d+\/maximum$/, on: 'connectionRef' },
  { field: /^\/spec\/controlPlaneHA$/, on: 'hibernated' },
];

/**
 * Leaves out the invalid fields of a cluster's body, so that the others can be checked nevertheless. A node pool with an
 * invalid field is left out as a whole.
 *
 * @param invalid JSON pointers to invalid, unknown and missing fields
 * @returns null when nothing remains to check
 */
export function validPartOf(body: object, invalid: readonly string[]): ValidPart | null {
  const spec = 'spec' in body ? body.spec : null;
  if (typeof spec !== 'object' || spec === null || Array.isArray(spec)) return null;
  const paths = invalid.map(namesIn);
  if (paths.some(([top, field]) => top === undefined || (top === 'spec' && field === undefined))) return null;
  const fieldsOut = new Set<string>();
  const poolsOut = new Set<number>();
  for (const [top, field = '', index] of paths) {
    if (top !== 'spec') continue;
    if (field === 'nodePools' && index !== undefined) poolsOut.add(Number(index));
    else fieldsOut.add(field);
  }
  const { nodePools, ...fields } = Object.fromEntries([
    ...Object.entries(spec).filter(([field]) => !fieldsOut.has(field)),
    ...Object.entries(placeholders).filter(([field]) => fieldsOut.has(field)),
  ]) as Record<string, unknown>;
  const pools = Array.isArray(nodePools)
    ? { nodePools: nodePools.map((pool, index) => (poolsOut.has(index) ? placeholderOf(index) : pool)) }
    : {};
  return {
    body: { spec: { ...fields, ...pools } },
    errorsOf: ({ errors = [] }) => errors.filter(({ pointer }) => holds(pointer, fieldsOut, poolsOut)),
  };
}

/** Whether a refusal at this place is independent of everything that was left out. */
function holds(pointer: string, fieldsOut: ReadonlySet<string>, poolsOut: ReadonlySet<number>): boolean {
  const [, , field = '', index] = pointer.split('/');
  if (fieldsOut.has(field)) return false;
  // Quotas and the last pool are about all pools together.
  if (field === 'nodePools' && (index === undefined ? poolsOut.size > 0 : poolsOut.has(Number(index)))) return false;
  return dependencies.every(({ field: dependent, on }) => !dependent.test(pointer) || !fieldsOut.has(on));
}
