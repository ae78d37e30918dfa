import { InvalidBody } from '@corral/contracts';
import { isDatabaseAway } from '@corral/database';
import type { Log } from '@corral/service';
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { DnsError, notFound, unavailable } from '../dns-error.js';
import { sendJsonText } from './send.js';

/** The one translator of errors to HTTP, in the upstream's shape. What it does not know is ours: 500, logged once. */
export function errorHandler(log: Log): ErrorRequestHandler {
  return (error, _req, res, _next) => {
    const known = dnsErrorOf(error);
    if (known === null) log.error('unexpected error', { requestId: res.locals.requestId, error });
    else if (known.cause !== undefined) {
      log.warn('request refused', { requestId: res.locals.requestId, code: known.code, error: known.cause });
    }
    // An answer that has begun cannot become an error: cutting it is the only honest end.
    if (res.headersSent) res.destroy();
    else
      sendError(res, known ?? new DnsError('server_error', 'An internal error occurred. Quote the X-Correlation-Id.'));
  };
}

export function unknownPath(): RequestHandler {
  return () => {
    throw notFound('path');
  };
}

function errorBody({ code, message, details }: DnsError): string {
  return JSON.stringify({ error: { code, message, details } });
}

function sendError(res: Response, error: DnsError): void {
  if (error.retryAfterSeconds !== null) res.setHeader('Retry-After', error.retryAfterSeconds);
  if (error.resetAt !== null) {
    res.setHeader('RateLimit-Remaining', 0);
    res.setHeader('RateLimit-Reset', Math.ceil(error.resetAt.getTime() / 1_000));
  }
  sendJsonText(res, error.status, errorBody(error));
}

function dnsErrorOf(error: unknown): DnsError | null {
  if (error instanceof DnsError) return error;
  if (error instanceof InvalidBody) return invalidBody(error);
  if (error instanceof URIError) return notFound('path');
  if (isDatabaseAway(error)) return unavailable(error);
  return bodyReadError(error);
}

function invalidBody({ message, fields }: InvalidBody): DnsError {
  const listed = fields.map((field) => ({ name: field.name || 'body', messages: [field.message] }));
  return new DnsError('invalid_input', message, { details: { fields: listed } });
}

/** Errors of the body reader carry a `type`, see the body-parser documentation. */
function bodyReadError(error: unknown): DnsError | null {
  const type = error instanceof Error ? (error as { type?: unknown }).type : undefined;
  switch (type) {
    case 'entity.too.large':
      return new DnsError('payload_too_large', 'The body may have 1 MiB at the most.');
    case 'encoding.unsupported':
      return new DnsError('invalid_input', 'The body has a Content-Encoding that is not supported.');
    case 'request.aborted':
    case 'request.size.invalid':
      return new DnsError('invalid_input', 'The body is shorter or longer than its Content-Length.');
    default:
      return isInflateError(error) ? new DnsError('invalid_input', 'The compressed body cannot be read.') : null;
  }
}

function isInflateError(error: unknown): boolean {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' && /^(Z_|ERR_BROTLI|ERR__ERROR_FORMAT)/.test(code);
}
