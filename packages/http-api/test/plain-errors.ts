import type { ApiError, ErrorShape, RequestFault } from '../src/errors.js';

const plainError = (fault: RequestFault): ApiError => Object.assign(fault, { code: fault.kind, status: 503 });

/** Errors as plain sentences, all with status 503. */
export const plainErrors: ErrorShape<ApiError> = {
  contentType: 'text/plain',
  ofFault: plainError,
  ofThrown: () => null,
  unexpected: () =>
    Object.assign(new Error('Unexpected.'), { code: 'unexpected', status: 500, retryAfterSeconds: null }),
  bodyOf: ({ message }) => message,
};
