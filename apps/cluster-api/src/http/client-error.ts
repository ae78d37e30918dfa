import type { ProblemCode } from '@corral/contracts';
import { type ClientErrorRenderer, type ClientFailure, clientErrorRenderer } from '@corral/service';
import { Problem } from '../problem.js';
import { PROBLEM_JSON, problemBody } from './problem-body.js';

const codes = {
  400: 'invalid_http',
  408: 'request_timeout',
  431: 'headers_too_large',
} as const satisfies Record<ClientFailure['status'], ProblemCode>;

/** Answers what is no HTTP request in the shape of this API. */
export function renderClientError(publicUrl: () => string): ClientErrorRenderer {
  return clientErrorRenderer({
    contentType: PROBLEM_JSON,
    bodyOf: ({ status, message, requestId }) =>
      JSON.stringify(problemBody(new Problem(codes[status], message), { publicUrl: publicUrl(), requestId })),
  });
}
