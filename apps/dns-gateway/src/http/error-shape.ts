import { setBudget } from '@corral/admission';
import { type DnsErrorCode, InvalidBody } from '@corral/contracts';
import { isDatabaseAway } from '@corral/database';
import type { ErrorShape, RequestFault, RequestFaultKind } from '@corral/http-api';
import { DnsError, databaseUnavailable } from '../dns-error.js';

/** Everything else is wrong inside of a request, which is one code, `invalid_input`, as at the upstream. */
const codes: Readonly<Partial<Record<RequestFaultKind, DnsErrorCode>>> = {
  overloaded: 'unavailable',
  unknown_path: 'not_found',
  method_not_allowed: 'method_not_allowed',
  too_large: 'payload_too_large',
  encoded: 'unsupported_media_type',
};

/** Errors in the upstream's shape. */
export const dnsErrors: ErrorShape<DnsError> = {
  contentType: 'application/json; charset=utf-8',
  ofFault: ({ kind, message, retryAfterSeconds }: RequestFault) =>
    new DnsError(codes[kind] ?? 'invalid_input', message, retryAfterSeconds === null ? {} : { retryAfterSeconds }),
  ofThrown(thrown) {
    if (thrown instanceof DnsError) return thrown;
    if (thrown instanceof InvalidBody) return invalidBody(thrown);
    return isDatabaseAway(thrown) ? databaseUnavailable(thrown) : null;
  },
  unexpected: () => new DnsError('server_error', 'An internal error occurred. Quote the X-Correlation-Id.'),
  bodyOf: ({ code, message, details }) => JSON.stringify({ error: { code, message, details } }),
  setHeaders(res, { budget }) {
    // An unknown limit is left out: none is better than that of another budget.
    if (budget !== null) setBudget(res, 'spent', { ...budget, resetAt: budget.resetAt.getTime() });
  },
};

function invalidBody({ message, fields }: InvalidBody): DnsError {
  const listed = fields.map((field) => ({ name: field.name || 'body', messages: [field.message] }));
  return new DnsError('invalid_input', message, { details: { fields: listed } });
}
