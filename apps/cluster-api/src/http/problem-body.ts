import { type ProblemBody, problemCodes } from '@corral/contracts';
import type { Problem } from '../problem.js';

export const PROBLEM_JSON = 'application/problem+json; charset=utf-8';

export interface ProblemContext {
  /** Base address of this service, without a slash at its end. */
  readonly publicUrl: string;
  readonly requestId: string;
}

/** The document of a problem: all seven fields, always. */
export function problemBody(problem: Problem, { publicUrl, requestId }: ProblemContext): ProblemBody {
  const { code, status, detail, operationId, errors } = problem;
  return {
    type: `${publicUrl}/problems/${code}`,
    title: problemCodes[code].title,
    ...{ status, detail, code },
    instance: `urn:uuid:${requestId}`,
    operationId,
    ...(errors === undefined ? {} : { errors: errors.map((place) => ({ ...place })) }),
  };
}
