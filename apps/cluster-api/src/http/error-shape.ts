import { InvalidBody, type ProblemBody, type ProblemCode, problemCodes, type TokenError } from '@corral/contracts';
import { isDatabaseAway } from '@corral/database';
import { type ErrorShape, RequestFault, type RequestFaultKind } from '@corral/http-api';
import type { ErrorRequestHandler } from 'express';
import { notFound, Problem, problemOfBody } from '../problem.js';

const DATABASE_RETRY_SECONDS = 5;

const codes: Readonly<Record<Exclude<RequestFaultKind, 'unknown_path'>, ProblemCode>> = {
  invalid_http: 'invalid_http',
  request_timeout: 'request_timeout',
  headers_too_large: 'headers_too_large',
  overloaded: 'service_unavailable',
  method_not_allowed: 'method_not_allowed',
  too_large: 'payload_too_large',
  encoded: 'unsupported_media_type',
  incomplete: 'invalid_json',
  in_pieces: 'invalid_json',
  unexpected: 'validation_failed',
  not_utf8: 'invalid_json',
  not_json: 'invalid_json',
  not_an_object: 'invalid_json',
  too_deep: 'validation_failed',
  too_many: 'validation_failed',
  ambiguous: 'invalid_json',
};

/** Faults of the body as a whole. */
const wrongBody: Readonly<Partial<Record<RequestFaultKind, string>>> = {
  unexpected: 'must be absent or empty',
  too_deep: 'is nested too deep',
  too_many: 'has too many members and elements',
};

/**
 * Errors as problem documents (RFC 9457).
 *
 * @param publicUrl base URL of this service, without a trailing slash
 */
export const problemShape = (publicUrl: () => string): ErrorShape<Problem> => ({
  contentType: 'application/problem+json; charset=utf-8',
  ofFault,
  ofThrown(thrown) {
    if (thrown instanceof Problem) return thrown;
    if (thrown instanceof InvalidBody) return problemOfBody(thrown);
    return isDatabaseAway(thrown) ? databaseAway(thrown) : null;
  },
  unexpected: () =>
    new Problem(
      'internal_error',
      'The request failed because of an internal error. Quote `instance` when you report it.',
    ),
  bodyOf: (problem, requestId) => JSON.stringify(problemBody(problem, publicUrl(), requestId)),
});

function ofFault({ kind, message, retryAfterSeconds }: RequestFault): Problem {
  // An unknown path is answered as a missing resource.
  if (kind === 'unknown_path') return notFound();
  const wrong = wrongBody[kind];
  return new Problem(codes[kind], message, {
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    ...(wrong === undefined ? {} : { errors: [{ pointer: '', message: wrong }] }),
  });
}

const databaseAway = (cause: unknown): Problem =>
  new Problem('service_unavailable', 'The database is unavailable. Send the request again in a moment.', {
    retryAfterSeconds: DATABASE_RETRY_SECONDS,
    cause,
  });

/** The document of a problem. All fields but `errors` are always present. */
function problemBody(problem: Problem, publicUrl: string, requestId: string): ProblemBody {
  const { code, status, detail, operationId, errors, tokenError } = problem;
  return {
    type: `${publicUrl}/problems/${code}`,
    title: problemCodes[code].title,
    status,
    detail,
    code,
    instance: `urn:uuid:${requestId}`,
    operationId,
    ...(errors === undefined ? {} : { errors: errors.map((place) => ({ ...place })) }),
    ...(tokenError === null ? {} : { error: tokenError, error_description: oauthTextOf(detail) }),
  };
}

/** Keeps the characters that RFC 6749 section 5.2 allows. */
const oauthTextOf = (text: string): string =>
  text
    .replaceAll('’', "'")
    .replaceAll(/["\\]/g, "'")
    .replaceAll(/[^\x20-\x7e]/g, '?');

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
  ({ ofThrown }: ErrorShape<Problem>): ErrorRequestHandler =>
  (thrown, _req, _res, next) => {
    const problem = thrown instanceof RequestFault ? ofFault(thrown) : ofThrown(thrown);
    if (problem === null) return next(thrown);
    next(problem.with({ tokenError: problem.tokenError ?? errorOfCode[problem.code] ?? 'invalid_request' }));
  };
