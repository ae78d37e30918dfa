import type { ProblemCode, TokenError } from '@corral/contracts';
import { type ErrorShape, RequestFault } from '@corral/http-api';
import type { ErrorRequestHandler } from 'express';
import type { Problem } from '../problem.js';

/** Codes for OAuth clients, by code of the problem. All others mean that the request is not valid. */
const errorOfCode: Readonly<Partial<Record<ProblemCode, TokenError>>> = {
  invalid_grant: 'invalid_grant',
  rate_limit_exceeded: 'temporarily_unavailable',
  service_unavailable: 'temporarily_unavailable',
  request_timeout: 'temporarily_unavailable',
};

/**
 * Adds what OAuth clients read, `error` and `error_description`, to every refusal of the token endpoint. Otherwise it is a
 * problem document like every other one.
 */
export const oauthErrors =
  ({ ofFault, ofThrown }: Pick<ErrorShape<Problem>, 'ofFault' | 'ofThrown'>): ErrorRequestHandler =>
  (thrown, _req, _res, next) => {
    const problem = thrown instanceof RequestFault ? ofFault(thrown) : ofThrown(thrown);
    if (problem === null) return next(thrown);
    next(problem.withTokenError(problem.tokenError ?? errorOfCode[problem.code] ?? 'invalid_request'));
  };
